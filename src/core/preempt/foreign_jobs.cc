#include "core/preempt/foreign_jobs.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/preempt/victim_queues.h"
#include "core/state/amount.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/foreign_use.h"

namespace dove::core {
namespace {

// Above all that the ledger ever gives: one look at an id tells whose job it is.
constexpr std::uint64_t kFirst_id = std::uint64_t{1} << 63;

// The queue that its level comes from; null: it may not be put back.
const std::string* queue_of_level(const State& state, const Executor& executor,
                                  const ForeignAllocation& allocation) {
  // Only a placeholder of ours keeps what is freed from the executor's next job.
  if (!allocation.may_requeue || !executor.placeholders) return nullptr;
  const auto& names = executor.preempts;
  if (std::find(names.begin(), names.end(), allocation.partition) == names.end()) return nullptr;
  const std::string* queue = queue_of(state, executor.name, allocation.account);
  return queue == nullptr || !state.queues.contains(*queue) ? nullptr : queue;
}

// A job of ours may have some of them, too, until its placeholder is there: they are not the other
// one's to leave.
CoreSet cores_of_ours(const State& state, const Node& node) {
  CoreSet cores;
  for (const JobId id : node.jobs) {
    for (const PlacementRecord& record : state.find_job(id)->attempts.back().placements) {
      const bool is_here = record.placement->node == node.id;
      if (is_here && record.stage != PlacementStage::kEnded) cores |= record.placement->cores;
    }
  }
  return cores;
}

Placement placement_of(const State& state, const Node& node, const ForeignAllocation& allocation) {
  Placement held;
  held.node = node.id;
  held.cores = allocation.cores - cores_of_ours(state, node);
  for (const std::int32_t device : allocation.devices) held.devices.push_back({device});
  held.memory_bytes = allocation.memory_bytes;
  return held;
}

bool has_device(const ForeignJob& one) {
  const auto& placements = one.job.attempts.back().placements;
  return std::any_of(placements.begin(), placements.end(), [](const PlacementRecord& record) {
    return !record.placement->devices.empty();
  });
}

// Puts the parts of each job together, node by node.
class Gathering {
 public:
  explicit Gathering(const State& state) : state_(state) {}

  void add(const Node& node) {
    for (const NodeExecutor& executor : node.executors) {
      const auto declared = state_.executors.find(executor.name);
      if (declared == state_.executors.end() || declared->second.preempts.empty()) continue;
      for (const ForeignAllocation& one : executor.foreign) {
        const Key key(executor.name, one.id);
        const std::string* queue = queue_of_level(state_, declared->second, one);
        if (queue == nullptr || node.inventory == nullptr) {
          kept_.insert(key);
          continue;
        }
        auto at = found_.find(key);
        if (at == found_.end()) at = found_.emplace(key, new_job(executor, one, *queue)).first;
        PlacementRecord record;
        record.placement = placement_of(state_, node, one);
        record.stage = PlacementStage::kStarted;
        at->second.job.attempts.back().placements.push_back(std::move(record));
      }
    }
  }

  std::vector<ForeignJobPtr> all() {
    std::vector<ForeignJobPtr> all;
    for (auto& [key, one] : found_) {
      // The executor puts a job back as a whole, on all of its nodes: one part that may not be
      // taken keeps the others.
      if (kept_.contains(key) || !has_device(one)) continue;
      one.job.id = JobId(kFirst_id + all.size());
      all.push_back(std::make_shared<const ForeignJob>(std::move(one)));
    }
    return all;
  }

 private:
  using Key = std::pair<std::string_view, std::string_view>;  // executor, id there

  ForeignJob new_job(const NodeExecutor& executor, const ForeignAllocation& allocation,
                     const std::string& queue) {
    ForeignJob made{executor.name, allocation.id, foreign_text(executor, allocation), {}};
    auto& spec = specs_[queue];
    if (spec == nullptr) {
      JobSpec first;
      first.queue = queue;
      // It runs again from its start, so what it has done is the price of stopping it.
      first.preempt = Preempt::kRestart;
      spec = std::make_shared<const JobSpec>(std::move(first));
    }
    made.job.spec = spec;
    made.job.phase = JobPhase::kActive;
    Attempt& attempt = made.job.attempts.emplace_back();
    attempt.number = 1;
    attempt.stage = Stage::kRunning;
    attempt.started_at = std::min(allocation.started_at, state_.now);  // it comes by another clock
    return made;
  }

  const State& state_;
  std::map<Key, ForeignJob> found_;
  std::set<Key> kept_;  // a part of it may not be taken
  std::map<std::string_view, std::shared_ptr<const JobSpec>> specs_;  // by queue
};

}  // namespace

bool any_preempts(const State& state) {
  return std::any_of(state.executors.begin(), state.executors.end(),
                     [](const auto& entry) { return !entry.second.preempts.empty(); });
}

bool takes_from_foreign(const State& state, const Job& beneficiary) {
  if (!any_preempts(state) || !beneficiary.spec->executor.empty()) return false;
  // What is freed is kept from the executor's next job device by device.
  return least_amount(*beneficiary.spec).gpus_milli > 0;
}

std::vector<ForeignJobPtr> foreign_jobs(const State& state) {
  if (!any_preempts(state)) return {};
  Gathering gathering(state);
  for (const Node& node : state.nodes) gathering.add(node);
  return gathering.all();
}

bool shares_device(const Job& foreign, std::span<const Placement> placements) {
  const auto names = [](const Placement& placement, std::int32_t device) {
    return std::any_of(placement.devices.begin(), placement.devices.end(),
                       [device](const DeviceGrant& grant) { return grant.device == device; });
  };
  for (const PlacementRecord& record : foreign.attempts.back().placements) {
    for (const Placement& placement : placements) {
      if (placement.node != record.placement->node) continue;
      for (const DeviceGrant& grant : record.placement->devices) {
        if (names(placement, grant.device)) return true;
      }
    }
  }
  return false;
}

std::vector<ForeignJobPtr> yielding_to(const State& state, const Job& beneficiary,
                                       std::span<const Placement> placements) {
  if (!takes_from_foreign(state, beneficiary)) return {};
  Gathering gathering(state);
  for (const Placement& placement : placements) gathering.add(state.nodes[placement.node]);
  std::vector<ForeignJobPtr> found = gathering.all();
  std::erase_if(found,
                [&](const ForeignJobPtr& one) { return !shares_device(one->job, placements); });
  if (found.empty()) return found;
  VictimQueues queues(state, beneficiary, std::span<const JobId>());
  const Level mine = queues.level(beneficiary);
  // As when it was decided (victims.h): another job may have come to the place since.
  std::erase_if(found, [&](const ForeignJobPtr& one) {
    Amount loss;
    for (const PlacementRecord& record : one->job.attempts.back().placements) {
      add_amount(state, record.placement, loss);
    }
    if (queues.level(one->job) >= mine || !queues.keeps_guaranteed(one->job, loss)) return true;
    queues.lose(one->job, loss);
    return false;
  });
  return found;
}

std::vector<ForeignJobPtr> put_back_for(const State& state, JobId beneficiary) {
  const auto promise = state.promises.find(beneficiary);
  const Job* job = state.find_job(beneficiary);
  if (promise == state.promises.end() || job == nullptr || !promise->second.cleared) return {};
  return yielding_to(state, *job, promise->second.placements);
}

}  // namespace dove::core
