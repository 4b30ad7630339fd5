// What a cycle decides on a TestCluster, one kind of decision at a time.
#pragma once

#include <variant>
#include <vector>

#include "core/cycle/scheduler.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {

// Decides; the decisions of kind D, in order. All are applied.
template <class D>
std::vector<D> decide_for(TestCluster& cluster, const CycleOptions& options = {}) {
  std::vector<D> found;
  for (const Decision& each : decide(cluster.state, plain_policies(), options)) {
    if (const auto* one = std::get_if<D>(&each)) found.push_back(*one);
  }
  return found;
}

inline std::vector<JobId> launched(TestCluster& cluster) {
  std::vector<JobId> jobs;
  for (const Launch& launch : decide_for<Launch>(cluster)) jobs.push_back(launch.job);
  return jobs;
}

}  // namespace dove::core
