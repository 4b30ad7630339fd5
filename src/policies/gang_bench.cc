// gang_bench gang|cannot_fit: CPU of deciding about gangs on 14 000 GPUs: 1750 nodes of 8, in racks
// of 8 under switches of 4 racks. One line per case: its name, then microseconds (median of
// several), then what came out. bench/gang and bench/cannot_fit run it and hold the bars.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "base/check.h"
#include "core/cycle/scheduler.h"
#include "core/explain/explain.h"
#include "policies/standard.h"

namespace dove {
namespace {

constexpr int kRounds = 5;
constexpr int kNodesOfRack = 8;
constexpr int kNodesOfSwitch = 32;

std::shared_ptr<const Inventory> inventory_of_8() {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(2);
  for (std::int32_t core = 0; core < 64; ++core) {
    inventory->numa[static_cast<std::size_t>(core / 32)].cores.insert(core);
  }
  for (int device = 0; device < 8; ++device) {
    inventory->devices.push_back(
        {"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, device / 4});
  }
  inventory->memory_bytes = std::int64_t{2} << 40;
  return inventory;
}

long long cpu_us() { return static_cast<long long>(std::clock()) * 1'000'000 / CLOCKS_PER_SEC; }

class Cluster {
 public:
  explicit Cluster(int nodes) {
    brain_.begin_batch(Instant{1'000'000'000}, Epoch(1));
    const auto inventory = inventory_of_8();
    for (int i = 0; i < nodes; ++i) {
      NodeRegistered node;
      node.name = fmt::format("gpu{:04}", i);
      node.boot_id = "boot";
      node.inventory = inventory;
      NodeDeclaration declared;
      declared.name = node.name;
      declared.topology = {{"switch", fmt::format("s{:02}", i / kNodesOfSwitch)},
                           {"rack", fmt::format("r{:03}", i / kNodesOfRack)}};
      add(ObjectApplied{declared});
      add(node);
      add(NodeConnected{NodeId(static_cast<std::uint32_t>(i + 1)), "boot"});
    }
    decide();
  }

  void add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }
  std::vector<Decision> decide() { return brain_.decide(); }

  JobId submit(JobSpec spec) {
    const JobId id(state_.next_job);
    add(JobSubmitted{std::make_shared<const JobSpec>(std::move(spec))});
    return id;
  }

  const core::State& state() const { return state_; }
  void pass(Span span) { brain_.begin_batch(state_.now + span, Epoch(1)); }

 private:
  core::Scheduler brain_{policies::standard_policies()};
  const core::State& state_ = brain_.state();
};

JobSpec gang(std::int32_t tasks, std::int32_t gpus, std::int32_t cores) {
  JobSpec spec;
  spec.user = "ann";
  spec.name = "gang";
  spec.groups.resize(1);
  spec.groups[0].tasks = tasks;
  spec.groups[0].per_task.gpus = gpus;
  spec.groups[0].per_task.cores = cores;
  spec.groups[0].per_task.memory_bytes = std::int64_t{gpus} << 33;
  return spec;
}

// What runs when the gang comes.
struct Before {
  int nodes = 0;
  int step = 1;   // every step-th node has small jobs
  int small = 0;  // jobs of one GPU on each of these
};

void fragment(Cluster& cluster, const Before& before) {
  for (int i = 0; i < before.nodes * before.small; ++i) {
    const int node = i / before.small;
    if (node % before.step != 0) continue;
    JobSpec spec = gang(1, 1, 4);
    spec.user = "bob";
    spec.name = "small";
    spec.nodes_wanted = {fmt::format("gpu{:04}", node)};
    cluster.submit(std::move(spec));
  }
  cluster.decide();
}

std::size_t nodes_of(const core::State& state, JobId id) {
  const core::Job* job = state.find_job(id);
  return job->attempts.empty() ? 0 : job->attempts.back().placements.size();
}

// Decides about the job; what the whole step costs, from the event to the decision.
void decided(const char* name, const Before& before, const JobSpec& spec) {
  std::vector<long long> took;
  std::size_t placed = 0;
  for (int round = 0; round < kRounds; ++round) {
    Cluster cluster(before.nodes);
    fragment(cluster, before);
    cluster.pass(seconds(1));
    const long long begin = cpu_us();
    const JobId id = cluster.submit(spec);
    cluster.decide();
    took.push_back(cpu_us() - begin);
    placed = nodes_of(cluster.state(), id);
  }
  std::sort(took.begin(), took.end());
  fmt::print("{} {} nodes={}\n", name, took[took.size() / 2], placed);
}

// The same, and then asks why the job waits. Each round is another user's: no verdict is shared.
void explained(const char* name, const Before& before, JobSpec spec) {
  Cluster cluster(before.nodes);
  fragment(cluster, before);
  std::vector<long long> took;
  std::vector<Reason> reasons;
  for (int round = 0; round < kRounds; ++round) {
    cluster.pass(seconds(1));
    spec.user = fmt::format("user{}", round);
    const long long begin = cpu_us();
    const JobId id = cluster.submit(spec);
    cluster.decide();
    reasons = core::explain(cluster.state(), policies::standard_policies(), id);
    took.push_back(cpu_us() - begin);
    CHECK(nodes_of(cluster.state(), id) == 0, "the case is about a job that cannot fit");
    cluster.add(JobCancelRequested{id});
    cluster.decide();
  }
  std::sort(took.begin(), took.end());
  fmt::print("{} {} reasons={}\n", name, took[took.size() / 2], reasons.size());
}

JobSpec within(JobSpec spec, const char* level, bool required) {
  spec.domain = level;
  spec.domain_required = required;
  return spec;
}

constexpr Before kEmpty{448, 1, 0};
constexpr Before kBusy{1750, 3, 2};
constexpr Before kFull{1750, 1, 7};

void gangs() {
  decided("gang_448x8", kEmpty, gang(448, 8, 64));
  decided("gang_3584x1", kEmpty, gang(3584, 1, 8));
  decided("gang_448x8_of_14000", kBusy, gang(448, 8, 64));
  decided("gang_3584x1_of_14000", kBusy, gang(3584, 1, 8));
  decided("topology_512_in_switches", kBusy, within(gang(512, 1, 8), "switch", false));
  decided("topology_512_in_racks", kBusy, within(gang(512, 1, 8), "rack", false));
  decided("topology_512x8_in_racks", kBusy, within(gang(512, 8, 8), "rack", false));
  decided("topology_512_in_racks_full", kFull, within(gang(512, 1, 8), "rack", false));
  decided("topology_56_in_one_rack", kBusy, within(gang(56, 1, 8), "rack", true));
}

void misfits() {
  explained("never_fits", kBusy, gang(1751, 8, 8));
  explained("never_fits_full", kFull, gang(1751, 8, 8));
  explained("never_fits_a_task", kFull, gang(1, 9, 8));
  explained("never_fits_a_rack", kFull, within(gang(65, 1, 1), "rack", true));
  explained("not_now", kBusy, gang(1200, 8, 8));
  explained("not_now_full", kFull, gang(448, 8, 64));
  explained("not_now_a_node", kFull, gang(1, 8, 8));
  explained("not_now_a_rack", kFull, within(gang(16, 1, 8), "rack", true));
}

}  // namespace
}  // namespace dove

int main(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "gang";
  if (kind == "cannot_fit") {
    dove::misfits();
  } else {
    dove::gangs();
  }
  return 0;
}
