// reclaim_bench [NODES [GPUS [JOB_GPUS]]]: CPU milliseconds of the one decision that takes GPUS
// back for a gang of that size from a full cluster of preemptible jobs of JOB_GPUS each, on NODES
// nodes of 8: "reclaim_ms NUMBER", and how many jobs were stopped. Then the same where one job of
// each node may not be stopped, so that no set of victims would do: "refuse_ms NUMBER", and nobody
// is stopped. Last, what a cycle takes while 2 000 shapes wait that nobody may be stopped for, as
// those that might be are no lower: "shapes_ms NUMBER".
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>

#include "core/cycle/scheduler.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr std::int32_t kGpus_of_a_node = 8;

class Fleet {
 public:
  explicit Fleet(int nodes) {
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(2);
    for (std::int32_t core = 0; core < 64; ++core) {
      inventory->numa[static_cast<std::size_t>(core / 32)].cores.insert(core);
    }
    for (int device = 0; device < kGpus_of_a_node; ++device) {
      inventory->devices.push_back(
          {"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, device / 4});
    }
    inventory->memory_bytes = std::int64_t{1} << 40;
    brain_.begin_batch(Instant{1'000'000'000}, Epoch(1));
    add_queue("training", 0);
    add_queue("owners", 4'000);
    for (int i = 1; i <= nodes; ++i) {
      NodeRegistered node;
      node.name = fmt::format("n{:04}", i);
      node.boot_id = "boot";
      node.inventory = inventory;
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i)), "boot"});
    }
    decide();
  }

  void fill(std::int32_t gpus, int jobs) {
    for (int i = 0; i < jobs; ++i) submit("training", gpus, 1, Preempt::kCheckpoint);
    start();
    brain_.begin_batch(state_.now + seconds(3600), Epoch(1));
    decide();
  }

  // One job of each node that nobody may stop.
  void pin(int nodes) {
    for (int i = 1; i <= nodes; ++i) {
      submit("training", 1, 1, Preempt::kNone, {fmt::format("n{:04}", i)});
    }
    start();
  }

  // Each of a memory of its own.
  void wait(const char* queue, int shapes) {
    for (int i = 1; i <= shapes; ++i) submit(queue, kGpus_of_a_node, 1, Preempt::kNone, {}, i);
    decide();
  }

  // Something happens that helps none of them.
  void pass_a_cycle() {
    brain_.begin_batch(state_.now + seconds(1), Epoch(1));
    submit("training", kGpus_of_a_node, 1, Preempt::kNone, {}, 1);
    decide();
  }

  void submit(const char* queue, std::int32_t gpus, int tasks, Preempt preempt,
              std::vector<std::string> nodes = {}, std::int64_t memory_mib = 0) {
    auto spec = std::make_shared<JobSpec>();
    spec->user = "ann";
    spec->groups.resize(1);
    spec->groups[0].per_task.memory_bytes = memory_mib << 20;
    spec->queue = queue;
    spec->groups[0].tasks = tasks;
    if (tasks > 1) spec->groups[0].tasks_per_node = kGpus_of_a_node;
    spec->groups[0].per_task.gpus = gpus;
    spec->preempt = preempt;
    spec->nodes_wanted = std::move(nodes);
    add(JobSubmitted{std::move(spec)});
  }

  std::vector<Decision> decide() { return brain_.decide(); }

 private:
  // What is launched runs at once.
  void start() {
    for (const Decision& decision : decide()) {
      if (const auto* launch = std::get_if<Launch>(&decision)) {
        add(PlacementStarted{launch->job, launch->attempt, launch->placements[0]->node});
      }
    }
    decide();
  }

  void add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }

  void add_queue(const char* name, std::int64_t gpus) {
    Queue queue;
    queue.name = name;
    queue.guaranteed.gpus_milli = gpus * kWholeDevice_milli;
    add(ObjectApplied{queue});
  }

  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
};

long long stopped_in(const std::vector<Decision>& decisions) {
  long long stopped = 0;
  for (const Decision& decision : decisions) {
    stopped += std::get_if<Stop>(&decision) != nullptr ? 1 : 0;
  }
  return stopped;
}

long long us_since(std::clock_t begin) {
  return static_cast<long long>(std::clock() - begin) * 1'000'000 / CLOCKS_PER_SEC;
}

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  using namespace dove;
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 1750;
  const int gpus = argc > 2 ? std::atoi(argv[2]) : 4000;
  const std::int32_t each = argc > 3 ? std::atoi(argv[3]) : 1;
  Fleet fleet(nodes);
  fleet.fill(each, nodes * kGpus_of_a_node / each);
  fleet.submit("owners", 1, gpus, Preempt::kNone);
  std::clock_t begin = std::clock();
  const long long stopped = stopped_in(fleet.decide());
  const long long us = us_since(begin);
  Fleet pinned(nodes);
  pinned.pin(nodes);
  pinned.fill(1, nodes * (kGpus_of_a_node - 1));
  pinned.submit("owners", 1, gpus, Preempt::kNone);
  begin = std::clock();
  const long long in_vain = stopped_in(pinned.decide());
  const long long refused_us = us_since(begin);
  Fleet blocked(nodes);
  blocked.fill(1, nodes * kGpus_of_a_node);
  blocked.wait("training", 2'000);
  begin = std::clock();
  blocked.pass_a_cycle();
  const long long blocked_us = us_since(begin);
  fmt::print("reclaim_ms {}.{:01}\nstopped {}\nrefuse_ms {}.{:01}\nstopped_in_vain {}\n", us / 1000,
             us % 1000 / 100, stopped, refused_us / 1000, refused_us % 1000 / 100, in_vain);
  fmt::print("shapes_ms {}.{:01}\n", blocked_us / 1000, blocked_us % 1000 / 100);
  return 0;
}
