#include "agent/attempts/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/attempts/attempt_record.h"
#include "agent/attempts/remembered.h"
#include "base/digest.h"
#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kOrder_bytes = std::size_t{64} << 20;
constexpr std::chrono::seconds kForwardLook{10};  // at who listens
constexpr std::int64_t kStopGrace_us = 3'000'000;
constexpr std::int64_t kStopMax_us = 10'000'000;
constexpr std::size_t kEndsMax = 1000;  // that a restored log hears of again

protocol::ActivePlacement placement_of(const ActiveAttempt& attempt) {
  protocol::ActivePlacement out;
  out.key = attempt.order().key;
  out.exits = attempt.exits();
  out.started_ago_us = attempt.started_ago_us();
  switch (attempt.stage()) {
    case ActiveAttempt::Stage::kPreparing:
    case ActiveAttempt::Stage::kPrepared:
      break;
    case ActiveAttempt::Stage::kStarted:
      out.stage = protocol::ActiveStage::kStarted;
      break;
    case ActiveAttempt::Stage::kEnded:
      out.stage = protocol::ActiveStage::kEnded;
      break;
  }
  if (const auto* ended = std::get_if<protocol::Ended>(&attempt.last_report())) {
    out.cpu_us = ended->cpu_us;
    out.memory_peak_bytes = ended->memory_peak_bytes;
  }
  if (const auto* refused = std::get_if<protocol::LaunchRefused>(&attempt.last_report())) {
    out.launch_failed = refused->why;
  }
  return out;
}

// Whose files a task's output may be: anybody's where the task may read all that the agent may.
std::optional<std::string> owner_of(const LaunchOrder& order, bool mapped_users) {
  const bool is_users = mapped_users && order.run_as != RunAs::kAgent;
  return is_users ? std::optional(order.linux_user) : std::nullopt;
}

}  // namespace

Attempts::Attempts(wire::Loop& loop, Options options, const AgentFacts& facts, Runner& runner,
                   SideThreads& side, TaskStreams& streams, SecretRequests& secrets,
                   ReportQueue& reports)
    : loop_(loop),
      options_(std::move(options)),
      facts_(facts),
      runner_(runner),
      side_(side),
      streams_(streams),
      secrets_(secrets),
      reports_(reports) {}

std::string Attempts::directory(AttemptKey key) const {
  return options_.data_dir + "/attempts/" + key.text();
}

AttemptContext Attempts::context(AttemptKey key) {
  AttemptContext context;
  context.facts = &facts_;
  context.runner = &runner_;
  context.mapped_users = options_.mapped_users;
  context.keeps_records = options_.keeps_records;
  context.output_rotate_bytes = options_.output_rotate_bytes;
  context.report = [this](protocol::Report said) { report(std::move(said)); };
  context.step_output = [this](const StepAttach& step, const StepTaskOutput& output) {
    streams_.open_step(step, output, [attempt = find(step.key)](const std::string& path) {
      return attempt != nullptr && attempt->writes_to(path);
    });
  };
  context.wall_us = [this] { return loop_.wall_us(); };
  if (options_.keeps_records) {
    context.meet = [this, key](Needs needs, std::function<void(Result<void>)> done) {
      meet(key, std::move(needs), std::move(done));
    };
  }
  context.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
    return loop_.after(wait, std::move(call));
  };
  context.step_input = [this](const StepOrder& step, std::function<void()> on_end) {
    return streams_.input(step, std::move(on_end));
  };
  context.ask_secrets = [this, key](auto done) {
    const auto wanted = [this, key] {
      const ActiveAttempt* attempt = find(key);
      return attempt != nullptr && !attempt->stopping();
    };
    secrets_.ask(key, wanted, std::move(done));
  };
  context.exec_host = {options_.keeps_records ? &loop_ : nullptr, &runner_,
                       [this](const std::string& id, wire::WebSocketCallbacks callbacks) {
                         return streams_.dial(id, std::move(callbacks));
                       }};
  context.forward_host = {context.exec_host.loop, context.exec_host.dial,
                          [this, lane = key.text() + ".forward"](std::function<void()> work,
                                                                 std::function<void(bool)> done) {
                            side_.run(lane, kForwardLook, std::move(work), std::move(done));
                          }};
  context.output_over = [this](const std::string& path) { streams_.finish(path); };
  return context;
}

