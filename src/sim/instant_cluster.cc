#include "sim/instant_cluster.h"

#include <algorithm>

#include "core/queue/policy.h"

namespace dove::sim {
namespace {

constexpr int kRounds_max = 200;

template <class Report>
void report(CheckedBrain& brain, JobId id) {
  const core::Attempt& attempt = brain.state().find_job(id)->attempts.back();
  const AttemptNumber number = attempt.number;
  const std::vector<core::PlacementRecord> records = attempt.placements;
  for (const core::PlacementRecord& record : records) {
    Report said;
    said.job = id;
    said.attempt = number;
    said.node = record.placement->node;
    brain.add(said);
  }
}

}  // namespace

InstantCluster::InstantCluster(const core::Policies& policies) : brain_(policies) {
  brain_.begin(Instant{1'000'000'000});
  brain_.add(ControllerStarted{});
}

void InstantCluster::add_node(const std::string& name, std::int32_t gpus, std::int32_t cores) {
  auto inventory = std::make_shared<Inventory>();
  inventory->numa.resize(1);
  for (std::int32_t core = 0; core < cores; ++core) inventory->numa[0].cores.insert(core);
  inventory->devices.resize(static_cast<std::size_t>(gpus));
  inventory->memory_bytes = std::int64_t{64} << 30;
  NodeRegistered node;
  node.name = name;
  node.boot_id = "boot";
  node.inventory = std::move(inventory);
  brain_.add(node);
  brain_.add(NodeConnected{state().find_node(name)->id, "boot"});
}

void InstantCluster::end(JobId job) { report<PlacementEnded>(brain_, job); }

void InstantCluster::start(JobId job) { report<PlacementStarted>(brain_, job); }

Result<void> InstantCluster::settle(const See& see) {
  for (int i = 0; i < kRounds_max; ++i) {
    TRY_ASSIGN(const auto decisions, brain_.decide());
    if (decisions.empty()) return {};
    for (const Decision& decision : decisions) TRY(see(decision));
    brain_.begin(state().now);
    for (const Decision& decision : decisions) {
      if (const auto* launch = std::get_if<Launch>(&decision)) {
        report<PlacementPrepared>(brain_, launch->job);
        if (launch->placements.size() == 1) start(launch->job);
      } else if (const auto* started = std::get_if<Start>(&decision)) {
        start(started->job);
      } else if (const auto* stop = std::get_if<Stop>(&decision)) {
        end(stop->job);
      }
    }
  }
  return Error{ErrorKind::kInternal, "endless", "the brain decides without end", ""};
}

bool InstantCluster::wake() {
  const Instant at = brain_.wake_at();
  if (at == kNever) return false;
  brain_.begin(std::max(state().now, at));
  brain_.add(TimeReached{});
  return true;
}

void InstantCluster::pass(Span span) {
  brain_.begin(std::min(state().now + span, std::max(state().now, brain_.wake_at())));
  brain_.add(TimeReached{});
}

}  // namespace dove::sim
