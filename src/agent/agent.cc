#include "agent/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "agent/attempts/attempt_record.h"
#include "base/digest.h"
#include "codec/json.h"
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

constexpr std::size_t kLine_bytes = std::size_t{64} << 20;
// Each attempt has at most one; so many may hang before others wait for one.
constexpr std::size_t kSideThreads = 128;
constexpr std::chrono::seconds kForwardLook{10};  // at who listens
constexpr std::int64_t kStopGrace_us = 3'000'000;
constexpr std::int64_t kStopMax_us = 10'000'000;

std::vector<wire::ServerUrl> controllers(const AgentOptions& options) {
  std::vector<wire::ServerUrl> all = {{options.tls, options.host, options.port, ""}};
  const auto& others = options.other_controllers;
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentOptions options, Inventory inventory, Runner& runner)
    : loop_(loop),
      options_(std::move(options)),
      inventory_(std::move(inventory)),
      runner_(runner),
      side_(loop, kSideThreads),
      uplink_(loop, {options_.name, options_.data_dir, controllers(options_), options_.ca_file,
                     options_.authority_digest}),
      cutter_(options_.arrange, options_.keeps_records ? options_.data_dir + "/slices" : ""),
      allocator_(plugins(), options_.keeps_records ? options_.data_dir + "/plug-ins" : ""),
      jitter_(std::hash<std::string>{}(options_.name)) {
  facts_.node = options_.name;
  for (const wire::ServerUrl& url : controllers(options_)) {
    facts_.url +=
        fmt::format("{}{}://{}", facts_.url.empty() ? "" : ",", url.secure ? "https" : "http",
                    wire::Address{url.host, url.port}.text());
  }
  facts_.networks = options_.networks;
  if (options_.network_offer) {
    facts_.network_shortfall = [this] { return options_.network_offer().shortfall; };
  }
  facts_.bin_directory = options_.bin_directory;
  facts_.python_directory = options_.python_directory;
  facts_.stage_directory = options_.stage_directory;
  facts_.progress_directory = options_.data_dir + "/progress";
  facts_.shared_directory = options_.shared_directory;
  facts_.inventory = &inventory_;
  facts_.slices = &cutter_.slices();
  facts_.device_files = &device_files_;
  facts_.fabric = &fabric_;
  facts_.planes = options_.planes;
  facts_.allocator = &allocator_;
  facts_.shares = options_.shares;
  relays_ = std::make_unique<Relays>(loop_, options_.name, [this] { return relay_line(); });
}

Agent::~Agent() = default;

DeviceAllocator::Plugins Agent::plugins() {
  DeviceAllocator::Plugins plugins = options_.plugins;
  plugins.lives = [this](AttemptKey key) {
    const auto found = held_.find(key);
    return found != held_.end() && found->second->stage() != HeldAttempt::Stage::kEnded;
  };
  plugins.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
    return loop_.after(wait, std::move(call));
  };
  return plugins;
}

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
  if (options_.mapped_users) {  // tasks pass through to what is theirs
    for (const std::string& path : {options_.data_dir, options_.data_dir + "/attempts"}) {
      fs::permissions(path, fs::perms::others_exec, fs::perm_options::add, error);
    }
  }
  TRY_ASSIGN(Contact contact, Contact::open(options_.data_dir + "/contact", options_.former_wait));
  contact_.emplace(std::move(contact));
  contact_->begin_boot(options_.boot_id);
  if (contact_->fence_us() > 0) {
    fence_us_ = contact_->fence_us();
    disconnect_grace_us_ = contact_->disconnect_grace_us();
  }
  if (options_.keeps_records) {
    fs::permissions(options_.data_dir + "/finished", fs::perms::owner_all, error);
    finished_.emplace(loop_, options_.data_dir + "/finished", options_.finished);
    finished_->start();
  }
  agent_token_ = read_text(options_.data_dir + "/agent_token");
  TRY(uplink_.open());
  facts_.authority_path = uplink_.authority_path();
  if (options_.keeps_records) {
    facts_.secrets_place = secrets_place(options_.data_dir, options_.memory_directory);
  }
  load_attempts();
  health_ = std::make_unique<Health>(loop_, options_.health, [this](protocol::Report said) {
    reports_.push_back(std::move(said));
    post_flush(0);
  });
  if (options_.watches_health) health_->start();
  if (options_.keeps_records && options_.progress_every.count() > 0) watch_progress();
  if (options_.keeps_records) watch_use();
  if (options_.has_ring && !uplink_.secure()) listen_for_rings();
  renew();
  look_at_networks();
  connect();
  return {};
}

