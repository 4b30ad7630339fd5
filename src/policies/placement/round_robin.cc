#include "policies/placement/round_robin.h"

namespace dove::policies {
namespace {

class RoundRobinScorer final : public core::Scorer {
 public:
  core::Score score(const core::FreeState&, const core::TaskShape&) const override { return {0}; }
};

}  // namespace

std::unique_ptr<const core::Scorer> RoundRobin::prepare(std::span<const core::MixEntry>,
                                                        std::span<const core::NodeClass>) const {
  return std::make_unique<RoundRobinScorer>();
}

}  // namespace dove::policies
