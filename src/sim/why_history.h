// Random histories whose waiting jobs are asked why they wait, and the answers checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "core/queue/policy.h"

namespace dove::sim {

struct WhyFindings {
  std::int64_t states = 0;  // in which a job was asked about
  std::int64_t wrong = 0;
  std::string first_wrong;                           // in words
  std::map<std::string, std::int64_t> by_kind = {};  // reasons that were given
};

// One history of `batches` batches; in each state one of the waiting jobs is asked about. See
// RandomWorld for `with_quotas`.
Result<void> ask_why(const core::Policies& policies, std::uint64_t seed, int batches,
                     WhyFindings& findings, bool with_quotas = false);

}  // namespace dove::sim
