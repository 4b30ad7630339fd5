// PoolIndex: the available nodes of one pool, ordered for the search for places.
//
// The owner keeps it in step with the State (core/cycle/indexes.h). It decides nothing.
#pragma once

#include <map>
#include <string>

#include "core/place/domain.h"
#include "core/queue/policy.h"

namespace dove::core {

struct PoolIndex {
  std::string name;
  RankedNodes nodes;  // ascending by the placement policy's rank
  NodeFree free;      // of all of them
  Domains domains;    // by the units they are in
};
using PoolIndexes = std::map<std::string, PoolIndex>;  // by name, all of the State's pools

}  // namespace dove::core
