// The input of a search for places in tests: all available nodes of a TestCluster.
#pragma once

#include "core/place/candidates.h"
#include "core/place/pool_index.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"
#include "core/state/findings.h"

namespace dove::core {

inline RankedNodes ranked_nodes(const State& state) {
  RankedNodes ranked;
  for (const Node& node : state.nodes) {
    if (is_available(node)) ranked.insert({NodeRank{}, node.id});
  }
  return ranked;
}

inline Candidates candidates_of(const State& state, const RankedNodes& ranked) {
  Candidates candidates;
  candidates.ranked = &ranked;
  candidates.nodes = &state.nodes.by_id();
  candidates.jobs = &state.jobs;
  return candidates;
}

inline PoolIndexes pool_indexes(const State& state) {
  PoolIndexes pools;
  for (const auto& [name, pool] : state.pools) {
    pools[name].name = name;
    pools[name].nodes = ranked_nodes(state);
  }
  return pools;
}

}  // namespace dove::core
