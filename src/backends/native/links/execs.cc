#include "backends/native/links/execs.h"

#include <fmt/format.h>

#include <utility>

#include "backends/native/links/running_task.h"
#include "protocol/link_words.h"

namespace dove::backends {
namespace {

constexpr const char* kWhat = kCommand;
constexpr std::size_t kFirstBytesMax = 256 << 10;
constexpr std::int32_t kSizeMax = 65'535;      // of a terminal
constexpr std::size_t kProgramBytesMax = 256;  // of its name, in the log

Result<protocol::ExecWish> read_first(std::string_view text) {
  TRY_ASSIGN(protocol::LinkWord said, protocol::read_link_word(text, kFirstBytesMax));
  if (!said.exec) return listener::invalid("bad_value", "the first word says what to run", "exec");
  protocol::ExecWish& wish = *said.exec;
  const protocol::ExecProgram& program = wish.program;
  if (program.command.empty() || program.command.front().empty()) {
    return listener::invalid("bad_value", "command is a list of words, the program first",
                             "command");
  }
  const auto is_size = [](std::int32_t size) { return size >= 1 && size <= kSizeMax; };
  if (program.terminal && !(is_size(program.rows) && is_size(program.columns))) {
    return listener::invalid(
        "bad_terminal_size",
        fmt::format("a terminal of {} x {} cannot be: rows and columns are 1 to {}, 24 x 80 when "
                    "nobody knows",
                    program.rows, program.columns, kSizeMax),
        "rows");
  }
  return std::move(wish);
}

}  // namespace

Execs::Execs(const listener::Projection& projection, TaskLinks& links, Commit commit)
    : projection_(projection), links_(links), commit_(std::move(commit)) {}

void Execs::open(const CallPtr& call, JobId job) {
  if (links_.count(kWhat) >= kMost) {
    return call->fail(Error{ErrorKind::kUnavailable, "too_many_execs",
                            "the server carries all the commands that it may; try again later",
                            ""});
  }
  links_.open(call, job, kWhat,
              [this](const TaskLinkPtr& link, std::string_view text) { hear_first(link, text); });
}

void Execs::hear_first(const TaskLinkPtr& link, std::string_view text) {
  const core::Job* job = projection_.state().find_job(link->job);
  if (job == nullptr || job->phase != JobPhase::kActive || job->attempts.empty()) {
    return links_.fail(link,
                       Error{ErrorKind::kConflict, "not_running", "the job is not running", ""});
  }
  Result<protocol::ExecWish> wish = read_first(text);
  if (!wish.ok()) return links_.fail(link, wish.error());
  const Result<RunningTask> task = find_running(projection_.state(), *job, wish->task, wish->node);
  if (!task.ok()) return links_.fail(link, task.error());
  order(link, task->node,
        {link->id, {link->job, task->attempt}, task->rank, std::move(wish->program)});
}

// What is not in the log has not happened: who runs what is there before it is ordered.
void Execs::order(const TaskLinkPtr& link, NodeId node, protocol::ExecOrder wanted) {
  protocol::Control control;
  const protocol::ExecOrder& order = control.exec.emplace(std::move(wanted));
  StampedEvent event{
      ExecStarted{link->job, order.key.attempt, node, order.rank, order.program.terminal,
                  order.program.command.front().substr(0, kProgramBytesMax)},
      link->cause};
  commit_(std::move(event),
          [this, weak = std::weak_ptr(link), node,
           line = protocol::control_line(control)](const Result<controller::Committed>& committed) {
            const TaskLinkPtr held = weak.lock();
            if (held == nullptr || !links_.has(held)) return;
            if (!committed.ok()) return links_.fail(held, committed.error());
            links_.order(held, node, line);
          });
}

}  // namespace dove::backends