// While nobody listens nothing is kept: what comes next says it all again.
void Agent::watch_progress() {
  progress_ = std::make_unique<ProgressWatch>(
      loop_, facts_.progress_directory, options_.progress_every,
      [this] {
        std::vector<ProgressWatch::Held> all;
        for (const auto& [key, held] : held_) {
          if (held->stage() == HeldAttempt::Stage::kEnded) continue;
          const LaunchOrder& order = held->order();
          const bool contained = !order.exec.container.image.empty();
          std::vector<Rank> ranks;
          for (const TaskGrant& task : order.placement.tasks) ranks.push_back(task.rank);
          all.push_back({key, progress_prefix(order),
                         contained ? own_progress_directory(held->directory()) : "",
                         std::move(ranks)});
        }
        return all;
      },
      [this](protocol::Progress said) {
        if (session_.empty()) return;
        reports_.emplace_back(std::move(said));
        post_flush(0);
      });
  progress_->start(options_.mapped_users);
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
  context.report = [this](protocol::Report said) { report(std::move(said)); };
  context.step_output = [this](const StepAttach& step, const StepTaskOutput& output) {
    step_output(step, output);
  };
  context.wall_us = [this] { return loop_.wall_us(); };
  if (options_.keeps_records) {
    context.meet = [this, key = order.key](Needs needs, std::function<void(Result<void>)> done) {
      meet(key, std::move(needs), std::move(done));
    };
  }
  context.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
    return loop_.after(wait, std::move(call));
  };
  context.step_input = [this](const StepOrder& step, std::function<void()> on_end) {
    return step_input(step, std::move(on_end));
  };
  context.ask_secrets = [this, key = order.key](auto done) {
    ask_secrets(key, 0, std::move(done));
  };
  context.exec_host = {options_.keeps_records ? &loop_ : nullptr, &runner_,
                       [this](const std::string& id, wire::WebSocketCallbacks callbacks) {
                         return dial_exec(id, std::move(callbacks));
                       }};
  context.forward_host = {context.exec_host.loop, context.exec_host.dial,
                          [this, lane = order.key.text() + ".forward"](
                              std::function<void()> work, std::function<void(bool)> done) {
                            side_.run(lane, kForwardLook, std::move(work), std::move(done));
                          }};
  context.output_over = [this](const std::string& path) { relays_->finish(path); };
  const AttemptKey key = order.key;
  auto held =
      std::make_unique<HeldAttempt>(std::move(context), attempt_directory(key), std::move(order));
  HeldAttempt& reference = *held;
  held_[key] = std::move(held);
  return reference;
}

void Agent::on_line(std::string_view text) {
  const auto unreadable = [](const Error& why) {
    telemetry::log(telemetry::Level::kError, "order_unreadable", {{"why", why.message}});
  };
  const Result<Json> line = codec::parse_json(text, kLine_bytes);
  if (!line.ok()) return unreadable(line.error());
  if (line->contains("order")) return on_order(*line, std::string(text));
  const Result<protocol::Control> control = protocol::read_control(*line);
  if (!control.ok()) return unreadable(control.error());
  on_control(*control);
}

void Agent::on_order(const Json& line, std::string text) {
  const Result<protocol::Order> read = protocol::read_order(line);
  if (!read.ok()) {
    telemetry::log(telemetry::Level::kError, "order_unreadable", {{"why", read.error().message}});
    return;
  }
  const protocol::Order& order = *read;
  const AttemptKey key = order.key;
  contact_->saw(order.epoch.value, order.seq.value, order.proof);
  if (order.epoch.value < contact_->epoch()) {
    return refuse(key, fmt::format("an order of epoch {}, when epoch {} has begun",
                                   order.epoch.value, contact_->epoch()));
  }
  switch (order.kind) {
    case protocol::OrderKind::kLaunch:
      launch(key, line, std::move(text));
      break;
    case protocol::OrderKind::kStart:
      pass_barrier(key);
      break;
    case protocol::OrderKind::kStop:
      stop(key, order.reason == "preempted", std::chrono::milliseconds(order.after_ms));
      break;
    case protocol::OrderKind::kTest:
      health_->test();
      break;
    case protocol::OrderKind::kRemedy:
      health_->remedy(order.remedy);
      break;
  }
  applied_ = std::max(applied_, order.seq.value);
}

