#include "sim/explore/explore.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "model/new_cluster.h"
#include "sim/explore/agenda.h"
#include "sim/explore/clients.h"
#include "sim/explore/control_plane.h"
#include "sim/explore/machine.h"
#include "sim/explore/network.h"
#include "sim/explore/oracle.h"
#include "sim/explore/seats.h"
#include "sim/explore/slurm/adapter_process.h"
#include "sim/explore/slurm/simulated_slurm.h"
#include "sim/explore/slurm/simulated_steps.h"
#include "sim/explore/slurm/slurm_weather.h"
#include "sim/explore/trace.h"
#include "sim/explore/weather.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kMinute_us = 60 * kSecond_us;
constexpr std::int64_t kHour_us = 60 * kMinute_us;
constexpr std::int64_t kDay_us = 24 * kHour_us;
constexpr std::int64_t kBegin_us = 1'700'000'000'000'000;
constexpr std::int64_t kMemory_bytes = std::int64_t{1} << 40;  // of each node
constexpr const char* kToken = "explored-administrator-token";

// A year has 1.6 billion heartbeats of 2 s. What is agreed on with agents is stretched as a whole,
// in the proportions of the defaults, so that there are few messages in which nothing happens.
constexpr std::int64_t kHeartbeat_us = 30 * kMinute_us;
constexpr std::int64_t kSilence_us = 5 * kHeartbeat_us;
// The adapter looks once in six minutes at the latest (adapter_process.cc).
constexpr std::int64_t kReconciled_us = 7 * kMinute_us;

ClusterSettings settings(const ExploreOptions& options) {
  ClusterSettings made = new_cluster_settings();
  if (options.outage_us > 0) return made;
  made.fence = Span{20 * kMinute_us};
  made.disconnect_grace = Span{3 * kHour_us};
  made.outage_grace = Span{12 * kHour_us};
  made.silent_after = Span{kSilence_us};
  made.effect_deadline = Span{5 * kMinute_us};
  made.ended_jobs_kept = Span{6 * kHour_us};
  return made;
}

Inventory inventory(const ExploreOptions& options) {
  Inventory made;
  made.memory_bytes = kMemory_bytes;
  NumaNode numa;
  numa.memory_bytes = made.memory_bytes;
  for (std::int32_t core = 0; core < options.cores_per_node; ++core) numa.cores.insert(core);
  made.numa.push_back(std::move(numa));
  if (options.threads_per_core > 1) {
    made.threads_per_core = options.threads_per_core;
    made.thread_order = thread_order(options.cores_per_node, options.threads_per_core);
  }
  for (std::int32_t gpu = 0; gpu < options.gpus_per_node; ++gpu) {
    Device device;
    device.model = "H100";
    device.uuid = fmt::format("explored-{}", gpu);
    device.memory_bytes = std::int64_t{80} << 30;
    made.devices.push_back(std::move(device));
  }
  return made;
}

struct Recording {
  Trace* trace = nullptr;
  const Agenda* agenda = nullptr;
};
thread_local Recording recording;  // of this thread's exploration

void record_line(telemetry::Level level, std::string_view event,
                 std::initializer_list<telemetry::Field> fields) {
  if (recording.trace == nullptr || level < telemetry::Level::kWarning) return;
  constexpr std::size_t kTimeBytes = 12;
  recording.trace->add(recording.agenda->now_us(),
                       telemetry::format_text(0, level, event, fields).substr(kTimeBytes));
}

class Exploration {
 public:
  Exploration(store::LogStore& log, store::LogKeeper& keeper, const ExploreOptions& options)
      : options_(options),
        random_(options.seed),
        oracle_(trace_, agenda_, options.check_every),
        network_(agenda_, random_.next(),
                 MessageFaults().times(static_cast<std::uint64_t>(options.faults_percent))),
        control_(agenda_, network_, oracle_, trace_, log, keeper, control_options(),
                 random_.next()),
        seats_(has_several() ? std::make_unique<Seats>(agenda_, network_, oracle_, trace_, log,
                                                       keeper, seats_options(), options.seed + 2)
                             : nullptr),
        clients_(agenda_, network_, oracle_, client_options(), random_.next()),
        weather_(agenda_, network_, has_several() ? nullptr : &control_, machines_, clients_,
                 random_.next()),
        // Its draws are its own, so that runs without it are as they were.
        slurm_(agenda_, oracle_, slurm_options()),
        slurm_weather_(agenda_, slurm_, options.faults_percent, options.seed + 3),
        steps_(agenda_, oracle_, slurm_, options.faults_percent > 0, options.seed + 4),
        adapter_(agenda_, network_, oracle_, slurm_, steps_, slurm_options()) {}
  ~Exploration() { network_.close(); }

