#include "core/admit/declared_warnings.h"

#include <fmt/format.h>

#include "core/admit/admit_people.h"
#include "core/place/score_board.h"
#include "core/queue/queue_tree.h"
#include "core/state/books.h"
#include "core/state/round_robin.h"

namespace dove::core {
namespace {

// Calls tell(what, guaranteed, limit) for each amount of which more is guaranteed than may be had.
template <class Tell>
void each_beyond(const Quota& quota, const Limits& limits, Tell tell) {
  const auto one = [&](const std::string& what, std::int64_t guaranteed, std::int64_t limit) {
    if (limit >= 0 && guaranteed > limit) tell(what, guaranteed, limit);
  };
  one("cores", quota.cores, limits.cores);
  one("gpus_milli", quota.gpus_milli, limits.gpus_milli);
  one("memory_bytes", quota.memory_bytes, limits.memory_bytes);
  // By the limits: what is guaranteed without a limit on it cannot exceed one.
  const auto named = [&](const std::vector<Countable>& all, const std::vector<Countable>& most) {
    for (const Countable& limit : most) one(limit.name, amount_of(all, limit.name), limit.amount);
  };
  named(quota.countables, limits.countables);
  named(quota.gpus_by_model, limits.gpus_by_model);
}

// Limits hold also against guarantees, up to the root: each queue above counts what this one holds.
void warn_of_guarantee(const State& state, const Queue& queue, std::vector<std::string>& out) {
  for (const Queue* above : queue_path(state, queue.name)) {
    each_beyond(
        queue.guaranteed, above->limits,
        [&](const std::string& what, std::int64_t guaranteed, std::int64_t limit) {
          out.push_back(fmt::format(
              "{} {} are guaranteed, and {} may use {} at once: the limit holds", guaranteed, what,
              above == &state.queues.at(queue.name) ? "the queue" : "queue \"" + above->name + "\"",
              limit));
        });
  }
}

// A limit that one above makes unreachable.
void warn_of_limit(const State& state, const Queue& queue, std::vector<std::string>& out) {
  // A limit of -1 is none. As a quota it is below every limit above, and so never reported.
  Quota own;
  own.cores = queue.limits.cores;
  own.gpus_milli = queue.limits.gpus_milli;
  own.memory_bytes = queue.limits.memory_bytes;
  own.countables = queue.limits.countables;
  own.gpus_by_model = queue.limits.gpus_by_model;
  for (const Queue* above : queue_path(state, queue.name)) {
    if (above->name == queue.name) continue;
    each_beyond(own, above->limits,
                [&](const std::string& what, std::int64_t limit, std::int64_t theirs) {
                  out.push_back(
                      fmt::format("its limit of {} {} is never reached: queue \"{}\" above it may "
                                  "use {} at once",
                                  limit, what, above->name, theirs));
                });
  }
}

// Weights that nothing adds up.
void warn_of_weights(const State& state, const Policies& policies, std::vector<std::string>& out) {
  // Nobody wrote weights that could be without effect.
  if (state.settings.multifactor == MultifactorWeights{}) return;
  const auto sums = [&](const OrderPolicy& order) { return order.basis() == Basis::kRank; };
  if (sums(order_of(state, policies, ""))) return;
  for (const auto& [name, queue] : state.queues) {
    if (sums(order_of(state, policies, name))) return;
  }
  out.push_back(
      "multifactor has no effect: these are the weights of order multifactor, which neither the "
      "cluster nor a queue has");
}

// A name that works for one more release.
void warn_of_placement(const State& state, const Policies& policies,
                       std::vector<std::string>& out) {
  const std::string& name = state.settings.placement;
  const ScorePolicy* score = find_score(policies, name);
  if (score == nullptr || !is_called(score->former_name(), name)) return;
  const std::string_view full = score->name();
  out.push_back(
      fmt::format("placement {} is called {} now; the old name goes with the next release", name,
                  full.substr(0, full.find('/'))));
}

}  // namespace

std::vector<std::string> declared_warnings(const State& state, const Policies& policies,
                                           const Declared& object) {
  std::vector<std::string> out = people_warnings(state, object);
  if (std::holds_alternative<ClusterSettings>(object)) {
    warn_of_weights(state, policies, out);
    warn_of_placement(state, policies, out);
  }
  const auto* queue = std::get_if<Queue>(&object);
  // The state is one to which the object was applied; without that nothing can be said of it.
  if (queue == nullptr || !state.queues.contains(queue->name)) return out;
  const OrderPolicy& order = order_of(state, policies, queue->parent);
  // An order by job never asks for shares, so the weight does nothing where one would look for it.
  if (queue->weights != QueueWeights{} && order.basis() != Basis::kUse) {
    out.push_back(
        "weights has an effect on preemption only: the queues beside it are not served by what "
        "they hold of each resource; give their parent order drf or learned");
  }
  if (queue->weight != 1 && order.basis() == Basis::kJob) {
    const std::string_view name = order.name().substr(0, order.name().find('/'));
    const std::string where =
        queue->parent.empty() ? "the cluster" : "queue \"" + queue->parent + "\"";
    out.push_back(
        fmt::format("weight has an effect on preemption only: {} serves the queues below it by {}; "
                    "give it order drf, fair_share or multifactor",
                    where, name));
  }
  warn_of_guarantee(state, *queue, out);
  warn_of_limit(state, *queue, out);
  return out;
}

}  // namespace dove::core
