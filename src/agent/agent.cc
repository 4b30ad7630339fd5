#include "agent/agent.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "agent/attempts/attempt_record.h"
#include "agent/attempts/own_directory.h"
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
constexpr std::int64_t kStopGrace_us = 3'000'000;
constexpr std::int64_t kStopMax_us = 10'000'000;

AttemptKey key_of(const Json& value) {
  return {JobId(value.value("job", std::uint64_t{0})), value.value("attempt", AttemptNumber{0})};
}

}  // namespace

Agent::Agent(wire::Loop& loop, AgentOptions options, Inventory inventory, Runner& runner)
    : loop_(loop),
      options_(std::move(options)),
      inventory_(std::move(inventory)),
      runner_(runner),
      client_(loop, options_.host, options_.port),
      cutter_(options_.arrange, options_.keeps_records ? options_.data_dir + "/slices" : ""),
      allocator_(plugins(), options_.keeps_records ? options_.data_dir + "/plug-ins" : ""),
      jitter_(std::hash<std::string>{}(options_.name)) {
  facts_.node = options_.name;
  facts_.url = fmt::format("http://{}:{}", options_.host, options_.port);
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
  load_attempts();
  health_ = std::make_unique<Health>(loop_, options_.health, [this](const Json& said) {
    reports_.push_back(codec::dump_json(said));
    post_flush(0);
  });
  if (options_.watches_health) health_->start();
  if (options_.keeps_records && options_.progress_every.count() > 0) watch_progress();
  if (options_.has_ring) listen_for_rings();
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
          all.push_back({key, progress_prefix(order),
                         contained ? own_progress_directory(held->directory()) : ""});
        }
        return all;
      },
      [this](const Json& said) {
        if (session_.empty()) return;
        reports_.push_back(codec::dump_json(said));
        post_flush(0);
      });
  progress_->start(options_.mapped_users);
}

std::string Agent::attempt_directory(AttemptKey key) const {
  return options_.data_dir + "/attempts/" + key.text();
}

// Where the job saves its work: its user's from the beginning, as it may not make it itself. A
// container's are made with the container.
void Agent::make_checkpoint_places(const LaunchOrder& order) const {
  if (!options_.keeps_records || !order.exec.container.image.empty()) return;
  const bool is_mapped = options_.mapped_users && order.run_as != RunAs::kAgent;
  const passwd* owner = is_mapped ? getpwnam(order.linux_user.c_str()) : getpwuid(geteuid());
  std::vector<fs::path> places;
  if (!facts_.stage_directory.empty()) places.emplace_back(stage_of(facts_, order.key));
  if (options_.mapped_users) places.emplace_back(checkpoints_of(facts_, order.key.job));
  for (const fs::path& path : places) {
    std::string why = "its Linux user is not known here";
    if (owner != nullptr) {
      const auto made =
          make_own_directory(path.parent_path(), path.filename(), owner->pw_uid, owner->pw_gid);
      if (made.ok()) continue;
      why = made.error().message;
    }
    telemetry::log(telemetry::Level::kWarning, "no_checkpoints",
                   {{"path", path.string()}, {"attempt", order.key.text()}, {"why", why}});
  }
}

HeldAttempt& Agent::hold(LaunchOrder order) {
  make_checkpoint_places(order);
  HeldContext context;
  context.facts = &facts_;
  context.runner = &runner_;
  context.mapped_users = options_.mapped_users;
  context.keeps_records = options_.keeps_records;
  context.output_rotate_bytes = options_.output_rotate_bytes;
  context.report = [this](Report said) { report(std::move(said)); };
  context.step_output = [this](const StepAttach& step, const StepTaskOutput& output) {
    step_output(step, output);
  };
  context.wall_us = [this] { return loop_.wall_us(); };
  context.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
    return loop_.after(wait, std::move(call));
  };
  context.step_input = [this](const StepOrder& step, std::function<void()> on_end) {
    return step_input(step, std::move(on_end));
  };
  context.exec_host = {options_.keeps_records ? &loop_ : nullptr, &runner_,
                       [this](const std::string& id, wire::WebSocketCallbacks callbacks) {
                         return dial_exec(id, std::move(callbacks));
                       }};
  context.output_over = [this](const std::string& path) { relays_->finish(path); };
  const AttemptKey key = order.key;
  auto held =
      std::make_unique<HeldAttempt>(std::move(context), attempt_directory(key), std::move(order));
  HeldAttempt& reference = *held;
  held_[key] = std::move(held);
  return reference;
}