  ExploreReport run() {
    recording = {&trace_, &agenda_};
    telemetry::set_sink(record_line);
    set_up();
    clients_.start();
    slurm_.start();
    if (options_.outage_us == 0) slurm_weather_.begin();
    oracle_.set_memory(kMemory_bytes);
    oracle_.set_beside([this](const TaskFacts& task) { return slurm_.not_held_for(task); });
    adapter_.start();
    weather_.copies(
        [this](Machine& original, std::uint64_t number) { return copy_of(original, number); });
    if (options_.outage_us > 0) {
      be_away();
    } else {
      weather_.begin(options_.faults_percent);
      if (seats_ != nullptr) {
        const auto recur = [this](std::int64_t mean_us, std::function<void()> fault) {
          weather_.recur(mean_us, std::move(fault));
        };
        seats_->begin_faults(recur, machines_, clients_);
      }
    }
    watch();
    run_until(options_.outage_us > 0 ? options_.outage_us + 2 * kHour_us : options_.days * kDay_us);
    clients_.stop();
    slurm_weather_.clear_up();
    slurm_.stop();
    steps_.clear_up();
    adapter_.stop();
    weather_.clear_up();
    if (seats_ != nullptr) seats_->clear_up();
    if (options_.outage_us == 0) {
      wind_down();
    } else if (!oracle_.broken().has_value()) {
      verify_log();
    }
    telemetry::set_sink(nullptr);
    recording = {};
    return report();
  }

 private:
  ControlPlaneOptions control_options() const {
    ControlPlaneOptions made;
    made.policies = options_.policies;
    made.data_dir = options_.directory + "/controller";
    made.heartbeat_us = options_.outage_us == 0 ? kHeartbeat_us : 2 * kSecond_us;
    made.epoch_us = kBegin_us;
    return made;
  }
  bool has_several() const { return options_.controllers > 1; }
  SeatsOptions seats_options() const {
    SeatsOptions made;
    made.count = options_.controllers;
    made.policies = options_.policies;
    made.directory = options_.directory;
    made.token = kToken;
    made.heartbeat_us = kHeartbeat_us;
    made.epoch_us = kBegin_us;
    return made;
  }
  std::vector<std::string> controllers() const {
    return has_several() ? Seats::names(options_.controllers)
                         : std::vector<std::string>{"controller"};
  }
  // The state of the controller that leads; null: none does.
  const core::State* state() {
    if (!has_several()) return control_.runs() ? &control_.state() : nullptr;
    Seat* const leader = seats_->leader();
    return leader == nullptr ? nullptr : &leader->state();
  }
  void verify_log() { seats_ != nullptr ? seats_->verify_log() : control_.verify_log(); }
  ClientOptions client_options() const {
    ClientOptions made;
    made.token = kToken;
    made.controllers = controllers();
    made.jobs_per_day = options_.jobs_per_day;
    // Seven tenths of the devices are in use.
    made.mean_run_us = 8 * kHour_us * 10 * options_.nodes / options_.jobs_per_day;
    made.gpus_per_node = options_.gpus_per_node;
    made.nodes = options_.nodes;
    made.restless = options_.shared_nodes > 0;
    if (made.restless && modes_of(options_.seed).runs_jobs) made.executor = "slurm";
    return made;
  }

  SimulatedSlurmOptions slurm_options() const {
    SimulatedSlurmOptions made;
    made.seed = options_.seed + 1;
    for (std::int32_t i = 1; i <= std::min(options_.shared_nodes, options_.nodes); ++i) {
      made.nodes.push_back(fmt::format("n{:03}", i));
    }
    made.gpus_per_node = options_.gpus_per_node;
    made.cores_per_node = options_.cores_per_node;
    made.threads_per_core = options_.threads_per_core;
    made.memory_bytes = kMemory_bytes;
    made.faults_percent = options_.faults_percent;
    made.epoch_us = kBegin_us;
    made.user = "grace";
    made.modes = modes_of(options_.seed);
    made.gate_folder = options_.directory + "/gate";
    return made;
  }

