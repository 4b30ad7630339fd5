#include "core/queue/queue_order.h"

#include <algorithm>
#include <limits>

#include "core/state/books.h"

namespace dove::core {

bool comes_first(const Job& job) {
  // What lost its node by no fault of its own has waited its turn already.
  return job.at_head ||
         (!job.attempts.empty() && job.attempts.back().stop_reason == StopReason::kNodeLost);
}

std::int64_t queue_rank(const Job& job, std::int64_t policy_rank) {
  // Keys ascend and ranks descend, so ranks are negated. The least key of all stands for the head
  // of the queue, before whatever a policy may give.
  return comes_first(job) ? std::numeric_limits<std::int64_t>::min() : -policy_rank;
}

const OrderPolicy* find_order(const Policies& policies, std::string_view name) {
  for (const OrderPolicy* order : policies.orders) {
    const std::string_view full = order->name();
    // "fair_share" or "fair_share/2": people leave the version out, digests do not.
    if (full == name || full.substr(0, full.find('/')) == name) return order;
  }
  return nullptr;
}

const OrderPolicy& order_of(const State& state, const Policies& policies,
                            const std::string& queue) {
  // From the queue up: the nearest declared order holds. One that this program does not know is
  // passed over, as the log may be of a program that did.
  for (const Queue* each : queue_path(state, queue)) {
    const OrderPolicy* own = each->order.empty() ? nullptr : find_order(policies, each->order);
    if (own != nullptr) return *own;
  }
  const OrderPolicy* common = find_order(policies, state.settings.order);
  return common != nullptr ? *common : *policies.order;
}

QueueWeights weights_of(const Queue& queue) {
  const auto or_weight = [&](std::int32_t of_resource) {
    return std::max(of_resource == 0 ? queue.weight : of_resource, 1);
  };
  return {or_weight(queue.weights.cores), or_weight(queue.weights.gpus),
          or_weight(queue.weights.memory)};
}

}  // namespace dove::core
