#include "core/explain/explain_foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/place/candidates.h"
#include "core/place/device_fit.h"
#include "core/preempt/foreign_jobs.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

// How much of the missing resource the allocation holds, for people; "": nothing.
std::string held_of(const ForeignAllocation& one, const std::string& resource) {
  // Where whole nodes are missing, anything that an allocation holds there is in the way.
  const bool any = resource == "nodes";
  if ((any || resource == "cores") && !one.cores.empty() && one.devices.empty()) {
    return fmt::format("{} core{}", one.cores.size(), one.cores.size() == 1 ? "" : "s");
  }
  if (resource == "cores")
    return one.cores.empty() ? "" : fmt::format("{} cores", one.cores.size());
  if (resource == "memory_bytes") return one.memory_bytes > 0 ? "memory" : "";
  const bool devices = any || resource == "gpus" || resource == "share_milli" ||
                       resource == "gpu_memory_bytes" || resource.starts_with("slice:");
  if (!devices || one.devices.empty()) return "";
  return "gpu " + device_list(one.devices);
}

// What is missing; "": nothing that an allocation could hold. Where the nodes that the job names
// are full it is not said which resource it is.
std::string missing(const JobSpec& spec, const Reason& reason) {
  if (reason.kind == ReasonKind::kResources) return reason.resource;
  if (reason.kind != ReasonKind::kExcluded) return "";
  const bool devices =
      std::any_of(spec.groups.begin(), spec.groups.end(), [](const TaskGroup& group) {
        return wants_devices(group.per_task) || wants_devices(group.per_node);
      });
  return devices ? "gpus" : "cores";
}

std::string held_of(const ForeignAllocation& one, const JobSpec& spec,
                    const std::vector<Reason>& reasons) {
  // The first resource that the job lacks and the allocation holds: what it holds beside that would
  // not help the job if it were gone.
  for (const Reason& reason : reasons) {
    const std::string resource = missing(spec, reason);
    std::string held = resource.empty() ? "" : held_of(one, resource);
    if (!held.empty()) return held;
  }
  return "";
}

// Jobs of the executor's users to which the ledger gave devices of the node, as if they had begun
// there.
std::vector<ForeignAllocation> rooms_on(const State& state, const Node& node,
                                        const NodeExecutor& executor) {
  std::vector<ForeignAllocation> rooms;
  for (const JobId id : node.jobs) {
    const Job& job = *state.find_job(id);
    if (job.spec->executor != executor.name || !only_gets_room(state, *job.spec)) continue;
    for (const PlacementRecord& record : job.attempts.back().placements) {
      if (record.placement->node != node.id || record.stage == PlacementStage::kEnded) continue;
      ForeignAllocation& one = rooms.emplace_back();
      one.id = job.spec->foreign_job;
      one.user = job.spec->user;
      one.cores = record.placement->cores;
      one.memory_bytes = record.placement->memory_bytes;
      for (const DeviceGrant& grant : record.placement->devices) {
        one.devices.push_back(grant.device);
      }
    }
  }
  return rooms;
}

}  // namespace

void add_foreign(const State& state, const Job& job, std::vector<Reason>& out) {
  const Pool* pool = pool_of(state, *job.spec);
  if (state.executors.empty() || pool == nullptr) return;
  const std::vector<ForeignJobPtr> leaving = put_back_for(state, job.id);
  Reason first;
  std::int64_t found = 0;
  const auto offer = [&](const Node& node, const NodeExecutor& executor,
                         const ForeignAllocation& one, const char* what_of_it) {
    std::string held = held_of(one, *job.spec, out);
    // The one that ends first is named. Without a time limit an allocation has kNever, and comes
    // last.
    if (held.empty() || (found++ > 0 && one.ends_by >= first.until)) return;
    first.subject = foreign_text(executor, one) + what_of_it;
    first.resource = std::move(held);
    first.level = node.name;
    first.until = one.ends_by;
  };
  // Over all nodes, as explanations may be; only those with executors cost more than a comparison.
  for (const Node& node : state.nodes) {
    if (node.executors.empty() || !is_available(node) || !allows(*job.spec, node)) continue;
    if (!text::any_hostlist_holds(pool->nodes, node.name)) continue;
    for (const NodeExecutor& executor : node.executors) {
      for (const ForeignAllocation& one : executor.foreign) {
        if (is_to_come(executor, one)) continue;
        const bool leaves =
            std::any_of(leaving.begin(), leaving.end(), [&](const ForeignJobPtr& each) {
              return each->executor == executor.name && each->id == one.id;
            });
        offer(node, executor, one, leaves ? ", which is being put back for this job," : "");
      }
      for (const ForeignAllocation& one : rooms_on(state, node, executor)) {
        offer(node, executor, one, ", for which room was made,");
      }
    }
  }
  if (found == 0) return;
  first.kind = ReasonKind::kForeign;
  first.count = found - 1;
  out.push_back(std::move(first));
}

bool keeps_for_later(const State& state) {
  return !state.executors.empty() &&
         std::any_of(state.nodes.begin(), state.nodes.end(), has_to_come);
}

void add_kept_for_later(const State& state, const PoolNodes& nodes, const Job& job,
                        std::vector<Reason>& out) {
  Reason reason;
  reason.kind = ReasonKind::kForeign;
  Instant first = kNever;
  std::int64_t found = 0;
  for (const NodeId id : nodes.ids) {
    const Node& node = state.nodes[id];
    if (!nodes.are_available[id] || !allows(*job.spec, node)) continue;
    for (const NodeExecutor& executor : node.executors) {
      for (const ForeignAllocation& one : executor.foreign) {
        if (!is_to_come(executor, one) || (found++ > 0 && one.started_at >= first)) continue;
        first = one.started_at;
        reason.subject = fmt::format("{} {}, which is still to come,", executor.name, one.id);
        reason.resource = held_of(one, "cores");
        reason.level = node.name;
        reason.until = one.ends_by;
      }
    }
  }
  if (found == 0) return;
  reason.count = found - 1;
  out.push_back(std::move(reason));
}

}  // namespace dove::core