  void set_up() {
    std::filesystem::create_directories(slurm_options().gate_folder);
    std::ofstream(control_options().data_dir + "/token") << kToken << "\n";
    std::ofstream(control_options().data_dir + "/secret") << "explored-secret-of-the-server\n";
    const Inventory each = inventory(options_);
    const auto shared = std::make_shared<const Inventory>(each);
    std::vector<StampedEvent> events;
    events.push_back({ObjectApplied{Declared(settings(options_))}, {}});
    for (std::int32_t i = 1; i <= options_.nodes; ++i) {
      MachineOptions machine;
      machine.node = static_cast<std::uint32_t>(i);
      machine.name = fmt::format("n{:03}", i);
      machine.data_dir = options_.directory + "/" + machine.name;
      machine.agent_token = fmt::format("explored-agent-token-{}", i);
      machine.machine_id = machine.boots_as = machine.name;
      machine.inventory = each;
      machine.controllers = controllers();
      if (options_.outage_us == 0) machine.stream_silence_us = kSilence_us;
      const std::string digest = wire::sha256_hex(machine.agent_token);
      machines_.push_back(std::make_unique<Machine>(agenda_, network_, oracle_, trace_,
                                                    std::move(machine), random_.next()));
      Machine& made = *machines_.back();
      events.push_back(
          {NodeRegistered{
               made.name(), made.boot_id(), "native", "127.0.0.1", digest, shared, made.name(), {}},
           {}});
      agenda_.in(static_cast<std::int64_t>(random_.below(kMinute_us)),
                 [&made] { made.start_agent(); });
    }
    if (has_several()) return begin_with_several(std::move(events));
    control_.start();
    control_.submit(std::move(events));
    for (auto& declared : adapter_.declared()) control_.submit(std::move(declared));
  }

  void begin_with_several(std::vector<StampedEvent> events) {
    bool leads = false;
    seats_->start([&](Seat& seat) {
      seat.submit(std::move(events));
      for (auto& declared : adapter_.declared()) seat.submit(std::move(declared));
      leads = true;
    });
    while (!leads && agenda_.step()) {
    }
  }

  // As a disk's image is copied: with the agent's directory.
  std::unique_ptr<Machine> copy_of(Machine& original, std::uint64_t number) {
    MachineOptions copy = original.options();
    copy.data_dir = fmt::format("{}/copy-{}", options_.directory, number);
    copy.boots_as = fmt::format("{}-copy-{}", copy.name, number);
    copy.machine_id = copy.boots_as;
    std::filesystem::create_directories(copy.data_dir);
    std::error_code missing;
    std::filesystem::copy_file(original.options().data_dir + "/contact", copy.data_dir + "/contact",
                               missing);
    return std::make_unique<Machine>(agenda_, network_, oracle_, trace_, std::move(copy),
                                     random_.next());
  }

  // One absence of the controller, and nothing else that goes wrong.
  void be_away() {
    network_.set_faults(MessageFaults{0, 0, 0, 0, 0, 0});
    agenda_.in(kHour_us, [this] {
      outage_tasks_ = oracle_.tasks_running();
      control_.kill();
      agenda_.in(options_.outage_us, [this] { control_.start(); });
    });
  }

  void watch() {
    agenda_.in(6 * kHour_us, [this] {
      watch();
      const bool was_absent = seats_ != nullptr && seats_->was_long_absent();
      const core::State* const now = was_absent ? nullptr : state();
      if (now != nullptr) oracle_.look_around(*now, *options_.policies);
      if (++looks_ % 40 == 0) verify_log();
    });
  }

  void run_until(std::int64_t end_us) {
    while (agenda_.now_us() < end_us && !oracle_.broken().has_value()) step();
  }

  // A kill unwinds to here: nothing of its turn is left but what had been done.
  void step() {
    try {
      agenda_.step();
    } catch (const AgentKilled& killed) {
      killed.machine->kill_agent();
      weather_.agent_was_killed(*killed.machine);
    } catch (const ControllerKilled&) {
      control_.kill();
      weather_.controller_was_killed();
    } catch (const SeatKilled& killed) {
      killed.seat->kill();
      seats_->was_killed(*killed.seat);
    }
  }

