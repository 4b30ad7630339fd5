#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/digest.h"
#include "codec/json.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Pings come every 2 s (3 at most): a stream silent for so long has no controller at its end.
wire::AsyncClientOptions client_options() {
  wire::AsyncClientOptions options;
  options.silence_timeout = std::chrono::seconds(10);
  return options;
}

AttemptKey key_of(const Json& value) {
  return {JobId(value.value("job", std::uint64_t{0})), value.value("attempt", AttemptNumber{0})};
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentOptions options, Inventory inventory, Runner& runner)
    : loop_(loop),
      options_(std::move(options)),
      inventory_(std::move(inventory)),
      runner_(runner),
      client_(loop, options_.host, options_.port, client_options()),
      jitter_(std::hash<std::string>{}(options_.name)) {
  facts_.node = options_.name;
  facts_.url = fmt::format("http://{}:{}", options_.host, options_.port);
  facts_.bin_directory = options_.bin_directory;
  facts_.shared_directory = options_.shared_directory;
  facts_.inventory = &inventory_;
  relays_ = std::make_unique<Relays>(
      loop_, options_.name,
      [this](std::string target, std::string body, std::function<void(bool)> done) {
        client_.call(request("POST", std::move(target), std::move(body)),
                     [done](Result<wire::Response> answer) {
                       done(answer.ok() && answer->status / 100 == 2);
                     });
      });
}

Agent::~Agent() = default;

Result<void> Agent::start() {
  std::error_code error;
  fs::create_directories(options_.data_dir + "/attempts", error);
  fs::create_directories(options_.data_dir + "/finished", error);
  if (error) {
    return Error{ErrorKind::kInvalid, "data_dir",
                 fmt::format("{}: {}; give the agent a directory of its own with --data",
                             options_.data_dir, error.message()),
                 ""};
  }
  TRY_ASSIGN(Contact contact, Contact::open(options_.data_dir + "/contact"));
  contact_.emplace(std::move(contact));
  agent_token_ = read_text(options_.data_dir + "/agent_token");
  load_attempts();
  renew();
  connect();
  return {};
}

std::string Agent::attempt_directory(AttemptKey key) const {
  return options_.data_dir + "/attempts/" + key.text();
}

HeldAttempt& Agent::hold(LaunchOrder order) {
  HeldContext context;
  context.facts = &facts_;
  context.runner = &runner_;
  context.mapped_users = options_.mapped_users;
  context.keeps_records = options_.keeps_records;
  context.output_rotate_bytes = options_.output_rotate_bytes;
  context.report = [this](Report said) { report(std::move(said)); };
  context.step_output = [this](const StepOrder& step, const TaskPlan& plan, bool ended) {
    step_output(step, plan, ended);
  };
  const AttemptKey key = order.key;
  auto held =
      std::make_unique<HeldAttempt>(std::move(context), attempt_directory(key), std::move(order));
  HeldAttempt& reference = *held;
  held_[key] = std::move(held);
  return reference;
}

// An attempt whose order cannot be read was never launched: the order is written before anything
// starts.
void Agent::load_attempts() {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.data_dir + "/attempts", error)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) {
    Result<Json> line = codec::parse_json(read_text(path / "order"), std::size_t{64} << 20);
    if (line.ok()) {
      Result<LaunchOrder> order = read_launch_order(line.value());
      if (order.ok()) {
        hold(std::move(order).value()).resume();
        continue;
      }
    }
    telemetry::log(telemetry::Level::kWarning, "attempt_without_order",
                   {{"directory", path.string()}});
    fs::remove_all(path, error);
  }
}

void Agent::on_line(std::string_view text) {
  Result<Json> line = codec::parse_json(text, std::size_t{64} << 20);
  if (!line.ok()) {
    telemetry::log(telemetry::Level::kError, "order_unreadable", {{"why", line.error().message}});
    return;
  }
  hear(*line);
  if (line->contains("order")) {
    on_order(*line, text);
  } else {
    on_control(*line);
  }
}

void Agent::on_order(const Json& line, std::string_view text) {
  const auto epoch = line.value("epoch", std::uint64_t{0});
  if (epoch < contact_->epoch()) {
    telemetry::log(telemetry::Level::kWarning, "order_of_older_epoch", {{"epoch", epoch}});
    return;
  }
  const AttemptKey key = key_of(line);
  const std::string what = line.value("order", "");
  if (what == "launch") {
    launch(line, text);
  } else if (what == "start") {
    const auto found = held_.find(key);
    if (found != held_.end()) found->second->start();
  } else if (what == "stop") {
    stop(key);
  }
  applied_ = std::max(applied_, line.value("seq", std::uint64_t{0}));
}

void Agent::launch(const Json& line, std::string_view text) {
  const AttemptKey key = key_of(line);
  if (const auto found = held_.find(key); found != held_.end()) {
    found->second->repeat_report();
    return;
  }
  Result<LaunchOrder> order = read_launch_order(line);
  if (!order.ok()) {
    report(Report{ReportKind::kLaunchFailed, key, {}, order.error().message, 0, 0, 0});
    return;
  }
  hold(std::move(order).value()).launch(std::string(text));
}

void Agent::stop(AttemptKey key) {
  const auto found = held_.find(key);
  if (found == held_.end()) {
    report(Report{ReportKind::kEnded, key, {}, "", 0, 0, 0});  // nothing of it is here
  } else if (found->second->stage() == HeldAttempt::Stage::kEnded) {
    found->second->repeat_report();
  } else {
    found->second->stop();
  }
}

