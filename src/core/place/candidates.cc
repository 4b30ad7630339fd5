#include "core/place/candidates.h"

#include <algorithm>

#include "core/state/executors/foreign.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

bool holds(const std::vector<std::string>& labels, const std::string& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

NodeFree free_of(const FreeView& free) {
  NodeFree sum;
  for (std::int32_t milli : free.devices_milli) sum.gpus_milli += milli;
  sum.cores = static_cast<std::int64_t>(free.cores->size());
  sum.memory_bytes = free.memory_bytes;
  return sum;
}

bool wants_some(const JobSpec& spec) {
  // As sbatch: with `--nodes=4 --nodelist=a,b` the two listed nodes are among the four. With
  // `--nodelist` alone the job runs there and nowhere else.
  if (spec.nodes_wanted.empty() || spec.groups.size() != 1) return false;
  if (static_cast<std::size_t>(spec.groups.front().nodes_min) <= spec.nodes_wanted.size()) {
    return false;
  }
  // A host list stands for more nodes than it has entries, so its entries cannot be counted against
  // `nodes_min`.
  return std::none_of(spec.nodes_wanted.begin(), spec.nodes_wanted.end(),
                      [](const std::string& name) { return name.find('[') != std::string::npos; });
}

bool allows(const JobSpec& spec, const Node& node) {
  if (!may_allow(spec, node)) return false;
  return spec.executor.empty() || takes_jobs(*find_executor(node, spec.executor));
}

bool may_allow(const JobSpec& spec, const Node& node) {
  // Where no agent is, only the executor that knows the node can start anything.
  const bool is_executors = !node.executors.empty() && !has_agent(node);
  if (is_executors && spec.executor != node.backend) return false;
  if (!spec.executor.empty()) {
    // A node that the executor does not have, or that it takes no jobs on, is no place for what it
    // is to run.
    const NodeExecutor* executor = find_executor(node, spec.executor);
    if (executor == nullptr || executor->state != ExecutorNodeState::kUp) return false;
  }
  return has_wished(spec, node);
}

bool has_wished(const JobSpec& spec, const Node& node) {
  for (const std::string& wish : spec.features) {
    if (!meets(node, wish)) return false;
  }
  // Names are compared last: the questions before are cheaper, and this runs for every node of a
  // search.
  if (!spec.nodes_wanted.empty() && !text::any_hostlist_holds(spec.nodes_wanted, node.name) &&
      !wants_some(spec)) {
    return false;
  }
  return spec.nodes_excluded.empty() || !text::any_hostlist_holds(spec.nodes_excluded, node.name);
}

bool labels_allow(const JobSpec& spec, const Node& node, const IdMap<JobId, Job>& jobs) {
  if (spec.label.empty() && spec.near_labels.empty() && spec.apart_labels.empty()) return true;
  // Without labels to be near to, it is near enough everywhere.
  bool near = spec.near_labels.empty();
  for (JobId id : node.jobs) {
    const auto found = jobs.find(id);
    // Labels are a user's own. Those of others must not keep a job off, nor show where they run.
    if (found == jobs.end() || found->second.spec->user != spec.user) continue;
    const JobSpec& other = *found->second.spec;
    // Both ways: a job that asked for distance keeps it from those that come later, too.
    if (!spec.label.empty() && holds(other.apart_labels, spec.label)) return false;
    if (other.label.empty()) continue;
    if (holds(spec.apart_labels, other.label)) return false;
    near = near || holds(spec.near_labels, other.label);
  }
  return near;
}

// Room for one task of one group. A gang needs more, but a freed node without even that changes
// nothing for it.
bool could_help(const Node& node, const PlacementPolicy& policy, const JobSpec& spec) {
  if (spec.exclusive && !is_idle(node)) return false;
  for (const TaskGroup& group : spec.groups) {
    if (capacity(view_of(node), group, policy, 1) > 0) return true;
  }
  return false;
}

// Whether more room never hides places. With several groups, or devices for each node beside those
// of tasks, the search takes first what a later part needed; and what is near to a label may come
// and go. Devices of either kind alone are counted, not taken.
bool search_is_monotone(const JobSpec& spec) {
  if (spec.groups.size() != 1 || !spec.near_labels.empty()) return false;
  const TaskGroup& group = spec.groups.front();
  return !wants_devices(group.per_node) || !wants_devices(group.per_task);
}

}  // namespace dove::core