ActiveAttempt& Attempts::hold(LaunchOrder order) {
  const AttemptKey key = order.key;
  auto attempt = std::make_unique<ActiveAttempt>(context(key), directory(key), std::move(order));
  ActiveAttempt& reference = *attempt;
  active_[key] = std::move(attempt);
  return reference;
}

void Attempts::launch(LaunchOrder order, const std::string& text) {
  if (!stopped_) hold(std::move(order)).launch(text);
}

ActiveAttempt* Attempts::find(AttemptKey key) const {
  const auto found = active_.find(key);
  return found == active_.end() ? nullptr : found->second.get();
}

std::vector<ActiveAttempt*> Attempts::living() const {
  std::vector<ActiveAttempt*> all;
  for (const auto& [key, attempt] : active_) {
    if (attempt->stage() != ActiveAttempt::Stage::kEnded) all.push_back(attempt.get());
  }
  return all;
}

bool Attempts::lives(AttemptKey key) const {
  const ActiveAttempt* attempt = find(key);
  return attempt != nullptr && attempt->stage() != ActiveAttempt::Stage::kEnded;
}

bool Attempts::repeat(AttemptKey key) {
  ActiveAttempt* const attempt = find(key);
  if (attempt == nullptr) return false;
  attempt->was_interrupted() ? attempt->start() : attempt->repeat_report();
  return true;
}

void Attempts::pass_barrier(AttemptKey key, const std::optional<Placement>& given) {
  ActiveAttempt* const attempt = find(key);
  if (attempt == nullptr) {
    // The hash in the next heartbeat shows that it is not here.
    telemetry::log(telemetry::Level::kWarning, "start_of_unknown", {{"attempt", key.text()}});
  } else if (attempt->stage() <= ActiveAttempt::Stage::kPrepared) {
    if (given) attempt->take_place(*given);
    attempt->start();
  } else {
    attempt->repeat_report();
  }
}

void Attempts::stop(AttemptKey key, bool preempted, std::chrono::milliseconds grace) {
  ActiveAttempt* const attempt = find(key);
  if (attempt == nullptr) {
    report(protocol::Ended{key, {}});  // nothing of it is here
  } else if (attempt->stage() == ActiveAttempt::Stage::kEnded) {
    attempt->repeat_report();
  } else if (preempted) {
    attempt->preempt();
  } else {
    attempt->stop_in(grace);
  }
}

void Attempts::signal(const protocol::Signal& signal) {
  ActiveAttempt* const attempt = find(signal.key);
  if (attempt == nullptr) return;
  if (signal.step.has_value()) return attempt->stop_step(*signal.step, signal.number);
  attempt->signal(signal);
}

void Attempts::start_step(const StepOrder& step) {
  if (ActiveAttempt* const attempt = find(step.key)) return attempt->start_step(step);
  protocol::StepOver over{step.key, step.step, {}};
  for (const TaskGrant& task : step.tasks) {
    over.exits.push_back(TaskExit{task.rank, 127, 0, "start_failed: the job is not here"});
  }
  report(std::move(over));
}

void Attempts::attach_step(const StepAttach& attach) {
  if (ActiveAttempt* const attempt = find(attach.key)) return attempt->attach_step(attach);
  protocol::StepOver over{attach.key, attach.step, {}};
  for (const Rank rank : attach.ranks) over.exits.push_back(TaskExit{rank, 1, 0, "step_lost"});
  report(std::move(over));
}

void Attempts::exec(const ExecOrder& order) {
  const Result<void> checked = check(order);
  ActiveAttempt* const attempt = checked.ok() ? find(order.key) : nullptr;
  if (attempt != nullptr) return attempt->exec(order);
  telemetry::log(telemetry::Level::kWarning, "exec_refused",
                 {{"why", checked.ok() ? "the job is not here" : checked.error().message}});
}

