#include "slurm/machine_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "telemetry/log.h"
#include "text/hostlist.h"

namespace dove::slurm {
namespace {

void add_partitions(const std::vector<NodeSeen>& nodes, std::set<std::string>& warnings) {
  std::map<std::string, std::set<int>> threads;
  for (const NodeSeen& node : nodes) {
    for (const std::string& partition : node.partitions) {
      threads[partition].insert(node.cpus_per_core);
    }
  }
  for (const auto& [partition, each] : threads) {
    if (each.size() < 2) continue;
    warnings.insert(fmt::format(
        "partition {} has nodes with {} and with {} CPUs for each core: a job at the gate counts "
        "by "
        "the fewest, and keeps too few threads on the others until it has started; give each kind "
        "of node a partition of its own",
        partition, *each.begin(), *each.rbegin()));
  }
}

}  // namespace

MachineFindings check_machines(const std::vector<NodeSeen>& nodes,
                               const std::vector<Machine>& machines) {
  MachineFindings found;
  std::unordered_map<std::string_view, const NodeSeen*> by_name;
  for (const NodeSeen& node : nodes) by_name.emplace(node.name, &node);
  std::map<int, std::vector<std::string>> unkept;  // by the CoreSpecCount that they need
  for (const Machine& machine : machines) {
    const int each = std::max(machine.threads_per_core, 1);
    const int reserved = (machine.cores_reserved + each - 1) / each;
    for (const std::string& name : machine.nodes) {
      const auto node = by_name.find(name);
      if (node == by_name.end()) continue;
      const NodeSeen& seen = *node->second;
      if (seen.cores() != machine.cores) {
        found.closed[name] = fmt::format(
            "Slurm counts {} cores there and the agent {}, so neither knows which cores the other "
            "gives: set Sockets, CoresPerSocket and ThreadsPerCore in slurm.conf as `slurmd -C` "
            "prints them; a machine whose cores have different numbers of threads cannot be shared",
            seen.cores(), machine.cores);
      }
      if (seen.cores_set_aside < reserved) unkept[reserved].push_back(name);
    }
  }
  for (auto& [cores, names] : unkept) {
    found.warnings.insert(fmt::format(
        "Slurm may give away the system's cores of {0}, which cores_reserved keeps here, and "
        "--exclusive jobs stay held there: set CoreSpecCount={1} of these nodes in slurm.conf",
        text::fold_hostlist(names), cores));
  }
  add_partitions(nodes, found.warnings);
  return found;
}

void MachineCheck::look(const std::vector<NodeSeen>& nodes) {
  const MachineFindings before = std::exchange(found_, check_machines(nodes, machines_));
  for (const auto& [node, why] : found_.closed) {
    if (before.closed.contains(node)) continue;
    telemetry::log(telemetry::Level::kWarning, "node_not_shared", {{"node", node}, {"why", why}});
  }
  for (const std::string& warning : found_.warnings) {
    if (before.warnings.contains(warning)) continue;
    telemetry::log(telemetry::Level::kWarning, "slurm_conf", {{"finding", warning}});
  }
}

void MachineCheck::close(NodeSeen& node) const {
  const auto closed = found_.closed.find(node.name);
  if (closed == found_.closed.end() || node.state != NodeSeen::State::kUp) return;
  node.state = NodeSeen::State::kDrained;
  node.reason = closed->second;
}

}  // namespace dove::slurm
