// backfill_bench [NODES [PENDING [SEED [shared]]]]: CPU time of one whole conservative plan: all
// PENDING jobs get a start and places by id on NODES full nodes of 8 GPUs; then of the cycle that
// derives everything anew and makes the first 4 promises, and of one that finds nothing new. Prints
// a line of JSON. With "shared" all nodes are a Slurm's, too: every second job, of those that run
// and those that wait, came through its gate, what runs of ours has a placeholder there, and on
// every 20th node a GPU is a job's that no gate held.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include "base/random.h"
#include "core/cycle/indexes.h"
#include "core/cycle/scheduler.h"
#include "core/plan/planner.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr std::int32_t kCores = 128;
constexpr const char kSlurm[] = "slurm";
constexpr Instant kBegin{1'000'000'000'000};

double since_ms(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) * 1000.0 / CLOCKS_PER_SEC;
}

class Cluster {
 public:
  Cluster(std::uint64_t seed, bool is_shared) : random_(seed), is_shared_(is_shared) {}

  const core::State& state() const { return state_; }

  // Full of jobs that began at different times and have limits of minutes to a day.
  void fill(int nodes) {
    brain_.begin_batch(kBegin, Epoch(1));
    declare(0);
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(2);
    for (std::int32_t core = 0; core < kCores; ++core) {
      inventory->numa[static_cast<std::size_t>(core / (kCores / 2))].cores.insert(core);
    }
    for (int device = 0; device < 8; ++device) {
      inventory->devices.push_back(
          {"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, device / 4});
    }
    inventory->memory_bytes = std::int64_t{2} << 40;
    for (int i = 1; i <= nodes; ++i) {
      NodeRegistered node;
      node.name = fmt::format("n{:05}", i);
      node.boot_id = "boot";
      node.inventory = inventory;
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i)), "boot"});
    }
    const int foreign = is_shared_ ? share(nodes) : 0;
    for (std::int64_t gpus = std::int64_t{8} * nodes - foreign; gpus > 0;) {
      const auto asked = static_cast<std::int32_t>(std::min<std::int64_t>(gpus, gpus_of_one()));
      submit(1, asked);
      gpus -= asked;
      if (number(50) == 0) cycle();
    }
    cycle();
    cycle();
  }

  void queue_up(int pending) {
    brain_.begin_batch(state_.now + seconds(60), Epoch(1));
    for (int i = 0; i < pending; ++i) {
      if (number(33) == 0) {
        submit(2 + number(7), 8);
      } else {
        submit(1, gpus_of_one());
      }
    }
    decide();
  }

  void declare(std::int32_t promises) {
    Queue queue;
    queue.name = "default";
    queue.promises = promises;
    add(ObjectApplied{queue});
  }

  std::size_t decide() {
    const auto decisions = brain_.decide();
    for (const Decision& decision : decisions) {
      if (const auto* launch = std::get_if<Launch>(&decision)) started_.push_back(*launch);
    }
    return decisions.size();
  }

 private:
  // How many GPUs are a foreign job's.
  int share(int nodes) {
    Executor slurm;
    slurm.name = kSlurm;
    slurm.nodes = {fmt::format("n[00001-{:05}]", nodes)};
    slurm.gate = true;
    add(ObjectApplied{slurm});
    add(ExecutorContactChanged{kSlurm, ExecutorContact::kAnswering, ""});
    int foreign = 0;
    for (int i = 1; i <= nodes; i += 20) {
      ForeignAllocation one;
      one.id = std::to_string(++foreign);
      one.devices = {0};
      for (std::int32_t core = 0; core < 8; ++core) one.cores.insert(core);
      one.memory_bytes = std::int64_t{64} << 30;
      one.started_at = kBegin;
      add(ForeignAllocationObserved{kSlurm, NodeId(static_cast<std::uint32_t>(i)), one});
    }
    return foreign;
  }

  std::int32_t number(std::int32_t below) {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(below)));
  }
  std::int32_t gpus_of_one() {
    constexpr std::int32_t kGpus[] = {1, 1, 1, 1, 1, 1, 2, 2, 4, 8};
    return kGpus[number(10)];
  }

  void cycle() {
    decide();
    brain_.begin_batch(state_.now + seconds(120), Epoch(1));
    for (const Launch& launch : std::exchange(started_, {})) {
      for (const Placement& placement : launch.placements) {
        if (is_shared_) {
          add(PlaceholderMoved{kSlurm, launch.job, launch.attempt, placement.node,
                               PlaceholderStage::kConfirmed, fmt::format("p{}", launch.job.value),
                               ""});
        }
        add(PlacementStarted{launch.job, launch.attempt, placement.node});
      }
    }
  }

  void add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }

  void submit(std::int32_t nodes, std::int32_t gpus) {
    auto spec = std::make_shared<JobSpec>();
    spec->user = fmt::format("user{}", number(20));
    spec->time_limit = seconds(12'000 + number(74'400));
    if (is_shared_ && submitted_++ % 2 == 0) {
      spec->executor = kSlurm;
      spec->foreign_job = std::to_string(100'000 + submitted_);
    }
    TaskGroup& group = spec->groups.emplace_back();
    group.tasks = nodes;
    group.tasks_per_node = 1;
    group.per_task.gpus = gpus;
    group.per_task.cores = 8 * gpus;
    group.per_task.memory_bytes = (std::int64_t{64} << 30) * gpus;
    add(JobSubmitted{std::move(spec)});
  }

  Random random_;
  const bool is_shared_;
  int submitted_ = 0;
  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
  std::vector<Launch> started_;
};

// Every waiting job, in the order of the queue, behind those before it.
std::size_t plan_all(const core::State& state, core::Indexes& indexes) {
  core::Planner planner(state, indexes.plan, *indexes.policies.placement, indexes.pools);
  std::size_t planned = 0;
  for (const auto& [id, job] : state.jobs) {
    if (job.phase != JobPhase::kWaiting) continue;
    auto found = planner.find(job);
    if (!found) continue;
    ++planned;
    planner.keep(id, *job.spec, std::move(*found));
  }
  return planned;
}

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int pending = argc > 2 ? std::atoi(argv[2]) : 10'000;
  const bool is_shared = argc > 4 && std::string_view(argv[4]) == "shared";
  dove::Cluster cluster(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1, is_shared);
  cluster.fill(nodes);
  const int running = cluster.state().usage.jobs_running;
  cluster.queue_up(pending);
  const int waiting = cluster.state().usage.jobs_waiting;

  dove::core::State copy = cluster.state();
  dove::core::Indexes indexes;
  dove::core::prepare(copy, indexes, dove::policies::standard_policies(), {});
  std::clock_t begin = std::clock();
  const std::size_t planned = dove::plan_all(copy, indexes);
  const double plan_ms = dove::since_ms(begin);

  cluster.declare(4);
  begin = std::clock();
  const std::size_t decided = cluster.decide();
  const double cycle_ms = dove::since_ms(begin);
  begin = std::clock();
  cluster.decide();
  const double idle_ms = dove::since_ms(begin);
  fmt::print(
      R"({{"running": {}, "waiting": {}, "planned": {}, "plan_ms": {:.2f}, "decided": {}, "cycle_ms": {:.2f}, "idle_ms": {:.3f}}})"
      "\n",
      running, waiting, planned, plan_ms, decided, cycle_ms, idle_ms);
  return planned == static_cast<std::size_t>(waiting) ? 0 : 1;
}