void Attempts::forward(const ForwardOrder& order) {
  const Result<void> checked = check(order);
  ActiveAttempt* const attempt = checked.ok() ? find(order.key) : nullptr;
  if (attempt != nullptr) return attempt->forward(order);
  telemetry::log(telemetry::Level::kWarning, "forward_refused",
                 {{"why", checked.ok() ? "the job is not here" : checked.error().message}});
}

// Only now may what is on disk of it leave its place: the controller would not hear of its end from
// a restarted agent otherwise.
void Attempts::forget(AttemptKey key) {
  secrets_.forget(key);
  const auto found = active_.find(key);
  if (found == active_.end() || found->second->stage() != ActiveAttempt::Stage::kEnded) return;
  active_.erase(found);
  if (!options_.keeps_records) return;
  if (!facts_.stage_directory.empty()) {
    side_.run(
        key.text(),
        [stage = stage_of(facts_, key)] {
          std::error_code ignored;
          fs::remove_all(stage, ignored);
        },
        nullptr);
  }
  const Result<void> dropped = drop_environment(directory(key));
  if (!dropped.ok()) {
    telemetry::log(telemetry::Level::kWarning, "environment_kept",
                   {{"attempt", key.text()}, {"why", dropped.error().message}});
  }
  const std::string kept = options_.data_dir + "/finished/" + key.text();
  std::error_code error;
  fs::rename(directory(key), kept, error);
  if (error) {
    fs::remove_all(kept, error);  // of a former cluster's job of that number
    fs::rename(directory(key), kept, error);
  }
  if (error) {
    fs::remove_all(directory(key), error);
  } else {
    streams_.moved(directory(key), kept);
  }
}

Relays::Source Attempts::output(const protocol::RelayOrder& relay) const {
  const bool is_stdout = relay.stream == "stdout";
  Relays::Source source;
  source.offset = relay.offset;
  if (ActiveAttempt* const attempt = find(relay.key)) {
    source.path = attempt->output_file(relay.rank, is_stdout);
    source.owner = owner_of(attempt->order(), options_.mapped_users);
    source.follow = !source.path.empty() && relay.follow && attempt->writes_to(source.path);
  } else {
    source.path = finished_output(relay.key, relay.rank, is_stdout, source.owner);
  }
  if (relay.apart && !is_stdout && is_one_file(relay.key, relay.rank, source.path)) {
    source.path.clear();
    source.follow = false;
  }
  return source;
}

// Whether that is where the task's standard output goes as well.
bool Attempts::is_one_file(AttemptKey key, Rank rank, const std::string& path) const {
  std::optional<std::string> ignored;
  ActiveAttempt* const attempt = find(key);
  return path == (attempt == nullptr ? finished_output(key, rank, true, ignored)
                                     : attempt->output_file(rank, true));
}

// The output of an attempt that is over is where its order said, or in its directory, now moved.
std::string Attempts::finished_output(AttemptKey key, Rank rank, bool is_stdout,
                                      std::optional<std::string>& owner) const {
  const std::string directory = options_.data_dir + "/finished/" + key.text();
  const AttemptOnDisk kept = read_attempt(directory);
  Result<Json> line = codec::parse_json(kept.order, kOrder_bytes);
  if (!line.ok()) return "";
  Result<LaunchOrder> order = read_launch_order(*line, kept.has_network);
  if (!order.ok() || order->key != key) return "";
  owner = owner_of(*order, options_.mapped_users);
  AttemptContext context;
  context.facts = &facts_;
  context.runner = &runner_;
  return ActiveAttempt(std::move(context), directory, std::move(order).value())
      .output_file(rank, is_stdout);
}

void Attempts::describe(protocol::Sync& sync, bool brings_ends) const {
  for (const auto& [key, attempt] : active_) {
    sync.placements.push_back(placement_of(*attempt));
    for (const std::int32_t step : attempt->steps()) {
      sync.steps.push_back({key.job, key.attempt, step});
    }
  }
  if (!brings_ends) return;
  for (auto& end : remembered_ends(options_.data_dir + "/finished", kEndsMax)) {
    if (!active_.contains(end.key)) sync.placements.push_back(std::move(end));
  }
}

