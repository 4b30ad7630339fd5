#include "policies/standard.h"

#include "core/cycle/cycle.h"
#include "policies/fair_share.h"
#include "policies/learned.h"
#include "policies/least_attained.h"
#include "policies/multifactor.h"
#include "policies/placement/best_fit.h"
#include "policies/placement/score_policies.h"
#include "policies/priority_fifo.h"
#include "policies/priority_lifo.h"
#include "policies/shortest_limit.h"
#include "policies/smallest_share.h"
#include "policies/strict_fifo.h"

namespace dove::policies {
namespace {

std::vector<const core::ScorePolicy*> live_scores() {
  std::vector<const core::ScorePolicy*> live;
  for (const NamedScorePolicy& each : score_policies()) live.push_back(each.policy);
  return live;
}

}  // namespace

const core::Policies& standard_policies() {
  static const PriorityFifo order;
  static const StrictFifo strict;
  static const PriorityLifo lifo;
  static const SmallestShare dominant;
  static const FairShare fair;
  static const Multifactor multifactor;
  static const ShortestLimit shortest;
  static const LeastAttained attained;
  static const Learned learned;
  static const BestFit placement;
  static const core::Policies policies{
      &order,
      &placement,
      {&order, &strict, &lifo, &dominant, &fair, &multifactor, &shortest, &attained, &learned},
      live_scores()};
  return policies;
}

std::string policy_digest(const core::Policies& policies) { return core::policy_digest(policies); }

}  // namespace dove::policies
