#include "policies/shortest_limit.h"

namespace dove::policies {

std::int64_t ShortestLimit::rank(const core::State&, const core::Job& job) const {
  const Span limit = job.spec->time_limit.us > 0 ? job.spec->time_limit : kUnlimited;
  return -(limit.us - job.ran_before.us) - job.submitted_at.us;
}

}  // namespace dove::policies
