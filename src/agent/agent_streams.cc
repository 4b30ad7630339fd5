// The agent's streams of bytes: what tasks print on its way to who reads it, a step's input, and
// commands that people run.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "agent/attempts/attempt_record.h"
#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

// The controller drops a reader that takes nothing for a minute.
constexpr std::chrono::minutes kReaderTimeout{2};
constexpr std::size_t kOrder_bytes = std::size_t{64} << 20;

std::string step_id(AttemptKey key, std::int32_t step) {
  return fmt::format("{}.{}", key.text(), step);
}

StepInput::Piece piece_of(const wire::Response& answer) {
  using Kind = StepInput::Piece::Kind;
  if (wire::find_header(answer.headers, "Dove-End") != nullptr) return {Kind::kEnd, ""};
  if (answer.status == 200) return {Kind::kBytes, answer.body};
  return {answer.status == 204 ? Kind::kNothingYet : Kind::kFailed, ""};
}

// Whose files a task's output may be: anybody's where the task may read all that the agent may.
std::optional<std::string> owner_of(const LaunchOrder& order, bool mapped_users) {
  const bool is_users = mapped_users && order.run_as != RunAs::kAgent;
  return is_users ? std::optional(order.linux_user) : std::nullopt;
}

}  // namespace

// A connection of its own: the answer to a chunk waits for a slow reader, reports must not.
Relays::Send Agent::relay_line() {
  auto client = std::make_shared<Uplink::OwnLine>(loop_, uplink_);
  return [this, client](std::string target, std::string body, std::function<void(bool)> done) {
    client->call(
        request("POST", std::move(target), std::move(body)),
        [done](Result<wire::Response> answer) { done(answer.ok() && answer->status / 100 == 2); },
        kReaderTimeout);
  };
}

void Agent::open_relay(const protocol::RelayOrder& relay) {
  const bool is_stdout = relay.stream == "stdout";
  const auto found = held_.find(relay.key);
  Relays::Source source;
  source.offset = relay.offset;
  if (found == held_.end()) {
    source.path = finished_output(relay.key, relay.rank, is_stdout, source.owner);
  } else {
    source.path = found->second->output_file(relay.rank, is_stdout);
    source.owner = owner_of(found->second->order(), options_.mapped_users);
    source.follow = !source.path.empty() && relay.follow && found->second->writes_to(source.path);
  }
  if (relay.apart && !is_stdout && is_one_file(relay.key, relay.rank, source.path)) {
    source.path.clear();
    source.follow = false;
  }
  relays_->open(relay.id, "", source, /*marks_end=*/true);
}

// Whether that is where the task's standard output goes as well.
bool Agent::is_one_file(AttemptKey key, Rank rank, const std::string& path) const {
  std::optional<std::string> ignored;
  const auto found = held_.find(key);
  return path == (found == held_.end() ? finished_output(key, rank, true, ignored)
                                       : found->second->output_file(rank, true));
}

// The output of an attempt that is over is where its order said, or in its directory, now moved.
std::string Agent::finished_output(AttemptKey key, Rank rank, bool is_stdout,
                                   std::optional<std::string>& owner) const {
  const std::string directory = options_.data_dir + "/finished/" + key.text();
  const AttemptOnDisk kept = read_attempt(directory);
  Result<Json> line = codec::parse_json(kept.order, kOrder_bytes);
  if (!line.ok()) return "";
  Result<LaunchOrder> order = read_launch_order(*line, kept.has_network);
  if (!order.ok()) return "";
  owner = owner_of(*order, options_.mapped_users);
  HeldContext context;
  context.facts = &facts_;
  context.runner = &runner_;
  return HeldAttempt(std::move(context), directory, std::move(order).value())
      .output_file(rank, is_stdout);
}

void Agent::step_output(const StepAttach& step, const StepTaskOutput& output) {
  step_relays_[step_id(step.key, step.step)] = step.relay_id;
  const auto held = held_.find(step.key);
  const auto open = [&](const std::string& path, bool is_stderr) {
    const char* stream = is_stderr ? "stderr" : "stdout";
    Relays::Source source;
    source.path = path;
    for (const protocol::SeenOutput& seen : step.seen) {
      if (seen.rank == output.rank && seen.stream == stream) source.offset = seen.bytes;
    }
    if (!output.linux_user.empty()) source.owner = output.linux_user;
    source.follow = held != held_.end() && held->second->writes_to(path);
    relays_->open(step.relay_id, fmt::format("rank={}&stream={}", output.rank, stream), source,
                  /*marks_end=*/false);
  };
  if (!step.stdout_path.empty()) return;  // the step writes to files of its own
  open(output.stdout_path, false);
  if (step.stderr_path.empty()) open(output.stderr_path, true);
}

void Agent::attach_step(const StepAttach& attach) {
  const auto found = held_.find(attach.key);
  if (found != held_.end()) return found->second->attach_step(attach);
  protocol::StepOver over{attach.key, attach.step, {}};
  for (const Rank rank : attach.ranks) over.exits.push_back(TaskExit{rank, 1, 0, "step_lost"});
  report(std::move(over));
}

std::unique_ptr<wire::WebSocket> Agent::dial_exec(const std::string& id,
                                                  wire::WebSocketCallbacks callbacks) {
  return wire::connect_web_socket(
      loop_, uplink_.address(),
      request("GET", fmt::format("/v1/agents/{}/execs/{}", options_.name, id), ""),
      std::move(callbacks));
}

void Agent::exec(const ExecOrder& order) {
  const Result<void> checked = check(order);
  const auto found = checked.ok() ? held_.find(order.key) : held_.end();
  if (found != held_.end()) return found->second->exec(order);
  telemetry::log(telemetry::Level::kWarning, "exec_refused",
                 {{"why", checked.ok() ? "the job is not here" : checked.error().message}});
}

void Agent::forward(const ForwardOrder& order) {
  const Result<void> checked = check(order);
  const auto found = checked.ok() ? held_.find(order.key) : held_.end();
  if (found != held_.end()) return found->second->forward(order);
  telemetry::log(telemetry::Level::kWarning, "forward_refused",
                 {{"why", checked.ok() ? "the job is not here" : checked.error().message}});
}

// On a connection of its own, as the answer waits until there is some.
std::unique_ptr<StepInput> Agent::step_input(const StepOrder& step, std::function<void()> on_end) {
  auto client = std::make_shared<Uplink::OwnLine>(loop_, uplink_);
  const auto fetch = [this, client, step = step_id(step.key, step.step)](
                         std::int64_t offset, std::function<void(StepInput::Piece)> done) {
    const std::string& id = step_relays_[step];  // another one once its client came back
    client->call(
        request("GET",
                fmt::format("/v1/agents/{}/relays/{}/input?offset={}", options_.name, id, offset),
                ""),
        [done = std::move(done)](Result<wire::Response> answer) {
          done(answer.ok() ? piece_of(*answer) : StepInput::Piece{});
        },
        kReaderTimeout);
  };
  return std::make_unique<StepInput>(loop_, fetch, std::move(on_end));
}

}  // namespace dove::agent
