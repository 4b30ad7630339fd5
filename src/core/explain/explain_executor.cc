#include "core/explain/explain_executor.h"

#include "core/place/candidates.h"
#include "core/place/lent.h"
#include "core/state/books.h"
#include "core/state/executors/foreign.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

struct Counts {
  std::int64_t has = 0;    // nodes of the job's pool
  std::int64_t fits = 0;   // of these, by the job's features and choice of nodes
  std::int64_t lent = 0;   // of these
  std::int64_t takes = 0;  // of these
};

// Each count is a part of the one before, so the first that is 0 names what is missing.
Counts count(const State& state, const Executor& executor, const Pool& pool, const JobSpec& spec) {
  Counts counts;
  for (const Node& node : state.nodes) {
    const NodeExecutor* here = find_executor(node, executor.name);
    if (here == nullptr || node.removed) continue;
    if (!has_agent(node) && node.backend != executor.name) continue;  // another one's alone
    // In the job's pool: where the executor has nodes elsewhere, the pool is what is wrong.
    if (!text::any_hostlist_holds(pool.nodes, node.name)) continue;
    ++counts.has;
    if (!has_wished(spec, node)) continue;
    ++counts.fits;
    if (!is_lent(executor, node.name)) continue;
    ++counts.lent;
    if (here->state == ExecutorNodeState::kUp) ++counts.takes;
  }
  return counts;
}

// Where all nodes that the job could use are without agents: no other reason would help.
std::optional<Reason> agent_reason(const State& state, const Pool& pool, const JobSpec& spec) {
  Reason reason;
  reason.kind = ReasonKind::kExecutor;
  reason.resource = "agents";
  reason.level = pool.name;
  if (state.executors.empty()) return std::nullopt;
  for (const Node& node : state.nodes) {
    if (node.removed || !text::any_hostlist_holds(pool.nodes, node.name)) continue;
    if (!has_wished(spec, node)) continue;
    if (has_agent(node)) return std::nullopt;
    if (reason.subject.empty()) reason.subject = node.backend;
    ++reason.total;
  }
  if (reason.total == 0) return std::nullopt;
  return reason;
}

}  // namespace

std::optional<Reason> executor_reason(const State& state, const Job& job) {
  const JobSpec& spec = *job.spec;
  const Pool* pool = pool_of(state, spec);
  if (pool == nullptr) return std::nullopt;
  if (spec.executor.empty()) return agent_reason(state, *pool, spec);
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
  const Counts counts = count(state, executor->second, *pool, spec);
  reason.total = counts.fits;
  reason.count = counts.lent;
  if (counts.has == 0) return because("nodes");
  // What the job asked for leaves no node, whatever the executor does.
  if (counts.fits == 0) return std::nullopt;
  if (counts.lent == 0) return because("lent");
  // Some node takes jobs. Whether it has room is what the search says.
  if (counts.takes == 0) return because("down");
  return std::nullopt;
}

}  // namespace dove::core
