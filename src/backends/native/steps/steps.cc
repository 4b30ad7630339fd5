#include "backends/native/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "backends/native/steps/step_input.h"
#include "codec/json.h"
#include "model/job.h"
#include "protocol/control.h"
#include "telemetry/clock.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;

constexpr auto kKillAfter = std::chrono::seconds(5);
constexpr auto kKillWait = std::chrono::seconds(30);
constexpr std::size_t kNumbersMax = 100'000;
// Steps of attempts that began before this server did may have numbers that it does not know.
constexpr std::int32_t kOlderAttempts = 1000;

bool is_text(std::string_view bytes) {
  const std::string replaced = codec::dump_json(Json(std::string(bytes)));
  return replaced.find("\xEF\xBF\xBD") == std::string::npos;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      word = (word << 8) | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= left ? kDigits[(word >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return out;
}

int shell_code(const TaskExit& exit) {
  if (exit.signal != 0) return 128 + exit.signal;
  return exit.exit_code == 0 && !exit.cause.empty() ? 1 : exit.exit_code;
}

}  // namespace

struct Steps::Step {
  Key key;
  std::string relay;
  std::shared_ptr<wire::Outflow> out;
  std::map<NodeId, std::vector<Rank>> open;  // nodes whose tasks have not ended
  int exit_code = 0;
  bool kill_on_bad_exit = false;
  std::int64_t wait_s = 0;
  bool killed = false;
  std::set<Rank> exited;
  std::unique_ptr<StepInput> input;  // nullptr: none comes from the client
  wire::Timer kill_timer;
  wire::Timer limit_timer;
  wire::Timer others_timer;  // of those that run on after others

  void say(const Json& line) const { out->write(codec::dump_json(line) + "\n"); }
};

Steps::Steps(wire::Loop& loop, const listener::Projection& projection, AgentSessions& sessions,
             Relays& relays, const std::string& path)
    : loop_(loop),
      projection_(projection),
      sessions_(sessions),
      relays_(relays),
      began_at_(projection.state().now),
      file_(path, book_) {}

Steps::~Steps() = default;

std::int32_t Steps::next_number(const core::Job& job) {
  const core::Attempt& attempt = job.attempts.back();
  if (numbers_.size() > kNumbersMax) numbers_.erase(numbers_.begin());
  const auto [found, is_new] = numbers_.try_emplace({job.id, attempt.number}, 0);
  if (is_new && attempt.allocated_at < began_at_) {
    found->second =
        kOlderAttempts * static_cast<std::int32_t>(projection_.state().epoch.value % 1'000'000);
  }
  return found->second++;
}

void Steps::begin(const core::Job& job, const std::vector<StepNode>& nodes,
                  const StepProgram& program, const std::shared_ptr<wire::Outflow>& out) {
  const core::State& state = projection_.state();
  const AttemptNumber attempt = job.attempts.back().number;
  const Key key{job.id, attempt, next_number(job)};
  Ranks ranks;
  Json told = Json::array();
  std::size_t tasks = 0;
  for (const StepNode& node : nodes) {
    for (const TaskGrant& task : node.tasks) ranks[node.node].push_back(task.rank);
    Json one{{"node", state.find_node(node.node)->name}, {"ranks", ranks.at(node.node)}};
    if (!node.holding.empty()) {
      one["held"] = {{"cores", node.holding.cores.ids()},
                     {"devices", codec::grants_json(node.holding.devices)},
                     {"memory_bytes", node.holding.memory_bytes}};
      ledger_.hold(key, node.node, node.holding);
    }
    told.push_back(std::move(one));
    tasks += node.tasks.size();
  }
  write_down(key, program, nodes);
  const std::vector<std::string> unlimited =
      program.container.image.empty() ? unlimited_nodes(nodes) : std::vector<std::string>();
  const std::shared_ptr<Step> step = open_step(key, std::move(ranks), program.kill_on_bad_exit);
  step->wait_s = program.wait_s;
  if (program.stdin_text == "stream") step->input = input_of(step->open, program.stdin_rank);
  use_stream(step, out);
  step->say(Json{{"begun",
                  {{"step", std::get<2>(key)},
                   {"attempt", attempt},
                   {"nodes", std::move(told)},
                   {"tasks", tasks},
                   {"memory_not_limited", unlimited},
                   {"input", step->input != nullptr}}}});
  set_limit(step, program.time_limit_s);
  send_orders(*step, state, nodes, program);
}

// Those where the step asks for memory, and nothing keeps its tasks from taking more.
std::vector<std::string> Steps::unlimited_nodes(const std::vector<StepNode>& nodes) const {
  std::vector<std::string> names;
  for (const StepNode& node : nodes) {
    const AgentSession* session = sessions_.find(node.node);
    const bool limits = session == nullptr || !session->offer || session->offer->limits_memory;
    if (node.memory_bytes > 0 && !limits) {
      names.push_back(projection_.state().find_node(node.node)->name);
    }
  }
  return names;
}

// As Slurm's: SIGTERM, and SIGKILL kKillWait later.
void Steps::set_limit(const std::shared_ptr<Step>& step, std::int64_t time_limit_s) {
  if (time_limit_s <= 0) return;
  const std::weak_ptr<Step> weak = step;
  step->limit_timer = loop_.after(std::chrono::seconds(time_limit_s), [this, weak] {
    const std::shared_ptr<Step> held = weak.lock();
    if (held == nullptr) return;
    held->say(Json{{"timed_out", {{"step", std::get<2>(held->key)}}}});
    signal(*held, SIGTERM);
    held->limit_timer = loop_.after(kKillWait, [this, weak] {
      if (const std::shared_ptr<Step> left = weak.lock()) signal(*left, SIGKILL);
    });
  });
}

void Steps::write_down(const Key& key, const StepProgram& program,
                       const std::vector<StepNode>& nodes) {
  const std::string& path = program.command.front();
  StepRecord record;
  record.number = std::get<2>(key);
  record.name = program.name.empty() ? path.substr(path.rfind('/') + 1) : program.name;
  record.started_at_us = telemetry::now_us();
  for (const StepNode& node : nodes) {
    record.nodes.push_back(projection_.state().find_node(node.node)->name);
    CoreSet cores;
    for (const TaskGrant& task : node.tasks) {
      for (const std::int32_t core : task.cores) cores.insert(core);
    }
    record.cores += static_cast<std::int64_t>(cores.size());
    record.tasks += static_cast<std::int64_t>(node.tasks.size());
  }
  book_.began(std::get<0>(key), std::get<1>(key), std::move(record));
}

std::shared_ptr<Steps::Step> Steps::open_step(const Key& key, Ranks ranks, bool kill_on_bad_exit) {
  auto step = std::make_shared<Step>();
  step->key = key;
  step->kill_on_bad_exit = kill_on_bad_exit;
  const std::weak_ptr<Step> weak = step;
  RelayReader reader;
  for (const auto& [node, of_node] : ranks) reader.nodes.insert(node);
  step->open = std::move(ranks);
  reader.waiting_bytes = [weak] {
    const auto held = weak.lock();
    return held == nullptr ? 0 : held->out->buffered_bytes();
  };
  reader.on_chunk = [weak](const listener::Call& chunk, bool) {
    const auto held = weak.lock();
    if (held == nullptr || chunk.request.body.empty()) return;
    const Result<std::int64_t> rank = chunk.query_number("rank", 0, 0, INT32_MAX);
    Json line{{"rank", rank.ok() ? *rank : 0},
              {"stream", chunk.query_text("stream") == "stderr" ? "stderr" : "stdout"}};
    if (is_text(chunk.request.body)) {
      line["data"] = chunk.request.body;
    } else {
      line["base64"] = base64(chunk.request.body);
    }
    held->say(line);
  };
  reader.on_node_gone = [this, weak](NodeId node) {
    const auto held = weak.lock();
    if (held == nullptr || held->open.count(node) == 0) return;
    if (abandoned_.size() < kNumbersMax) abandoned_.emplace(node, held->key);
    std::vector<TaskExit> exits;
    for (const Rank rank : held->open.at(node)) exits.push_back({rank, 1, 0, "node_unreachable"});
    node_done(held, node, exits);
  };
  reader.on_broken = [this, weak] {
    if (const auto held = weak.lock()) send_back(held);
  };
  step->relay = relays_.open(std::move(reader));
  steps_[step->key] = step;
  return step;
}

void Steps::use_stream(const std::shared_ptr<Step>& step,
                       const std::shared_ptr<wire::Outflow>& out) {
  step->out = out;
  step->out->on_closed([this, weak = std::weak_ptr<Step>(step)] { client_gone(weak); });
}

void Steps::attach(CallPtr call, const core::Job& job, const StepAttach& attach) {
  const core::State& state = projection_.state();
  const Key key{job.id, attach.attempt, attach.step};
  const Error over{ErrorKind::kConflict, "step_over", "the step is over", ""};
  if (steps_.count(key) != 0 || job.attempts.back().number != attach.attempt) {
    return call->fail(over);
  }
  Ranks ranks;
  for (const auto& [name, of_node] : attach.ranks) {
    const core::Node* node = state.find_node(name);
    if (node == nullptr || find_placement(state, job.id, attach.attempt, node->id) == nullptr) {
      return call->fail(over);
    }
    if (sessions_.find(node->id) == nullptr) {
      return call->fail(
          Error{ErrorKind::kUnavailable, "node_unreachable",
                fmt::format("the agent of node {} is not connected now; try again", name), ""});
    }
    ranks[node->id] = of_node;
  }
  const std::shared_ptr<Step> step = open_step(key, std::move(ranks), attach.kill_on_bad_exit);
  step->wait_s = attach.wait_s;
  if (attach.input) step->input = input_of(step->open, attach.stdin_rank);
  use_stream(step, call->responder->stream(200, {{"Content-Type", "application/x-ndjson"}}));
  for (const auto& [name, holding] : attach.held) {
    const core::Node* node = state.find_node(name);
    if (node == nullptr || step->open.count(node->id) == 0) continue;
    const core::PlacementRecord* record = find_placement(state, job.id, attach.attempt, node->id);
    if (record != nullptr && record->placement->cores.contains(holding.cores)) {
      ledger_.hold(key, node->id, holding);
    }
  }
  set_limit(step, attach.time_left_s);
  step->say(Json{{"attached", {{"step", attach.step}}}});
  protocol::StepAttach order;
  order.relay_id = step->relay;
  order.key = {job.id, attach.attempt};
  order.step = attach.step;
  order.stdout_path = attach.stdout_path;
  order.stderr_path = attach.stderr_path;
  order.each_exit = attach.kill_on_bad_exit || attach.wait_s > 0;
  for (const SeenOutput& seen : attach.seen) {
    order.seen.push_back({seen.rank, seen.is_stderr ? "stderr" : "stdout", seen.bytes});
  }
  for (const auto& [node, open] : step->open) {
    order.ranks = open;
    protocol::Control line;
    line.step_attach = order;
    sessions_.send(node, protocol::control_line(line));
  }
  orphans_.erase(key);
  freed(job.id, attach.attempt);
}

// Its client comes back and says how far it was, as after a restart of this server.
void Steps::send_back(const std::shared_ptr<Step>& step) {
  relays_.close(step->relay);
  steps_.erase(step->key);
  const auto [job, attempt, number] = step->key;
  for (const auto& [node, ranks] : step->open) {
    ledger_.release(step->key, node);
    found(node, {protocol::StepKey{job, attempt, number}});
  }
  step->out->cut();
}

void Steps::found(NodeId node, const std::vector<protocol::StepKey>& steps) {
  for (const protocol::StepKey& each : steps) {
    const Key key{each.job, each.attempt, each.step};
    if (steps_.count(key) != 0 || orphans_.size() > kNumbersMax) continue;
    Orphan& orphan = orphans_[key];
    orphan.nodes.insert(node);
    if (!orphan.timer.pending()) {
      orphan.timer = loop_.after(kOrphaned, [this, key] { end_orphan(key, SIGTERM); });
    }
  }
}

void Steps::end_orphan(const Key& key, int number) {
  const auto found = orphans_.find(key);
  if (found == orphans_.end()) return;
  for (const NodeId node : found->second.nodes) sessions_.send(node, signal_line(key, number));
  if (number == SIGKILL) {
    orphans_.erase(found);
    freed(std::get<0>(key), std::get<1>(key));
  } else {
    found->second.timer = loop_.after(kKillAfter, [this, key] { end_orphan(key, SIGKILL); });
  }
}

std::unique_ptr<StepInput> Steps::input_of(const Ranks& ranks, std::int32_t stdin_rank) const {
  std::set<NodeId> reading;
  for (const auto& [node, of_node] : ranks) {
    for (const Rank rank : of_node) {
      if (stdin_rank < 0 || stdin_rank == static_cast<std::int32_t>(rank)) reading.insert(node);
    }
  }
  return std::make_unique<StepInput>(loop_, reading);
}

void Steps::write_input(CallPtr call, JobId job, AttemptNumber attempt, std::int32_t number) {
  const auto found = steps_.find(Key{job, attempt, number});
  if (found == steps_.end() || found->second->input == nullptr) {
    return call->fail(
        Error{ErrorKind::kNotFound, "step_over", "the step is over, or takes no input", ""});
  }
  const Result<std::int64_t> offset = call->query_number("offset", 0, 0, INT64_MAX / 2);
  if (!offset.ok()) return call->fail(offset.error());
  const bool end = call->query_flag("end");
  found->second->input->write(std::move(call), *offset, end);
}

void Steps::read_input(CallPtr call, const std::string& relay) {
  const Result<std::int64_t> offset = call->query_number("offset", 0, 0, INT64_MAX / 2);
  if (!offset.ok()) return call->fail(offset.error());
  for (const auto& [key, step] : steps_) {
    if (step->relay == relay && step->input != nullptr) {
      return step->input->read(std::move(call), *offset);
    }
  }
  call->fail(Error{ErrorKind::kNotFound, "step_over", "nobody writes this input", ""});
}

void Steps::send_orders(const Step& step, const core::State& state,
                        const std::vector<StepNode>& nodes, const StepProgram& program) {
  protocol::Control line;
  protocol::StepOrder& order = line.step.emplace();
  order.relay_id = step.relay;
  order.key = {std::get<JobId>(step.key), std::get<AttemptNumber>(step.key)};
  order.step = std::get<std::int32_t>(step.key);
  for (const StepNode& node : nodes) {
    order.nodes.push_back(state.find_node(node.node)->name);
    order.tasks_per_node.push_back(static_cast<std::int32_t>(node.tasks.size()));
    order.tasks_total += static_cast<std::int32_t>(node.tasks.size());
  }
  order.command = program.command;
  order.environment = program.environment;
  order.workdir = program.workdir;
  order.container = program.container;
  order.stdout_path = program.stdout_path;
  order.stderr_path = program.stderr_path;
  order.stdin_text = program.stdin_text;
  order.stdin_rank = program.stdin_rank;
  order.each_exit = program.kill_on_bad_exit || program.wait_s > 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    order.tasks = nodes[i].tasks;
    order.devices_given = nodes[i].devices_given;
    order.node_rank = static_cast<std::int32_t>(i);
    order.memory_bytes = nodes[i].memory_bytes;
    sessions_.send(nodes[i].node, protocol::control_line(line));
  }
}