void Agent::pass_barrier(AttemptKey key) {
  const auto found = held_.find(key);
  if (found == held_.end()) {
    // The hash in the next heartbeat shows that it is not here.
    telemetry::log(telemetry::Level::kWarning, "start_of_unknown", {{"attempt", key.text()}});
  } else if (found->second->stage() <= HeldAttempt::Stage::kPrepared) {
    found->second->start();
  } else {
    found->second->repeat_report();
  }
}

void Agent::found(Finding finding) {
  if (health_ != nullptr) health_->found(std::move(finding));
}

void Agent::refuse(AttemptKey key, const std::string& why) {
  telemetry::log(telemetry::Level::kWarning, "order_refused",
                 {{"attempt", key.text()}, {"why", why}});
  report(protocol::OrderRefused{key, why});
}

void Agent::tell_warnings(const HeldAttempt& held) {
  const std::set<std::string> warnings = held.warnings();
  if (warnings.empty() || session_.empty()) return;
  reports_.emplace_back(protocol::Warnings{held.order().key, {warnings.begin(), warnings.end()}});
}

void Agent::launch(AttemptKey key, const Json& line, std::string text) {
  if (const auto found = held_.find(key); found != held_.end()) {
    if (found->second->was_interrupted()) return found->second->start();
    return found->second->repeat_report();
  }
  const bool under_way =
      cutter_.is_under_way(key) || allocator_.is_under_way(key) || preflights_.count(key) > 0;
  if (under_way) return;
  // What this node offers now holds for the attempt, whatever it offers when we start again.
  Result<LaunchOrder> order = read_launch_order(line, offers_networks());
  if (!order.ok()) return report(protocol::LaunchRefused{key, order.error().message});
  if (order->preflight) return try_and_launch(std::move(order).value(), std::move(text));
  begin_launch(std::move(order).value(), std::move(text));
}

void Agent::begin_launch(LaunchOrder order, std::string text) {
  if (cutter_.needs(order.placement)) return cut_and_launch(std::move(order), std::move(text));
  allocate_and_launch(std::move(order), std::move(text));
}

// What plug-ins say is asked for first; until they have, the attempt is held by nobody.
void Agent::allocate_and_launch(LaunchOrder order, std::string text) {
  if (stopped_) return;
  if (!allocator_.needs(order.placement, inventory_)) return hold(std::move(order)).launch(text);
  const AttemptKey key = order.key;
  const Placement placement = order.placement;
  allocator_.allocate(
      key, placement, inventory_,
      [this, order = std::move(order), text = std::move(text)](const Result<void>& allocated) {
        if (stopped_) return;
        if (allocated.ok()) return hold(order).launch(text);
        report(protocol::LaunchRefused{order.key, allocated.error().message});
      });
}

// Until the cutting is done the attempt is held by nobody: its order comes again if we die.
void Agent::cut_and_launch(LaunchOrder order, std::string text) {
  std::vector<const Placement*> others;
  for (const auto& [key, held] : held_) {
    if (held->stage() != HeldAttempt::Stage::kEnded) others.push_back(&held->order().placement);
  }
  const AttemptKey key = order.key;
  const Placement placement = order.placement;
  cutter_.cut(key, placement, others,
              [this, order = std::move(order), text = std::move(text)](const Result<void>& cut) {
                if (cut.ok()) return allocate_and_launch(order, text);
                report(protocol::LaunchRefused{order.key, cut.error().message});
              });
}

void Agent::stop(AttemptKey key, bool preempted, std::chrono::milliseconds grace) {
  cutter_.drop(key);
  allocator_.drop(key);
  preflights_.erase(key);
  const auto found = held_.find(key);
  if (found == held_.end()) {
    report(protocol::Ended{key, {}});  // nothing of it is here
  } else if (found->second->stage() == HeldAttempt::Stage::kEnded) {
    found->second->repeat_report();
  } else if (preempted) {
    found->second->preempt();
  } else {
    found->second->stop_in(grace);
  }
}

