#include "policies/placement/score_policies.h"

#include "policies/placement/clustering.h"
#include "policies/placement/dot_product.h"
#include "policies/placement/expected_fit.h"
#include "policies/placement/fgd.h"
#include "policies/placement/packing.h"
#include "policies/placement/round_robin.h"
#include "policies/placement/spread.h"
#include "policies/placement/worst_fit.h"

namespace dove::policies {

const std::vector<NamedScorePolicy>& score_policies() {
  static const Clustering clustering;
  static const DotProduct dot_product;
  static const Fgd fgd;
  static const Packing packing;
  static const RoundRobin round_robin;
  static const Spread spread;
  static const ExpectedFit expected_fit;
  static const WorstFit worst_fit;
  static const std::vector<NamedScorePolicy> all = {
      {"clustering", &clustering},     {"dot-product", &dot_product}, {"fgd", &fgd},
      {"packing", &packing},           {"round-robin", &round_robin}, {"spread", &spread},
      {"expected-fit", &expected_fit}, {"worst-fit", &worst_fit},
  };
  return all;
}

const core::ScorePolicy* find_score_policy(std::string_view name) {
  for (const NamedScorePolicy& it : score_policies()) {
    if (it.name == name) return it.policy;
  }
  return nullptr;
}

}  // namespace dove::policies
