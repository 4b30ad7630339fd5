#include "backends/native/execs.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "model/job.h"
#include "protocol/control.h"
#include "wire/secret.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kFirstWord{10};   // of the client
constexpr std::chrono::seconds kAgentComes{20};  // after the order
constexpr std::size_t kFirstBytesMax = 256 << 10;
constexpr std::size_t kProgramBytesMax = 256;  // of its name, in the log

Result<std::int32_t> whole_number(std::string_view text) {
  std::int32_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && at == text.data() + text.size() && value >= 0) return value;
  return Error{ErrorKind::kNotFound, "no_such_task",
               fmt::format("'{}' names no task: give a rank, or GROUP/NUMBER", text), "task"};
}

const core::PlacementRecord* placement_of(const core::Job& job, Rank rank) {
  const core::Attempt& attempt = job.attempts.back();
  for (const core::PlacementRecord& record : attempt.placements) {
    if (record.stage != core::PlacementStage::kStarted) continue;
    // A batch script runs once, on the first node, and is task 0.
    if (job.spec->launch == LaunchMode::kBatch && rank == 0) {
      if (record.placement->node_rank == 0) return &record;
      continue;
    }
    for (const TaskGrant& task : record.placement->tasks) {
      if (task.rank == rank) return &record;
    }
  }
  return nullptr;
}

const core::PlacementRecord* placement_on(const core::State& state, const core::Job& job,
                                          const std::string& name) {
  const core::Node* node = state.find_node(name);
  for (const core::PlacementRecord& record : job.attempts.back().placements) {
    const bool runs = record.stage == core::PlacementStage::kStarted;
    if (runs && node != nullptr && record.placement->node == node->id) return &record;
  }
  return nullptr;
}

Rank first_rank(const core::Job& job, const Placement& placement) {
  const bool has_script = job.spec->launch == LaunchMode::kBatch && placement.node_rank == 0;
  return has_script || placement.tasks.empty() ? 0 : placement.tasks.front().rank;
}

}  // namespace

struct Execs::Exec {
  std::string id;
  JobId job;
  Cause cause;
  NodeId node;  // that its agent's connection comes from, once it was ordered
  std::unique_ptr<wire::WebSocket> client;
  std::unique_ptr<wire::WebSocket> agent;
  bool asked = false;
  wire::Timer timer;
};

struct Execs::Wanted {
  AttemptNumber attempt = 0;
  Rank rank = 0;
  NodeId node;
  protocol::ExecOrder order;  // but for what names the task and the connection
};

Result<Rank> find_task(const JobSpec& spec, const std::string& text) {
  if (text.empty()) return Rank{0};
  const std::size_t slash = text.rfind('/');
  TRY_ASSIGN(const std::int32_t number,
             whole_number(slash == std::string::npos ? text : text.substr(slash + 1)));
  std::int32_t first = 0;
  std::string names;
  for (const TaskGroup& group : spec.groups) {
    if (slash != std::string::npos && group.name == text.substr(0, slash) && number < group.tasks) {
      return static_cast<Rank>(first + number);
    }
    names += fmt::format("{}{}/0 to {}/{}", names.empty() ? "" : ", ", group.name, group.name,
                         group.tasks - 1);
    first += group.tasks;
  }
  if (slash == std::string::npos && number < first) return static_cast<Rank>(number);
  return Error{
      ErrorKind::kNotFound, "no_such_task",
      fmt::format("the job has no task {}; there are {} (ranks 0 to {})", text, names, first - 1),
      "task"};
}

Execs::Execs(wire::Loop& loop, const listener::Projection& projection, AgentSessions& sessions,
             Commit commit)
    : loop_(loop), projection_(projection), sessions_(sessions), commit_(std::move(commit)) {}

Execs::~Execs() = default;

void Execs::open(const CallPtr& call, JobId job) {
  if (execs_.size() >= kMost) {
    return call->fail(Error{ErrorKind::kUnavailable, "too_many_execs",
                            "the server carries all the commands that it may; try again later",
                            ""});
  }
  auto exec = std::make_shared<Exec>();
  exec->id = wire::random_token(16);
  exec->job = job;
  exec->cause = call->cause();
  const std::weak_ptr<Exec> weak = exec;
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [this, weak](std::string_view text) {
    const Held held = weak.lock();
    if (held == nullptr) return;
    if (!held->asked) return hear_first(held, text);
    if (held->agent != nullptr) held->agent->send_text(text);
  };
  callbacks.on_bytes = [weak](std::string_view bytes) {
    const Held held = weak.lock();
    if (held != nullptr && held->agent != nullptr) held->agent->send_bytes(bytes);
  };
  callbacks.on_closed = [this, weak](const Error&) {
    if (const Held held = weak.lock()) end(held, "the client is gone");
  };
  auto socket =
      wire::accept_web_socket(loop_, call->request, *call->responder, std::move(callbacks));
  if (!socket.ok()) {
    if (socket.error().code != "upgrade_required") return;
    return call->responder->send(wire::problem(426, socket.error()));
  }
  exec->client = std::move(socket).value();
  exec->timer = loop_.after(kFirstWord, [this, weak] {
    if (const Held held = weak.lock()) end(held, "nothing was asked for in time");
  });
  execs_[exec->id] = exec;
}

