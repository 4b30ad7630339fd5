#include "core/explain/explain_foreign.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/place/candidates.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

// What of the missing resource the allocation holds, for people; "": nothing.
std::string held_of(const ForeignAllocation& one, const std::string& resource) {
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

std::string held_of(const ForeignAllocation& one, const std::vector<Reason>& reasons) {
  for (const Reason& reason : reasons) {
    if (reason.kind != ReasonKind::kResources) continue;
    std::string held = held_of(one, reason.resource);
    if (!held.empty()) return held;
  }
  return "";
}

}  // namespace

void add_foreign(const State& state, const Job& job, std::vector<Reason>& out) {
  const Pool* pool = pool_of(state, *job.spec);
  if (state.executors.empty() || pool == nullptr) return;
  Reason first;
  std::int64_t found = 0;
  for (const Node& node : state.nodes) {
    if (node.executors.empty() || !is_available(node) || !allows(*job.spec, node)) continue;
    if (!text::any_hostlist_holds(pool->nodes, node.name)) continue;
    for (const NodeExecutor& executor : node.executors) {
      for (const ForeignAllocation& one : executor.foreign) {
        std::string held = held_of(one, out);
        if (held.empty()) continue;
        if (found++ > 0 && one.ends_by >= first.until) continue;
        first.subject = foreign_text(executor, one);
        first.resource = std::move(held);
        first.level = node.name;
        first.until = one.ends_by;
      }
    }
  }
  if (found == 0) return;
  first.kind = ReasonKind::kForeign;
  first.count = found - 1;
  out.push_back(std::move(first));
}

}  // namespace dove::core
