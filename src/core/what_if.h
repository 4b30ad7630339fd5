// WhatIf: whether a job would fit if nodes were empty, or all were available. For explanations and
// admission; works on a copy of the nodes, so it may be asked of any State.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/place.h"
#include "core/policy.h"
#include "core/state.h"

namespace dove::core {

class WhatIf {
 public:
  enum class Books { kAsTheyAre, kEmpty };
  enum class Nodes { kAvailable, kAll };  // all: but not the removed ones

  WhatIf(const State& state, const PlacementPolicy& policy, const Pool& pool, Books books,
         Nodes nodes);
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  bool fits(const JobSpec& spec) const;
  // Nodes that the job's features and choice of nodes allow.
  std::vector<const Node*> matching(const JobSpec& spec) const;
  // Of those, the ones with room for a task.
  std::int64_t count_with_room(const JobSpec& spec) const;

 private:
  const PlacementPolicy& policy_;
  std::vector<Node> nodes_;
  std::set<NodeEntry> ranked_;
};

}  // namespace dove::core
