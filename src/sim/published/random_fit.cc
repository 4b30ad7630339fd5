#include "sim/published/random_fit.h"

namespace dove::sim {
namespace {

class RandomFitScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState&, const core::TaskShape&) const override { return {0}; }
};

}  // namespace

std::unique_ptr<const core::Scorer> RandomFit::prepare(std::span<const core::MixEntry>,
                                                       std::span<const core::NodeClass>) const {
  return std::make_unique<RandomFitScorer>();
}

}  // namespace dove::sim