void Agent::load_attempts() {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.data_dir + "/attempts", error)) {
    found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) load_attempt(path.string());
}

// The order is written before anything starts: without one, nothing was started. With one that
// cannot be read (another version's), what was started is ended.
void Agent::load_attempt(const std::string& directory) {
  const std::optional<AttemptKey> key = read_key(fs::path(directory).filename().string());
  std::error_code error;
  const std::string text = read_attempt(directory).order;
  if (!key.has_value() || text.empty()) {
    telemetry::log(telemetry::Level::kWarning, "attempt_without_order", {{"directory", directory}});
    if (key.has_value()) fs::remove_all(directory, error);
    return;
  }
  Result<LaunchOrder> order = Error{ErrorKind::kCorrupt, "order", "is not JSON", ""};
  if (Result<Json> line = codec::parse_json(text, kLine_bytes); line.ok()) {
    order = read_launch_order(*line);
  }
  if (order.ok() && order->key == *key) return hold(std::move(order).value()).resume();
  telemetry::log(telemetry::Level::kError, "attempt_order_unreadable",
                 {{"directory", directory}, {"why", order.ok() ? "" : order.error().message}});
  LaunchOrder unknown;
  unknown.key = *key;
  HeldAttempt& held = hold(std::move(unknown));
  held.resume();
  held.stop();
}

void Agent::on_line(std::string_view text) {
  Result<Json> line = codec::parse_json(text, kLine_bytes);
  if (!line.ok()) {
    telemetry::log(telemetry::Level::kError, "order_unreadable", {{"why", line.error().message}});
    return;
  }
  try {
    see(*line);
    if (line->contains("order")) {
      on_order(*line, text);
    } else {
      on_control(*line);
    }
  } catch (const Json::exception& e) {
    telemetry::log(telemetry::Level::kError, "order_unreadable", {{"why", e.what()}});
  }
}

void Agent::on_order(const Json& line, std::string_view text) {
  const auto epoch = line.value("epoch", std::uint64_t{0});
  const AttemptKey key = key_of(line);
  if (epoch < contact_->epoch()) {
    return refuse(key, fmt::format("an order of epoch {}, when epoch {} has begun", epoch,
                                   contact_->epoch()));
  }
  const std::string what = line.value("order", "");
  if (what == "launch") {
    launch(line, text);
  } else if (what == "start") {
    const auto found = held_.find(key);
    if (found == held_.end()) {
      // The hash in the next heartbeat shows that it is not here.
      telemetry::log(telemetry::Level::kWarning, "start_of_unknown", {{"attempt", key.text()}});
    } else if (found->second->stage() == HeldAttempt::Stage::kPrepared) {
      found->second->start();
    } else {
      found->second->repeat_report();
    }
  } else if (what == "test") {
    health_->test();
  } else if (what == "remedy") {
    health_->remedy(line.value("remedy", ""));
  } else if (what == "stop") {
    stop(key, line.value("reason", "") == "preempted",
         std::chrono::milliseconds(line.value("after_ms", std::int64_t{0})));
  }
  applied_ = std::max(applied_, line.value("seq", std::uint64_t{0}));
}

void Agent::found(Finding finding) {
  if (health_ != nullptr) health_->found(std::move(finding));
}