  // Nothing new happens, and everything works: what is left must end by itself.
  void wind_down() {
    network_.set_faults(MessageFaults{0, 0, 0, 0, 0, 0});
    const std::int64_t longest_us = client_options().mean_run_us * 10;
    for (int round = 0; round < 12 && !oracle_.broken().has_value(); ++round) {
      run_until(agenda_.now_us() + longest_us);
      const core::State* now = state();
      const bool is_idle = now != nullptr && now->usage.jobs_running == 0 &&
                           now->usage.jobs_waiting == 0 && slurm_.unfinished() == 0;
      if (is_idle) break;
    }
    if (oracle_.broken().has_value()) return;
    const core::State* const now = state();
    if (now == nullptr) return oracle_.fail("no controller leads in the end");
    oracle_.finished(*now, *options_.policies);
    // No job is left that one could be for.
    run_until(agenda_.now_us() + kReconciled_us);
    if (const std::string left = slurm_.held_for_us(); !left.empty()) {
      return oracle_.fail(fmt::format("{} is in Slurm still, and its job has ended", left));
    }
    if (const std::int64_t left = slurm_.unfinished(); left != 0) {
      return oracle_.fail(fmt::format("Slurm job {} never ends", left));
    }
    verify_log();
  }

  ExploreReport report() const {
    ExploreReport made;
    made.at_us = agenda_.now_us();
    made.fingerprint = oracle_.fingerprint();
    made.steps = agenda_.steps();
    made.jobs = oracle_.jobs();
    made.acknowledged = clients_.acknowledged();
    made.completed = oracle_.ended(Outcome::kCompleted);
    made.launches = oracle_.launches();
    made.tasks = oracle_.tasks_started();
    made.batches = oracle_.batches();
    made.full_checks = oracle_.full_checks();
    weather_.count(made);
    if (seats_ != nullptr) count_seats(made);
    made.outage_tasks = outage_tasks_;
    made.fenced_tasks = oracle_.tasks_fenced();
    made.lost_jobs = oracle_.ended(Outcome::kNodeLost);
    made.limits_met = oracle_.limits_met();
    made.limits_late_us = oracle_.limits_late_us();
    made.foreign_jobs = slurm_.jobs_begun();
    made.steps_in_slurm = steps_.begun();
    made.steps_lost = steps_.lost();
    made.rooms = oracle_.rooms_given();
    made.rooms_taken = oracle_.rooms_taken();
    made.gate_jobs = slurm_.gate_jobs_begun();
    made.placeholders = slurm_.placeholders_given();
    made.lost_in_slurm = slurm_.jobs_lost();
    made.slurm_limits_met = slurm_.limits_met();
    made.put_back_in_slurm = slurm_.jobs_put_back();
    made.calls = clients_.calls();
    if (!oracle_.broken().has_value()) return made;
    made.failure = fmt::format("{}: {}", virtual_time_text(agenda_.now_us()), *oracle_.broken());
    constexpr std::size_t kLines = 60;
    made.trace = trace_.text_about(first_job_in(*oracle_.broken()), kLines);
    return made;
  }

  void count_seats(ExploreReport& report) const {
    const SeatCounts counts = seats_->counts();
    report.controllers_killed += counts.killed;
    report.terms = counts.terms;
    report.handed_over = counts.handed_over;
    report.stood_still = counts.stood_still;
    report.controllers_cut = counts.cut;
    report.store_failovers = counts.store_failovers;
    report.appends_unanswered = counts.appends_unanswered;
  }

  // "... job 17 ...": 17; 0 when no job is named.
  static std::uint64_t first_job_in(const std::string& text) {
    const std::size_t at = text.find("job ");
    std::uint64_t job = 0;
    if (at != std::string::npos) {
      std::from_chars(text.data() + at + 4, text.data() + text.size(), job);
    }
    return job;
  }

  const ExploreOptions& options_;
  Random random_;
  Agenda agenda_;
  Trace trace_;
  Oracle oracle_;
  Network network_;
  ControlPlane control_;          // where there is one
  std::unique_ptr<Seats> seats_;  // where there are several
  Clients clients_;
  std::vector<std::unique_ptr<Machine>> machines_;
  Weather weather_;
  SimulatedSlurm slurm_;
  SlurmWeather slurm_weather_;
  SimulatedSteps steps_;
  AdapterProcess adapter_;
  std::uint64_t looks_ = 0;
  std::uint64_t outage_tasks_ = 0;
};

}  // namespace

ExploreReport explore(store::LogStore& log, store::LogKeeper& keeper,
                      const ExploreOptions& options) {
  return Exploration(log, keeper, options).run();
}

}  // namespace dove::sim
