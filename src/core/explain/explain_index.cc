#include "core/explain/explain_index.h"

#include <algorithm>

#include "core/collections/sorted.h"
#include "core/place/reservation.h"
#include "core/queue/total.h"
#include "core/state/books.h"
#include "core/state/findings.h"

namespace dove::core {
namespace {

// When the windows on nodes are others next; kNever: no more.
Instant next_end(const State& state) {
  Instant next = kNever;
  for (const auto& [name, reservation] : state.reservations) {
    if (reservation.ends_at > state.now) next = std::min(next, reservation.ends_at);
  }
  return next;
}

template <class T>
std::vector<T> sorted(std::initializer_list<const std::vector<T>*> lists) {
  std::vector<T> all;
  for (const std::vector<T>* list : lists) all.insert(all.end(), list->begin(), list->end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

ExplainIndex::ExplainIndex(const State& state, const Policies& policies)
    : state_(state),
      policies_(policies),
      nodes_(state.nodes.size()),
      windows_until_(next_end(state)) {}

PoolBooks& ExplainIndex::books(const Pool& pool) {
  std::unique_ptr<PoolBooks>& books = books_[pool.name];
  if (books == nullptr) books = std::make_unique<PoolBooks>(state_, *policies_.placement, pool);
  return *books;
}

const RunningJobs& ExplainIndex::running() {
  if (!running_) running_ = running_jobs(state_);
  return *running_;
}

std::int64_t ExplainIndex::endless(const Pool& pool) {
  const auto [at, is_new] = endless_.try_emplace(pool.name);
  if (is_new) renew_endless(at->second, pool, running().all);
  return static_cast<std::int64_t>(at->second.size());
}

void ExplainIndex::renew_endless(std::vector<JobId>& list, const Pool& pool,
                                 std::span<const JobId> touched) {
  const std::vector<JobId>& holding = running().all;
  renew_sorted(list, touched, [&](JobId id) {
    if (!std::binary_search(holding.begin(), holding.end(), id)) return false;
    const Job& job = *state_.find_job(id);
    return pool_of(state_, *job.spec) == &pool && places_free_at(state_, job) == kNever;
  });
}

void ExplainIndex::update_jobs(std::span<const JobId> touched) {
  if (!running_ || touched.empty()) return;
  running_->update(state_, touched);
  for (auto& [pool, list] : endless_) renew_endless(list, state_.pools.at(pool), touched);
}

const Total& ExplainIndex::total() {
  if (total_) return *total_;
  total_.emplace();
  counted_.assign(nodes_, {});
  for (const Node& node : state_.nodes) {
    if (!is_available(node)) continue;
    counted_[node.id] = total_of(node);
    exchange(*total_, {}, counted_[node.id]);
  }
  return *total_;
}

void ExplainIndex::update_node(NodeId id) {
  for (auto& [name, books] : books_) books->update(id);
  if (!total_) return;
  const Node& node = state_.nodes[id];
  const Total now = is_available(node) ? total_of(node) : Total{};
  exchange(*total_, counted_[id], now);
  counted_[id] = now;
}

bool ExplainIndex::update(const Changes& changes) {
  if (state_.nodes.size() != nodes_) return false;
  const auto nodes = sorted({&changes.nodes, &changes.nodes_released, &changes.nodes_allocated});
  for (const NodeId id : nodes) update_node(id);
  update_jobs(sorted({&changes.jobs}));
  if (windows_until_ <= state_.now) {
    windows_until_ = next_end(state_);
    for (auto& [name, books] : books_) books->update_windows();
  }
  return true;
}

}  // namespace dove::core