void Agent::refuse(AttemptKey key, const std::string& why) {
  telemetry::log(telemetry::Level::kWarning, "order_refused",
                 {{"attempt", key.text()}, {"why", why}});
  report(Report{ReportKind::kRefused, key, {}, why, 0, 0, 0});
}

void Agent::tell_warnings(const HeldAttempt& held) {
  const std::set<std::string> warnings = held.warnings();
  if (warnings.empty() || session_.empty()) return;
  const AttemptKey key = held.order().key;
  reports_.push_back(codec::dump_json(Json{{"kind", "warnings"},
                                           {"job", key.job.value},
                                           {"attempt", key.attempt},
                                           {"warnings", warnings}}));
}

void Agent::launch(const Json& line, std::string_view text) {
  const AttemptKey key = key_of(line);
  if (const auto found = held_.find(key); found != held_.end()) {
    if (found->second->was_interrupted()) return found->second->start();
    return found->second->repeat_report();
  }
  const bool under_way =
      cutter_.is_under_way(key) || allocator_.is_under_way(key) || preflights_.count(key) > 0;
  if (under_way) return;
  // What this node offers now holds for the attempt, whatever it offers when we start again.
  const bool offered = offers_networks();
  std::string kept(text.substr(0, text.rfind('}')));
  kept += offered ? R"(,"has_network":true})" : R"(,"has_network":false})";
  Result<LaunchOrder> order = read_launch_order(line, offered);
  if (!order.ok()) {
    report(Report{ReportKind::kLaunchFailed, key, {}, order.error().message, 0, 0, 0});
    return;
  }
  if (order->preflight) return try_and_launch(std::move(order).value(), std::move(kept));
  begin_launch(std::move(order).value(), std::move(kept));
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
        report(
            Report{ReportKind::kLaunchFailed, order.key, {}, allocated.error().message, 0, 0, 0});
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
  cutter_.cut(
      key, placement, others,
      [this, order = std::move(order), text = std::move(text)](const Result<void>& cut) {
        if (cut.ok()) return allocate_and_launch(order, text);
        report(Report{ReportKind::kLaunchFailed, order.key, {}, cut.error().message, 0, 0, 0});
      });
}

void Agent::stop(AttemptKey key, bool preempted, std::chrono::milliseconds grace) {
  cutter_.drop(key);
  allocator_.drop(key);
  preflights_.erase(key);
  const auto found = held_.find(key);
  if (found == held_.end()) {
    report(Report{ReportKind::kEnded, key, {}, "", 0, 0, 0});  // nothing of it is here
  } else if (found->second->stage() == HeldAttempt::Stage::kEnded) {
    found->second->repeat_report();
  } else if (preempted) {
    found->second->preempt();
  } else {
    found->second->stop_in(grace);
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
  if (line.contains("step_attach")) attach_step(line.at("step_attach"));
  if (line.contains("exec")) exec(line.at("exec"));
  if (line.contains("relay")) open_relay(line.at("relay"));
  if (line.contains("relay_end")) relays_->close(line.at("relay_end").value("id", ""));
}

void Agent::forget(const Json& list) {
  for (const Json& value : list) {
    const AttemptKey key = key_of(value);
    const auto found = held_.find(key);
    if (found == held_.end() || found->second->stage() != HeldAttempt::Stage::kEnded) continue;
    held_.erase(found);
    if (!options_.keeps_records) continue;
    const std::string kept = options_.data_dir + "/finished/" + key.text();
    std::error_code error;
    if (!facts_.stage_directory.empty()) fs::remove_all(stage_of(facts_, key), error);
    fs::rename(attempt_directory(key), kept, error);
    if (!error) continue;
    fs::remove_all(kept, error);  // of a former cluster's job of that number
    fs::rename(attempt_directory(key), kept, error);
    if (error) fs::remove_all(attempt_directory(key), error);
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
    for (const auto& [key, held] : held_) held->signal(SIGKILL, /*batch_only=*/false);
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
