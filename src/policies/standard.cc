#include "policies/standard.h"

#include "core/step.h"
#include "policies/best_fit.h"
#include "policies/priority_fifo.h"

namespace dove::policies {

const core::Policies& standard_policies() {
  static const PriorityFifo order;
  static const BestFit placement;
  static const core::Policies policies{&order, &placement};
  return policies;
}

std::string policy_digest(const core::Policies& policies) { return core::policy_digest(policies); }

}  // namespace dove::policies