void Steps::ended(NodeId node, JobId job, AttemptNumber attempt, std::int32_t number,
                  const std::vector<TaskExit>& exits) {
  const Key key{job, attempt, number};
  const auto found = steps_.find(key);
  if (found != steps_.end()) return node_done(found->second, node, exits);
  const auto orphan = orphans_.find(key);
  if (orphan == orphans_.end()) return;
  orphan->second.nodes.erase(node);
  if (!orphan->second.nodes.empty()) return;
  orphans_.erase(orphan);
  freed(job, attempt);
}

void Steps::node_done(const std::shared_ptr<Step>& step, NodeId node,
                      const std::vector<TaskExit>& exits) {
  if (step->open.erase(node) == 0) return;
  const bool held = ledger_.release(step->key, node);
  if (step->input != nullptr) step->input->node_done(node);
  for (const TaskExit& exit : exits) take_exit(*step, exit);
  step->open.empty() ? finish(step) : end_others(step);
  if (held) freed(std::get<0>(step->key), std::get<1>(step->key));
}

void Steps::task_ended(NodeId node, const StepId& key, const TaskExit& exit) {
  const auto found = steps_.find(key);
  if (found == steps_.end()) return;
  const std::shared_ptr<Step> step = found->second;
  const auto open = step->open.find(node);
  if (open == step->open.end() || std::ranges::count(open->second, exit.rank) == 0) return;
  take_exit(*step, exit);
  end_others(step);
}

