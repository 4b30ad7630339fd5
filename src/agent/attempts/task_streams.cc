#include "agent/attempts/task_streams.h"

#include <fmt/format.h>

#include <utility>

namespace dove::agent {
namespace {

// The controller drops a reader that takes nothing for a minute.
constexpr std::chrono::minutes kReaderTimeout{2};

std::string step_id(AttemptKey key, std::int32_t step) {
  return fmt::format("{}.{}", key.text(), step);
}

StepInput::Piece piece_of(const wire::Response& answer) {
  using Kind = StepInput::Piece::Kind;
  if (wire::find_header(answer.headers, "Dove-End") != nullptr) return {Kind::kEnd, ""};
  if (answer.status == 200) return {Kind::kBytes, answer.body};
  return {answer.status == 204 ? Kind::kNothingYet : Kind::kFailed, ""};
}

Relays::Sent sent_as(const Result<wire::Response>& answer) {
  if (!answer.ok() || answer->status >= 500) return Relays::Sent::kBroken;
  return answer->status / 100 == 2 ? Relays::Sent::kTaken : Relays::Sent::kNobodyReads;
}

}  // namespace

TaskStreams::TaskStreams(wire::Loop& loop, Uplink& uplink, const std::string& node)
    : loop_(loop), uplink_(uplink), relays_(loop, node, [this] { return new_line(); }) {}

// A line of its own: the answer to a chunk waits for a slow reader, other chunks must not.
Relays::Send TaskStreams::new_line() {
  auto client = std::make_shared<Uplink::OwnLine>(loop_, uplink_);
  return [this, client](std::string target, std::string body,
                        std::function<void(Relays::Sent)> done) {
    wire::Request request = uplink_.request("POST", "", std::move(body));
    request.target = std::move(target);
    client->call(
        std::move(request),
        [done = std::move(done)](const Result<wire::Response>& answer) { done(sent_as(answer)); },
        kReaderTimeout);
  };
}

void TaskStreams::open(const std::string& relay, const Relays::Source& source) {
  relays_.open(relay, "", source, /*marks_end=*/true);
}

void TaskStreams::open_step(const StepAttach& step, const StepTaskOutput& output,
                            const std::function<bool(const std::string& path)>& writes) {
  step_relays_[step_id(step.key, step.step)] = step.relay_id;
  const auto open = [&](const std::string& path, const char* stream) {
    Relays::Source source;
    source.path = path;
    for (const protocol::SeenOutput& seen : step.seen) {
      if (seen.rank == output.rank && seen.stream == stream) source.offset = seen.bytes;
    }
    if (!output.linux_user.empty()) source.owner = output.linux_user;
    source.follow = writes(path);
    relays_.open(step.relay_id, fmt::format("rank={}&stream={}", output.rank, stream), source,
                 /*marks_end=*/false);
  };
  if (!step.stdout_path.empty()) return;  // the step writes to files of its own
  open(output.stdout_path, "stdout");
  if (step.stderr_path.empty()) open(output.stderr_path, "stderr");
}

bool TaskStreams::after_output(AttemptKey key, std::int32_t step, std::function<void()> tell) {
  const auto found = step_relays_.find(step_id(key, step));
  if (found == step_relays_.end()) return false;
  const std::string relay = found->second;
  step_relays_.erase(found);
  relays_.when_drained(relay, std::move(tell));
  return true;
}

// The fetch waits at the controller until there is some input.
std::unique_ptr<StepInput> TaskStreams::input(const StepOrder& step, std::function<void()> on_end) {
  auto client = std::make_shared<Uplink::OwnLine>(loop_, uplink_);
  const auto fetch = [this, client, step = step_id(step.key, step.step)](
                         std::int64_t offset, std::function<void(StepInput::Piece)> done) {
    const std::string& id = step_relays_[step];  // another one once its client came back
    client->call(
        uplink_.request("GET", fmt::format("relays/{}/input?offset={}", id, offset), ""),
        [done = std::move(done)](Result<wire::Response> answer) {
          done(answer.ok() ? piece_of(*answer) : StepInput::Piece{});
        },
        kReaderTimeout);
  };
  return std::make_unique<StepInput>(loop_, fetch, std::move(on_end));
}

std::unique_ptr<wire::WebSocket> TaskStreams::dial(const std::string& id,
                                                   wire::WebSocketCallbacks callbacks) {
  return wire::connect_web_socket(loop_, uplink_.address(),
                                  uplink_.request("GET", "execs/" + id, ""), std::move(callbacks));
}

}  // namespace dove::agent
