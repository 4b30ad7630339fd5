// The order of one queue: its policy, and a job's position in its user queue.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// The place of a job in its user queue: ascending.
struct QueueKey {
  std::int64_t rank_negated = 0;
  Seq submitted_seq;
  JobId job;
  auto operator<=>(const QueueKey&) const = default;
};

// Whether the waiting job is at the head of its queue: a bad node kept it from starting or had to
// be left, or its last attempt lost a node. What it held before is for it, before promises to
// others of its queue.
bool comes_first(const Job& job);

// The place of a waiting job in its user queue, ascending: first those that a bad node kept from
// starting.
std::int64_t queue_rank(const Job& job, std::int64_t policy_rank);

// The policy that orders the jobs of the queue: its own, or the next one's above it that names one.
const OrderPolicy& order_of(const State& state, const Policies& policies, const std::string& queue);

// The policy of that name, with or without its version; null when there is none.
const OrderPolicy* find_order(const Policies& policies, std::string_view name);

// The queue's weight in each resource.
QueueWeights weights_of(const Queue& queue);

}  // namespace dove::core