void Agent::on_control(const Json& line) {
  if (line.contains("forget")) forget(line.at("forget"));
  if (line.contains("signal")) {
    const Json& value = line.at("signal");
    const auto found = held_.find(key_of(value));
    if (found == held_.end()) return;
    const int number = value.value("signal", 15);
    if (value.contains("step") && value.at("step").is_number()) {
      found->second->stop_step(value.at("step").get<std::int32_t>(), number);
    } else {
      found->second->signal(number, value.value("batch_only", false));
    }
  }
  if (line.contains("step")) {
    Result<StepOrder> step = read_step_order(line.at("step"));
    if (!step.ok()) {
      telemetry::log(telemetry::Level::kError, "step_unreadable", {{"why", step.error().message}});
      return;
    }
    const auto found = held_.find(step->key);
    if (found != held_.end()) {
      found->second->start_step(*step);
      return;
    }
    Report over{ReportKind::kStepEnded, step->key, {}, "", 0, 0, step->step};
    for (const TaskGrant& task : step->tasks) {
      over.exits.push_back(TaskExit{task.rank, 127, 0, "start_failed: the job is not here"});
    }
    report(std::move(over));
  }
  if (line.contains("relay")) open_relay(line.at("relay"));
  if (line.contains("relay_end")) relays_->close(line.at("relay_end").value("id", ""));
}

void Agent::open_relay(const Json& relay) {
  const AttemptKey key = key_of(relay);
  const auto rank = relay.value("rank", Rank{0});
  const bool is_stdout = relay.value("stream", "stdout") == "stdout";
  const auto found = held_.find(key);
  std::string path;
  bool running = false;
  if (found != held_.end()) {
    const TaskPlan* plan = found->second->plan(rank);
    if (plan != nullptr) path = is_stdout ? plan->stdout_path : plan->stderr_path;
    running = found->second->stage() != HeldAttempt::Stage::kEnded;
  } else {
    path = finished_output(key, rank, is_stdout);
  }
  relays_->open(relay.value("id", ""), "", path, relay.value("offset", std::int64_t{0}),
                running && relay.value("follow", false), /*marks_end=*/true);
}

// The output of an attempt that is over is where its order said, or in its directory, now moved.
std::string Agent::finished_output(AttemptKey key, Rank rank, bool is_stdout) const {
  const std::string directory = options_.data_dir + "/finished/" + key.text();
  Result<Json> line =
      codec::parse_json(read_text(fs::path(directory) / "order"), std::size_t{64} << 20);
  if (!line.ok()) return "";
  Result<LaunchOrder> order = read_launch_order(*line);
  if (!order.ok()) return "";
  HeldContext context;
  context.facts = &facts_;
  context.runner = &runner_;
  context.keeps_records = false;  // its directory may be gone, its output need not be
  return HeldAttempt(std::move(context), directory, std::move(order).value())
      .output_file(rank, is_stdout);
}

void Agent::step_output(const StepOrder& step, const TaskPlan& plan, bool ended) {
  if (ended) {
    relays_->finish(plan.stdout_path);
    relays_->finish(plan.stderr_path);
    return;
  }
  const auto open = [&](const std::string& pattern, const std::string& path, const char* stream) {
    if (!pattern.empty()) return;  // the step writes it to a file of its own
    step_relays_[fmt::format("{}.{}", step.key.text(), step.step)] = step.relay_id;
    relays_->open(step.relay_id, fmt::format("rank={}&stream={}", plan.rank, stream), path, 0,
                  /*follow=*/true, /*marks_end=*/false);
  };
  open(step.stdout_path, plan.stdout_path, "stdout");
  if (step.stdout_path.empty()) open(step.stderr_path, plan.stderr_path, "stderr");
}

void Agent::forget(const Json& list) {
  for (const Json& value : list) {
    const AttemptKey key = key_of(value);
    const auto found = held_.find(key);
    if (found == held_.end() || found->second->stage() != HeldAttempt::Stage::kEnded) continue;
    held_.erase(found);
    if (!options_.keeps_records) continue;
    std::error_code error;
    fs::rename(attempt_directory(key), options_.data_dir + "/finished/" + key.text(), error);
  }
}

void Agent::stop_all(std::function<void()> done) {
  stopped_ = std::move(done);
  orders_.reset();
  session_.clear();
  reconnect_timer_.cancel();
  heartbeat_timer_.cancel();
  for (const auto& [key, held] : held_) held->stop();
  check_stopped(telemetry::monotonic_us() + 3'000'000);
}

void Agent::check_stopped(std::int64_t deadline_us) {
  const bool over = std::all_of(held_.begin(), held_.end(), [](const auto& entry) {
    return entry.second->stage() == HeldAttempt::Stage::kEnded;
  });
  if (over) return stopped_();
  if (telemetry::monotonic_us() > deadline_us) {  // they had their chance
    for (const auto& [key, held] : held_) held->signal(SIGKILL, /*batch_only=*/false);
    deadline_us += 1'000'000;
  }
  stop_timer_ = loop_.after(std::chrono::milliseconds(5),
                            [this, deadline_us] { check_stopped(deadline_us); });
}

std::uint64_t Agent::placements_hash() const {
  Digest digest;
  for (const auto& [key, held] : held_) {
    if (held->stage() == HeldAttempt::Stage::kEnded) continue;
    digest.add(key.job.value);
    digest.add(key.attempt);
    digest.add(held->stage() == HeldAttempt::Stage::kStarted ? 2u : 1u);
  }
  return digest.value();
}

}  // namespace dove::agent