void Steps::take_exit(Step& step, const TaskExit& exit) {
  if (!step.exited.insert(exit.rank).second) return;  // told when it ended
  const auto [job, attempt, number] = step.key;
  step.say(Json{{"exit", codec::task_exit_json(exit)}});
  book_.exited(job, attempt, number, exit);
  step.exit_code = std::max(step.exit_code, shell_code(exit));
}

void Steps::end_others(const std::shared_ptr<Step>& step) {
  if (step->killed) return;
  if (step->exit_code != 0 && step->kill_on_bad_exit) return kill(step, SIGTERM);
  if (step->wait_s == 0 || step->others_timer.pending()) return;
  const auto wait = std::chrono::seconds(step->wait_s);
  step->others_timer = loop_.after(wait, [this, weak = std::weak_ptr<Step>(step)] {
    const std::shared_ptr<Step> held = weak.lock();
    if (held == nullptr) return;
    held->say(Json{{"waited", {{"step", std::get<2>(held->key)}}}});
    kill(held, SIGKILL);
  });
}

void Steps::kill(const std::shared_ptr<Step>& step, int number) {
  step->killed = true;
  signal(*step, number);
  step->others_timer = loop_.after(kKillWait, [this, weak = std::weak_ptr<Step>(step)] {
    if (const std::shared_ptr<Step> held = weak.lock()) kill(held, SIGKILL);
  });
}

