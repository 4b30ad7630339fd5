#include "core/explain/explain_executor.h"

#include "core/place/lent.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

struct Counts {
  std::int64_t has = 0;    // nodes of the job's pool
  std::int64_t lent = 0;   // of these
  std::int64_t takes = 0;  // of these
};

// Each count is a part of the one before, so the first that is 0 names what is missing.
Counts count(const State& state, const Executor& executor, const Pool& pool) {
  Counts counts;
  for (const Node& node : state.nodes) {
    const NodeExecutor* here = find_executor(node, executor.name);
    if (here == nullptr || node.removed) continue;
    // In the job's pool: where the executor has nodes elsewhere, the pool is what is wrong.
    if (!text::any_hostlist_holds(pool.nodes, node.name)) continue;
    ++counts.has;
    if (!is_lent(executor, node.name)) continue;
    ++counts.lent;
    if (here->state == ExecutorNodeState::kUp) ++counts.takes;
  }
  return counts;
}

}  // namespace

std::optional<Reason> executor_reason(const State& state, const Job& job) {
  const JobSpec& spec = *job.spec;
  const Pool* pool = pool_of(state, spec);
  if (spec.executor.empty() || pool == nullptr) return std::nullopt;
  Reason reason;
  reason.kind = ReasonKind::kExecutor;
  reason.subject = spec.executor;
  reason.level = pool->name;
  const auto because = [&](const char* what) {
    reason.resource = what;
    return reason;
  };
  const auto executor = state.executors.find(spec.executor);
  if (executor == state.executors.end()) return because("undeclared");
  const auto standing = state.standings.find(spec.executor);
  // Contact before nodes: while the adapter is silent, what is known of its nodes is old.
  const ExecutorContact contact =
      standing == state.standings.end() ? ExecutorContact::kSilent : standing->second.contact;
  switch (contact) {
    case ExecutorContact::kSilent:
      return because("silent");
    case ExecutorContact::kMute:
      return because("mute");
    case ExecutorContact::kAnswering:
      break;
  }
  const Counts counts = count(state, executor->second, *pool);
  reason.total = counts.has;
  reason.count = counts.lent;
  if (counts.has == 0) return because("nodes");
  if (counts.lent == 0) return because("lent");
  // Some node takes jobs. Whether it has room is what the search says.
  if (counts.takes == 0) return because("down");
  return std::nullopt;
}

}  // namespace dove::core
