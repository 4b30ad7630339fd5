// A job's requirements on its nodes by name, feature, neighbour or executor. Pure.
#pragma once

#include "core/place/candidates.h"
#include "core/state/state.h"

namespace dove::core {

// Executors may have nodes without agents, which not every job may use.
inline bool chooses_nodes(const State& state, const JobSpec& spec) {
  return !state.executors.empty() || !spec.features.empty() || !spec.nodes_wanted.empty() ||
         !spec.nodes_excluded.empty() || !spec.executor.empty();
}

inline bool choose_alike(const JobSpec& a, const JobSpec& b) {
  return a.features == b.features && a.nodes_wanted == b.nodes_wanted &&
         a.nodes_excluded == b.nodes_excluded && a.executor == b.executor &&
         // The same list is all that one may use, and a part of what the other uses.
         wants_some(a) == wants_some(b);
}

// It depends on which jobs are where, and nobody knows that of a later time.
inline bool depends_on_neighbours(const JobSpec& spec) {
  return !spec.near_labels.empty() || !spec.apart_labels.empty();
}

}  // namespace dove::core
