// PoolBooks: the nodes of one pool as they are, and as they would be with some resources free.
//
// Each variant is built when it is first needed. update then follows the nodes one by one, with the
// same result as building it anew. Must not outlive the State. Used from one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/explain/pool_nodes.h"
#include "core/explain/what_if.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

class PoolBooks {
 public:
  PoolBooks(const State& state, const PlacementPolicy& policy, const Pool& pool);

  const PoolNodes& nodes() const { return nodes_; }
  // With these resources free; nothing: as they are. REQUIRES: no countables are among them.
  WhatIf& all(const Freed& freed = {});
  WhatIf& available(const Freed& freed = {});

  // REQUIRES: the node was there when this was made.
  void update(NodeId node);
  // A reservation has ended.
  void update_windows();

 private:
  struct Variant {
    Freed freed;
    std::unique_ptr<WhatIf> all;
    std::unique_ptr<WhatIf> available;  // null: nobody has asked
  };

  Variant& variant(const Freed& freed);

  const State& state_;
  const Pool& pool_;
  PoolNodes nodes_;
  std::vector<Variant> variants_;  // the first: as they are
};

}  // namespace dove::core
