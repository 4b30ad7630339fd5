// Multifactor: priority and waiting time and size in one sum, as sites know it from Slurm.
//
// A job gains one point for each minute that it waits, without end, so that nothing starves; a
// point of priority is worth as much as kPriority_minutes of waiting; each whole device that it
// asks for counts as a minute, so that big gangs are not passed for ever. All jobs age at one pace:
// their order never changes while they wait. For past use name fair_share above it.
#pragma once

#include "core/policy.h"

namespace dove::policies {

class Multifactor final : public core::OrderPolicy {
 public:
  static constexpr std::int64_t kPriority_minutes = 60;
  std::string_view name() const override { return "multifactor/1"; }
  std::int64_t rank(const core::State& state, const core::Job& job) const override;
};

}  // namespace dove::policies
