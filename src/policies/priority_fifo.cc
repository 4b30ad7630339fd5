#include "policies/priority_fifo.h"

namespace dove::policies {

std::int64_t PriorityFifo::rank(const core::State& state, const core::Job& job) const {
  const auto queue = state.queues.find(job.spec->queue);
  const std::int64_t of_queue = queue == state.queues.end() ? 0 : queue->second.priority;
  return of_queue + job.priority;
}

}  // namespace dove::policies
