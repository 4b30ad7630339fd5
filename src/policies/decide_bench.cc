// decide_bench NODES PENDING STEPS: launches a CPU second of the whole brain in a steady state.
//
// NODES nodes of 8 GPUs in racks and blocks, PENDING jobs waiting in a tree of 16 queues with
// limits and guarantees under the settings of a new cluster, 500 shapes from one GPU to gangs of 16
// nodes. In each step the jobs end whose time has come, as many new ones are submitted, and the
// brain decides; all of that is timed. Prints one JSON object: launches, cpu_us, launches_per_s,
// step_p99_us, utilisation_pct, fill_us (to fill the queue and decide for the first time).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>

#include "base/random.h"
#include "core/cycle/scheduler.h"
#include "model/new_cluster.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr std::int32_t kShapes = 500;
constexpr std::int32_t kLeaves = 12;
constexpr Span kStep = milliseconds(20);

std::int64_t cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1'000;
}

class Cluster {
 public:
  Cluster(std::int32_t nodes, std::int32_t pending) : node_count_(nodes), pending_(pending) {}

  void set_up() {
    brain_.begin_batch(Instant{1'000'000'000}, Epoch(1));
    ClusterSettings settings = new_cluster_settings();
    settings.jobs_max = 100'000'000;
    settings.ended_jobs_max = 1000;
    add(ObjectApplied{settings});
    declare_queues();
    register_nodes();
    make_shapes();
    decide();
    const std::int64_t begin = cpu_us();
    while (waiting_ < pending_) submit();
    decide();
    fill_us_ = cpu_us() - begin;
  }

  // Jobs run for 4 to 12 steps, so that a few hundred end in each.
  void run(int steps, std::vector<std::int64_t>* times) {
    for (int i = 0; i < steps; ++i) step(times);
  }

  std::int64_t launches() const { return launches_; }
  std::int64_t fill_us() const { return fill_us_; }
  void forget_launches() { launches_ = 0; }
  double utilisation_pct() const {
    return 100.0 * static_cast<double>(state_.usage.gpus_milli) / (8000.0 * node_count_);
  }

 private:
  void add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }

  void declare_queues() {
    for (int org = 0; org < 3; ++org) {
      Queue queue;
      queue.name = fmt::format("org{}", org);
      queue.weight = org + 1;
      queue.guaranteed.gpus_milli = std::int64_t{node_count_} * 8000 / 4;
      add(ObjectApplied{queue});
    }
    for (int leaf = 0; leaf < kLeaves; ++leaf) {
      Queue queue;
      queue.name = fmt::format("team{}", leaf);
      queue.parent = fmt::format("org{}", leaf % 3);
      queue.limits.gpus_milli = node_count_ * 8000 / 3;
      queue.guaranteed.gpus_milli = std::int64_t{node_count_} * 8000 / 20;

      add(ObjectApplied{queue});
    }
  }

  void register_nodes() {
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(2);
    for (std::int32_t core = 0; core < 128; ++core) {
      inventory->numa[static_cast<std::size_t>(core / 64)].cores.insert(core);
    }
    for (int device = 0; device < 8; ++device) {
      inventory->devices.push_back(
          {"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, device / 4});
    }
    inventory->memory_bytes = std::int64_t{2} << 40;
    for (int i = 0; i < node_count_; ++i) {
      const std::string name = fmt::format("n{:05}", i);
      NodeDeclaration declared;
      declared.name = name;
      declared.topology = {{"block", fmt::format("b{}", i / 128)},
                           {"rack", fmt::format("r{}", i / 16)}};
      add(ObjectApplied{declared});
      NodeRegistered node;
      node.name = name;
      node.boot_id = "boot";
      node.inventory = inventory;
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i + 1)), "boot"});
    }
  }

  void make_shapes() {
    for (std::int32_t i = 0; i < kShapes; ++i) {
      auto spec = std::make_shared<JobSpec>();
      spec->user = fmt::format("u{}", i % 40);
      spec->queue = fmt::format("team{}", i % kLeaves);
      TaskGroup group;
      const std::uint64_t kind = random_.below(100);
      if (kind < 60) {
        group.per_task.gpus = 1;
      } else if (kind < 90) {
        group.per_task.gpus = std::int32_t{1} << (1 + random_.below(3));
      } else {
        group.tasks = std::int32_t{1} << (1 + random_.below(4));
        group.tasks_per_node = 1;
        group.per_task.gpus = 8;
        if (kind < 95) spec->domain = "rack";
      }
      group.per_task.cores = group.per_task.gpus * static_cast<std::int32_t>(1 + random_.below(12));
      group.per_task.memory_bytes = static_cast<std::int64_t>(1 + random_.below(64)) << 30;
      spec->groups.push_back(group);
      shapes_.push_back(std::move(spec));
    }
  }

  void submit() {
    add(JobSubmitted{shapes_[random_.below(kShapes)]});
    ++waiting_;
  }

  void decide() {
    for (Decision& decision : brain_.decide()) {
      const auto* launch = std::get_if<Launch>(&decision);
      if (launch == nullptr) continue;
      ++launches_;
      --waiting_;
      const std::int64_t after = static_cast<std::int64_t>(4 + random_.below(9));
      Running& made =
          ends_.emplace(step_ + after, Running{launch->job, launch->attempt, {}})->second;
      for (const Placement& placement : launch->placements) made.nodes.push_back(placement.node);
    }
  }

  void step(std::vector<std::int64_t>* times) {
    ++step_;
    const std::int64_t begin = cpu_us();
    brain_.begin_batch(state_.now + kStep, Epoch(1));
    for (auto at = ends_.begin(); at != ends_.end() && at->first <= step_; at = ends_.erase(at)) {
      const Running& it = at->second;
      for (const NodeId node : it.nodes) {
        add(PlacementStarted{it.job, it.attempt, node});
        add(PlacementEnded{it.job, it.attempt, node, {TaskExit{}}, 0, 0});
      }
    }
    while (waiting_ < pending_) submit();
    decide();
    times->push_back(cpu_us() - begin);
  }

  struct Running {
    JobId job;
    AttemptNumber attempt = 0;
    std::vector<NodeId> nodes;
  };

  std::int32_t node_count_;
  std::int32_t pending_;
  Random random_{7};
  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
  std::vector<std::shared_ptr<const JobSpec>> shapes_;
  std::multimap<std::int64_t, Running> ends_;
  std::int64_t step_ = 0;
  std::int64_t launches_ = 0;
  std::int64_t fill_us_ = 0;
  std::int32_t waiting_ = 0;
};

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: decide_bench NODES PENDING STEPS\n");
    return 2;
  }
  dove::Cluster cluster(std::atoi(argv[1]), std::atoi(argv[2]));
  cluster.set_up();
  std::vector<std::int64_t> times;
  cluster.run(50, &times);
  times.clear();
  cluster.forget_launches();
  cluster.run(std::atoi(argv[3]), &times);
  std::int64_t sum = 0;
  for (const std::int64_t us : times) sum += us;
  std::sort(times.begin(), times.end());
  fmt::print(
      "{{\"launches\": {}, \"cpu_us\": {}, \"launches_per_s\": {:.0f}, \"step_p99_us\": {}, "
      "\"utilisation_pct\": {:.1f}, \"fill_us\": {}}}\n",
      cluster.launches(), sum,
      1e6 * static_cast<double>(cluster.launches()) / static_cast<double>(sum),
      times[times.size() * 99 / 100], cluster.utilisation_pct(), cluster.fill_us());
  return 0;
}
