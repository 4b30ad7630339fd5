#include "policies/score_policies.h"

#include "policies/clustering.h"
#include "policies/dot_product.h"
#include "policies/fgd.h"
#include "policies/leftover_fit.h"
#include "policies/packing.h"
#include "policies/random_fit.h"
#include "policies/round_robin.h"
#include "policies/spread.h"
#include "policies/useful_rest.h"
#include "policies/worst_fit.h"

namespace dove::policies {

const std::vector<NamedScorePolicy>& score_policies() {
  static const Clustering clustering;
  static const DotProduct dot_product;
  static const Fgd fgd;
  static const LeftoverFit leftover_fit;
  static const Packing packing;
  static const RandomFit random_fit;
  static const RoundRobin round_robin;
  static const Spread spread;
  static const UsefulRest useful_rest;
  static const WorstFit worst_fit;
  static const std::vector<NamedScorePolicy> all = {
      {"best-fit", &leftover_fit},
      {"clustering", &clustering},
      {"default", &useful_rest},
      {"dot-product", &dot_product},
      {"fgd", &fgd},
      {"packing", &packing},
      {"random", &random_fit},
      {"round-robin", &round_robin},
      {"spread", &spread},
      {"worst-fit", &worst_fit},
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
