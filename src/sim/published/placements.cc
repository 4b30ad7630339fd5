#include "sim/published/placements.h"

#include <array>

#include "policies/placement/clustering.h"
#include "policies/placement/dot_product.h"
#include "policies/placement/fgd.h"
#include "policies/placement/packing.h"
#include "sim/published/leftover_fit.h"
#include "sim/published/random_fit.h"

namespace dove::sim {

std::span<const PublishedPlacement> published_placements() {
  static const policies::Clustering clustering;
  static const policies::DotProduct dot_product;
  static const policies::Fgd fgd;
  static const LeftoverFit leftover_fit;
  static const policies::Packing packing;
  static const RandomFit random_fit;
  static const std::array all = {
      PublishedPlacement{"best-fit", &leftover_fit},
      PublishedPlacement{"clustering", &clustering},
      PublishedPlacement{"dot-product", &dot_product},
      PublishedPlacement{"fgd", &fgd},
      PublishedPlacement{"packing", &packing},
      PublishedPlacement{"random", &random_fit},
  };
  return all;
}

const core::ScorePolicy* find_published_placement(std::string_view name) {
  for (const PublishedPlacement& it : published_placements()) {
    if (it.name == name) return it.policy;
  }
  return nullptr;
}

}  // namespace dove::sim