void Steps::node_back(NodeId node) {
  const auto [begin, end] = abandoned_.equal_range(node);
  for (auto each = begin; each != end; ++each) {
    sessions_.send(node, signal_line(each->second, SIGKILL));
  }
  abandoned_.erase(begin, end);
}

std::string Steps::signal_line(const Key& key, int number) {
  const auto [job, attempt, step] = key;
  protocol::Control line;
  line.signal = protocol::Signal{{job, attempt}, step, number, false};
  return protocol::control_line(line);
}

void Steps::signal(const Step& step, int number) {
  const std::string line = signal_line(step.key, number);
  for (const auto& [node, ranks] : step.open) sessions_.send(node, line);
}

void Steps::client_gone(const std::weak_ptr<Step>& weak) {
  const std::shared_ptr<Step> step = weak.lock();
  if (step == nullptr || steps_.count(step->key) == 0) return;
  relays_.close(step->relay);
  signal(*step, SIGTERM);
  step->kill_timer = loop_.after(kKillAfter, [this, weak] {
    const std::shared_ptr<Step> held = weak.lock();
    if (held == nullptr) return;
    signal(*held, SIGKILL);
    finish(held);
    freed(std::get<0>(held->key), std::get<1>(held->key));
  });
}

void Steps::finish(const std::shared_ptr<Step>& step) {
  const auto [job, attempt, number] = step->key;
  book_.ended(job, attempt, number, telemetry::now_us());
  for (const auto& [node, ranks] : step->open) ledger_.release(step->key, node);
  step->say(Json{{"ended", {{"exit_code", step->exit_code}}}});
  step->out->close();
  relays_.close(step->relay);
  steps_.erase(step->key);
}

bool Steps::send_signal(JobId job, AttemptNumber attempt, std::int32_t number, int signal_number) {
  const auto found = steps_.find(Key{job, attempt, number});
  if (found == steps_.end()) return false;
  signal(*found->second, signal_number);
  return true;
}

void Steps::close_all() {
  for (const auto& [key, step] : steps_) step->out->close();
  steps_.clear();
  waiting_.close_all();
}

}  // namespace dove::backends