void Execs::fail(const Held& exec, const Error& error) {
  if (exec->client != nullptr) {
    exec->client->send_text(codec::dump_json(Json{{"error",
                                                   {{"status", wire::status_of(error.kind)},
                                                    {"code", error.code},
                                                    {"message", error.message}}}}));
  }
  end(exec, error.code);
}

void Execs::end(const Held& exec, const std::string& why) {
  for (auto* socket : {&exec->client, &exec->agent}) {
    if (*socket != nullptr) (*socket)->close(why);
    socket->reset();
  }
  exec->timer.cancel();
  execs_.erase(exec->id);
}

// What is asked for; its task is that which is named, or else the first on the node that is.
Result<Execs::Wanted> Execs::read_first(const core::Job& job, std::string_view text) const {
  TRY_ASSIGN(const Json said, codec::parse_json(text, kFirstBytesMax));
  Wanted wanted;
  std::string task;
  std::string node;
  try {
    const Json& asked = said.at("exec");
    task = asked.value("task", "");
    node = asked.value("node", "");
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
  wanted.attempt = job.attempts.back().number;
  const core::PlacementRecord* placement = nullptr;
  if (node.empty()) {
    TRY_ASSIGN(wanted.rank, find_task(*job.spec, task));
    placement = placement_of(job, wanted.rank);
  } else {
    placement = placement_on(projection_.state(), job, node);
    if (placement != nullptr) wanted.rank = first_rank(job, placement->placement);
  }
  if (placement == nullptr) {
    return Error{ErrorKind::kConflict, "not_running",
                 node.empty()
                     ? fmt::format("task {} of job {} is not running", wanted.rank, job.id.value)
                     : fmt::format("no task of job {} is running on {}", job.id.value, node),
                 "task"};
  }
  wanted.node = placement->placement->node;
  return wanted;
}

void Execs::hear_first(const Held& exec, std::string_view text) {
  exec->asked = true;
  exec->timer.cancel();
  const core::Job* job = projection_.state().find_job(exec->job);
  if (job == nullptr || job->phase != JobPhase::kActive || job->attempts.empty()) {
    return fail(exec, Error{ErrorKind::kConflict, "not_running", "the job is not running", ""});
  }
  const Result<Wanted> wanted = read_first(*job, text);
  if (!wanted.ok()) return fail(exec, wanted.error());
  exec->node = wanted->node;
  order(exec, *wanted);
}

// What is not in the log has not happened: who runs what is there before it is ordered.
void Execs::order(const Held& exec, const Wanted& wanted) {
  protocol::Control control;
  protocol::ExecOrder& order = control.exec.emplace(wanted.order);
  order.id = exec->id;
  order.key = {exec->job, wanted.attempt};
  order.rank = wanted.rank;
  StampedEvent event{ExecStarted{exec->job, wanted.attempt, exec->node, wanted.rank, order.terminal,
                                 order.command.front().substr(0, kProgramBytesMax)},
                     exec->cause};
  const std::weak_ptr<Exec> weak = exec;
  commit_(std::move(event), [this, weak, line = protocol::control_line(control)](
                                const Result<controller::Committed>& committed) {
    const Held held = weak.lock();
    if (held == nullptr || execs_.count(held->id) == 0) return;
    if (!committed.ok()) return fail(held, committed.error());
    const Error unreachable{ErrorKind::kUnavailable, "node_unreachable",
                            "the agent of the task's node is not connected now; try again", ""};
    if (!sessions_.send(held->node, line)) return fail(held, unreachable);
    held->timer = loop_.after(kAgentComes, [this, weak, unreachable] {
      if (const Held waiting = weak.lock()) fail(waiting, unreachable);
    });
  });
}

void Execs::join(const CallPtr& call, const std::string& id) {
  const auto found = execs_.find(id);
  if (found == execs_.end() || found->second->node != call->caller.node ||
      found->second->agent != nullptr) {
    return call->fail(
        Error{ErrorKind::kNotFound, "exec_over", "nobody waits for this command any more", ""});
  }
  const Held exec = found->second;
  const std::weak_ptr<Exec> weak = exec;
  wire::WebSocketCallbacks callbacks;
  callbacks.on_text = [weak](std::string_view text) {
    const Held held = weak.lock();
    if (held != nullptr && held->client != nullptr) held->client->send_text(text);
  };
  callbacks.on_bytes = [weak](std::string_view bytes) {
    const Held held = weak.lock();
    if (held != nullptr && held->client != nullptr) held->client->send_bytes(bytes);
  };
  // The client knows it for the regular end if it was told how the command ended.
  callbacks.on_closed = [this, weak](const Error&) {
    const Held held = weak.lock();
    if (held == nullptr) return;
    fail(held, Error{ErrorKind::kUnavailable, "agent_lost",
                     "the connection to the task's node broke (its agent was restarted, or cannot "
                     "be reached), so the command was ended",
                     ""});
  };
  auto socket =
      wire::accept_web_socket(loop_, call->request, *call->responder, std::move(callbacks));
  if (socket.ok()) {
    exec->timer.cancel();
    exec->agent = std::move(socket).value();
  } else if (socket.error().code == "upgrade_required") {
    call->responder->send(wire::problem(426, socket.error()));
  }
}

void Execs::close_all() {
  const std::map<std::string, Held> all = execs_;
  for (const auto& [id, exec] : all) {
    fail(exec, Error{ErrorKind::kUnavailable, "server_stopping",
                     "the server is being stopped, so the command was ended", ""});
  }
}

}  // namespace dove::backends
