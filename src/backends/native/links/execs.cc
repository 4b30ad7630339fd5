#include "backends/native/links/execs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "backends/native/links/running_task.h"
#include "codec/json.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

constexpr const char* kWhat = kCommand;
constexpr std::size_t kFirstBytesMax = 256 << 10;
constexpr std::int32_t kSizeMax = 65'535;      // of a terminal
constexpr std::size_t kProgramBytesMax = 256;  // of its name, in the log

struct Wanted {
  std::string task;
  std::string node;
  protocol::ExecOrder order;  // but for what names the task and the connection
};

Result<Wanted> read_first(std::string_view text) {
  TRY_ASSIGN(const Json said, codec::parse_json(text, kFirstBytesMax));
  Wanted wanted;
  try {
    const Json& asked = said.at("exec");
    wanted.task = asked.value("task", "");
    wanted.node = asked.value("node", "");
    protocol::ExecOrder& order = wanted.order;
    order.command = asked.at("command").get<std::vector<std::string>>();
    order.environment = asked.value("environment", order.environment);
    order.workdir = asked.value("workdir", "");
    order.terminal = asked.value("terminal", false);
    order.takes_input = asked.value("input", false);
    order.rows = asked.value("rows", order.rows);
    order.columns = asked.value("columns", order.columns);
  } catch (const Json::exception& e) {
    return listener::invalid("bad_value", std::string("what to run cannot be read: ") + e.what(),
                             "exec");
  }
  if (wanted.order.command.empty() || wanted.order.command.front().empty()) {
    return listener::invalid("bad_value", "command is a list of words, the program first",
                             "command");
  }
  const auto is_size = [](std::int32_t size) { return size >= 1 && size <= kSizeMax; };
  if (wanted.order.terminal && !(is_size(wanted.order.rows) && is_size(wanted.order.columns))) {
    return listener::invalid(
        "bad_terminal_size",
        fmt::format("a terminal of {} x {} cannot be: rows and columns are 1 to {}, 24 x 80 when "
                    "nobody knows",
                    wanted.order.rows, wanted.order.columns, kSizeMax),
        "rows");
  }
  return wanted;
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
  Result<Wanted> wanted = read_first(text);
  if (!wanted.ok()) return links_.fail(link, wanted.error());
  const Result<RunningTask> task =
      find_running(projection_.state(), *job, wanted->task, wanted->node);
  if (!task.ok()) return links_.fail(link, task.error());
  wanted->order.key = {link->job, task->attempt};
  wanted->order.rank = task->rank;
  order(link, task->node, std::move(wanted->order));
}

// What is not in the log has not happened: who runs what is there before it is ordered.
void Execs::order(const TaskLinkPtr& link, NodeId node, protocol::ExecOrder wanted) {
  protocol::Control control;
  protocol::ExecOrder& order = control.exec.emplace(std::move(wanted));
  order.id = link->id;
  StampedEvent event{ExecStarted{link->job, order.key.attempt, node, order.rank, order.terminal,
                                 order.command.front().substr(0, kProgramBytesMax)},
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
