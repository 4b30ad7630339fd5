// The nodes that a job's features and choice of nodes allow.
//
// An explanation asks about the same nodes several times, and comparing node names is slow, so each
// node is examined once.
#pragma once

#include <optional>

#include "core/state/state.h"

namespace dove::core {

class NodeChoice {
 public:
  // Both must stay as they are.
  NodeChoice(const State& state, const JobSpec& spec);

  const JobSpec& spec() const { return spec_; }
  // For a job that chooses none, nothing of the node is read.
  bool allows(NodeId node);

 private:
  const State& state_;
  const JobSpec& spec_;
  const bool chooses_;
  ById<NodeId, std::optional<bool>> known_;
};

}  // namespace dove::core