// The controller makes the same digest of what its ledger wants here, and asks for a sync where
// they differ. Ends are not in it: they are told, and the ledger drops them as it hears of them.
std::uint64_t Attempts::placements_hash(const std::vector<AttemptKey>& also) const {
  std::map<AttemptKey, unsigned> stages;
  for (const AttemptKey key : also) stages[key] = 1;
  for (const ActiveAttempt* attempt : living()) {
    stages[attempt->order().key] = attempt->stage() == ActiveAttempt::Stage::kStarted ? 2 : 1;
  }
  Digest digest;
  for (const auto& [key, stage] : stages) {
    digest.add(key.job.value);
    digest.add(key.attempt);
    digest.add(stage);
  }
  return digest.value();
}

void Attempts::session_began() {
  for (const auto& [key, attempt] : active_) {
    // The ledger still wants what it did not stop: had it not, its orders would have said so.
    if (attempt->was_interrupted()) attempt->start();
    if (attempt->stage() == ActiveAttempt::Stage::kStarted) tell_shares_and_warnings(*attempt);
  }
}

void Attempts::report(protocol::Report said) {
  using When = ReportQueue::When;
  const bool is_end = std::holds_alternative<protocol::Ended>(said) ||
                      std::holds_alternative<protocol::TaskOver>(said);
  if (is_end && before_end_) {
    // Only gangs blame links. What ended may be of a former process of the agent's.
    const ActiveAttempt* attempt = find(*protocol::key_of(said));
    if (attempt != nullptr && attempt->order().nodes.size() > 1) before_end_(attempt->order().key);
  }
  if (const auto* over = std::get_if<protocol::StepOver>(&said)) {
    // The step's client hears of the end after its output.
    const bool waits = streams_.after_output(over->key, over->step, [this, said] {
      // A client that comes back to the step asks for it again (ActiveAttempt::attach_step).
      if (reports_.is_open()) reports_.add(said, When::kNow);
    });
    if (waits) return;
  }
  const auto* started = std::get_if<protocol::Started>(&said);
  if (started == nullptr) return reports_.add(std::move(said));
  if (const ActiveAttempt* attempt = find(started->key)) tell_shares_and_warnings(*attempt);
  reports_.add(std::move(said), When::kStarted);
}

// The controller keeps neither: they are sent anew in each session, and without one not at all.
void Attempts::tell_shares_and_warnings(const ActiveAttempt& attempt) {
  using When = ReportQueue::When;
  if (!reports_.is_open()) return;
  const AttemptKey key = attempt.order().key;
  if (!attempt.shares().empty()) {
    reports_.add(protocol::Shares{key, attempt.shares()}, When::kNextMessage);
  }
  const std::set<std::string> warnings = attempt.warnings();
  if (warnings.empty()) return;
  reports_.add(protocol::Warnings{key, {warnings.begin(), warnings.end()}}, When::kNextMessage);
}

void Attempts::stop_all(std::function<void(bool over)> done) {
  stopped_ = std::move(done);
  for (const auto& [key, attempt] : active_) attempt->leave();
  check_stopped(loop_.monotonic_us(), kStopGrace_us);
}

void Attempts::check_stopped(std::int64_t since_us, std::int64_t kill_after_us) {
  const bool over = std::none_of(active_.begin(), active_.end(),
                                 [](const auto& entry) { return entry.second->runs(); });
  const std::int64_t waited_us = loop_.monotonic_us() - since_us;
  if (over || waited_us > kStopMax_us) return stopped_(over);
  if (waited_us > kill_after_us) {  // they had their chance
    protocol::Signal kill;
    kill.number = SIGKILL;
    for (const auto& [key, attempt] : active_) attempt->signal(kill);
    kill_after_us += 1'000'000;
  }
  stop_timer_ = loop_.after(std::chrono::milliseconds(5), [this, since_us, kill_after_us] {
    check_stopped(since_us, kill_after_us);
  });
}

}  // namespace dove::agent