void Agent::on_control(const protocol::Control& line) {
  if (line.ping.has_value()) contact_->saw(line.epoch.value, line.ping->value, line.proof);
  if (line.bye) contact_->outage(outage_from_us());
  forget(line.forget);
  if (line.signal.has_value()) signal(*line.signal);
  if (line.step.has_value()) start_step(*line.step);
  if (line.step_attach.has_value()) attach_step(*line.step_attach);
  if (line.exec.has_value()) exec(*line.exec);
  if (line.forward.has_value()) forward(*line.forward);
  if (line.relay.has_value()) open_relay(*line.relay);
  if (line.relay_end.has_value()) relays_->close(line.relay_end->id);
}

void Agent::signal(const protocol::Signal& signal) {
  const auto found = held_.find(signal.key);
  if (found == held_.end()) return;
  if (signal.step.has_value()) return found->second->stop_step(*signal.step, signal.number);
  found->second->signal(signal);
}

void Agent::start_step(const StepOrder& step) {
  const auto found = held_.find(step.key);
  if (found != held_.end()) return found->second->start_step(step);
  protocol::StepOver over{step.key, step.step, {}};
  for (const TaskGrant& task : step.tasks) {
    over.exits.push_back(TaskExit{task.rank, 127, 0, "start_failed: the job is not here"});
  }
  report(std::move(over));
}

void Agent::forget(const std::vector<AttemptKey>& list) {
  for (const AttemptKey key : list) {
    secret_timers_.erase(key);
    const auto found = held_.find(key);
    if (found == held_.end() || found->second->stage() != HeldAttempt::Stage::kEnded) continue;
    held_.erase(found);
    if (!options_.keeps_records) continue;
    const std::string kept = options_.data_dir + "/finished/" + key.text();
    std::error_code error;
    if (!facts_.stage_directory.empty()) {
      side_.run(
          key.text(),
          [stage = stage_of(facts_, key)] {
            std::error_code ignored;
            fs::remove_all(stage, ignored);
          },
          nullptr);
    }
    fs::rename(attempt_directory(key), kept, error);
    if (error) {
      fs::remove_all(kept, error);  // of a former cluster's job of that number
      fs::rename(attempt_directory(key), kept, error);
    }
    if (error) {
      fs::remove_all(attempt_directory(key), error);
    } else {
      relays_->moved(attempt_directory(key), kept);
    }
  }
}

void Agent::stop_all(std::function<void(bool over)> done) {
  stopped_ = std::move(done);
  orders_.reset();
  silent_orders_.reset();
  preflights_.clear();
  session_.clear();
  ++session_number_;
  silence_timer_.cancel();
  reconnect_timer_.cancel();
  heartbeat_timer_.cancel();
  for (const auto& [key, held] : held_) held->leave();
  check_stopped(loop_.monotonic_us(), kStopGrace_us);
}

void Agent::check_stopped(std::int64_t since_us, std::int64_t kill_after_us) {
  const bool over = std::none_of(held_.begin(), held_.end(),
                                 [](const auto& entry) { return entry.second->runs(); });
  const std::int64_t waited_us = loop_.monotonic_us() - since_us;
  if (over || waited_us > kStopMax_us) return stopped_(over);
  if (waited_us > kill_after_us) {  // they had their chance
    protocol::Signal kill;
    kill.number = SIGKILL;
    for (const auto& [key, held] : held_) held->signal(kill);
    kill_after_us += 1'000'000;
  }
  stop_timer_ = loop_.after(std::chrono::milliseconds(5), [this, since_us, kill_after_us] {
    check_stopped(since_us, kill_after_us);
  });
}

std::uint64_t Agent::placements_hash() const {
  std::map<AttemptKey, unsigned> stages;
  for (const auto& [key, preflight] : preflights_) stages[key] = 1;
  for (const AttemptKey key : allocator_.under_way()) stages[key] = 1;
  for (const auto& [key, held] : held_) {
    if (held->stage() == HeldAttempt::Stage::kEnded) continue;
    stages[key] = held->stage() == HeldAttempt::Stage::kStarted ? 2 : 1;
  }
  Digest digest;
  for (const auto& [key, stage] : stages) {
    digest.add(key.job.value);
    digest.add(key.attempt);
    digest.add(stage);
  }
  return digest.value();
}

}  // namespace dove::agent
