#include "core/queue_tree.h"

#include <algorithm>

#include "base/check.h"
#include "core/books.h"
#include "core/past_use.h"

namespace dove::core {
namespace {

constexpr std::int32_t kRoot = 0;

const Usage kNothing;

template <class T>
const T* find_in(const std::map<std::string, T>& map, const std::string& name) {
  const auto at = map.find(name);
  return at == map.end() ? nullptr : &at->second;
}

std::int64_t in_map(const std::map<std::string, std::int64_t>& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : at->second;
}

bool falls_short(const Quota& quota, const Usage& used) {
  if (used.cores < quota.cores || used.gpus_milli < quota.gpus_milli) return true;
  if (used.memory_bytes < quota.memory_bytes) return true;
  for (const Countable& one : quota.countables) {
    if (in_map(used.countables, one.name) < one.amount) return true;
  }
  for (const Countable& one : quota.gpus_by_model) {
    if (in_map(used.gpus_by_model, one.name) < one.amount) return true;
  }
  return false;
}

}  // namespace

const OrderPolicy* find_order(const Policies& policies, std::string_view name) {
  for (const OrderPolicy* order : policies.orders) {
    const std::string_view full = order->name();
    if (full == name || full.substr(0, full.find('/')) == name) return order;
  }
  return nullptr;
}

const OrderPolicy& order_of(const State& state, const Policies& policies,
                            const std::string& queue) {
  for (const Queue* each : queue_path(state, queue)) {
    const OrderPolicy* own = each->order.empty() ? nullptr : find_order(policies, each->order);
    if (own != nullptr) return *own;
  }
  const OrderPolicy* common = find_order(policies, state.settings.order);
  return common != nullptr ? *common : *policies.order;
}

void QueueTree::build(const State& state, const Policies& policies) {
  *this = QueueTree();
  default_order_ = find_order(policies, state.settings.order);
  if (default_order_ == nullptr) default_order_ = policies.order;
  branches_.emplace_back().order = default_order_;
  depends_on_usage_ = default_order_->basis() != Basis::kJob;
  for (const auto& [name, queue] : state.queues) add_queue(state, queue, policies);
}

std::int32_t QueueTree::add_queue(const State& state, const Queue& queue,
                                  const Policies& policies) {
  const auto known = queues_.find(queue.name);
  if (known != queues_.end()) return known->second;
  std::int32_t parent = kRoot;
  const auto above = state.queues.find(queue.parent);
  if (above != state.queues.end()) parent = add_queue(state, above->second, policies);
  const auto index = static_cast<std::int32_t>(branches_.size());
  Branch& made = branches_.emplace_back();
  made.parent = parent;
  made.queue = &queue;
  made.guaranteed = !(queue.guaranteed == Quota{});
  made.order = queue.order.empty() ? nullptr : find_order(policies, queue.order);
  if (made.order == nullptr) made.order = at(parent).order;
  queues_.emplace(queue.name, index);
  depends_on_usage_ = depends_on_usage_ || !by_job(made) || made.guaranteed;
  return index;
}

std::int32_t QueueTree::lane_of(const JobSpec& spec) {
  const auto queue = queues_.find(spec.queue);
  const std::int32_t parent = queue == queues_.end() ? kRoot : queue->second;
  const Branch& above = at(parent);
  const std::string& user = by_job(above) ? std::string() : spec.user;
  const auto [at, added] =
      lanes_.try_emplace({parent, user}, static_cast<std::int32_t>(branches_.size()));
  if (!added) return at->second;
  Branch made;
  made.parent = parent;
  made.queue = above.queue;
  made.user = user;
  made.lane = true;
  made.order = above.order;
  branches_.push_back(std::move(made));
  if (!user.empty()) lanes_by_user_[user].push_back(at->second);
  return at->second;
}

const OrderPolicy& QueueTree::order_of(const std::string& queue) const {
  const auto at = queues_.find(queue);
  return at == queues_.end() ? *default_order_
                             : *branches_[static_cast<std::size_t>(at->second)].order;
}

void QueueTree::update(std::int32_t lane, std::uint64_t wait_class,
                       const std::optional<QueueKey>& before, const std::optional<QueueKey>& now,
                       bool open) {
  Branch& branch = at(lane);
  const bool was_open = first_of(branch) != nullptr;
  if (before) {
    if (before != now) branch.classes.erase({*before, wait_class});
    if (before != now || !open) branch.open_classes.erase({*before, wait_class});
  }
  if (now) {
    branch.classes.insert({*now, wait_class});
    if (open) branch.open_classes.insert({*now, wait_class});
  }
  const int change = (first_of(branch) != nullptr ? 1 : 0) - (was_open ? 1 : 0);
  for (std::int32_t each = lane; change != 0 && each >= 0; each = at(each).parent) {
    at(each).open_count += change;
  }
  mark(lane);
}

const std::pair<QueueKey, std::uint64_t>* QueueTree::first_of(const Branch& lane) const {
  if (lane.open_classes.empty()) return nullptr;
  const auto& first = *lane.open_classes.begin();
  // Nothing passes the first job of a strict order.
  if (lane.order->head_blocks() && *lane.classes.begin() != first) return nullptr;
  return &first;
}

std::optional<std::uint64_t> QueueTree::first(const State& state) {
  if (!any_open()) return std::nullopt;
  std::int32_t index = kRoot;
  while (!at(index).lane) {
    freshen(state, index);
    const auto& children = at(index).children;
    const auto next = std::find_if(children.begin(), children.end(), [&](const auto& child) {
      return at(child.second).open_count > 0;
    });
    CHECK(next != children.end(), "an open branch has an open child");
    index = next->second;
  }
  return first_of(at(index))->second;
}

void QueueTree::mark(std::int32_t index) {
  while (index != kRoot && !at(index).is_stale) {
    Branch& branch = at(index);
    branch.is_stale = true;
    at(branch.parent).stale.push_back(index);
    index = branch.parent;
  }
}

void QueueTree::freshen(const State& state, std::int32_t index) {
  std::vector<std::int32_t> stale;
  stale.swap(at(index).stale);
  for (const std::int32_t child : stale) {
    at(child).is_stale = false;
    const std::optional<Key> key = key_of(state, child);
    Branch& branch = at(child);
    if (key == branch.key) continue;
    if (branch.key) at(index).children.erase({*branch.key, child});
    if (key) at(index).children.insert({*key, child});
    branch.key = key;
  }
}

// Where children go by their first job, only one that may be tried counts: what is ahead without a
// place does not pull others forward. Where they go by share it only breaks ties.
std::optional<QueueKey> QueueTree::head_of(const State& state, std::int32_t index) {
  const Branch* branch = &at(index);
  const bool open_only = by_job(at(branch->parent));
  while (!branch->lane) {
    const auto at_index = static_cast<std::int32_t>(branch - branches_.data());
    freshen(state, at_index);
    const auto& children = branch->children;
    const auto next = std::find_if(children.begin(), children.end(), [&](const auto& child) {
      return !open_only || at(child.second).open_count > 0;
    });
    if (next == children.end()) return std::nullopt;
    branch = &at(next->second);
  }
  const auto* first = open_only ? first_of(*branch)
                                : (branch->classes.empty() ? nullptr : &*branch->classes.begin());
  if (first == nullptr) return std::nullopt;
  if (at(index).lane || branch->order == default_order_) return first->first;
  // Keys of different orders do not compare: above a lane priority and age count.
  const Job* job = state.find_job(first->first.job);
  CHECK(job != nullptr, "what waits exists");
  const std::int64_t rank =
      job->priority + (branch->queue == nullptr ? 0 : branch->queue->priority);
  return QueueKey{-rank, job->submitted_seq, job->id};
}

void QueueTree::find_usage(const State& state, Branch& branch) const {
  const std::string& name = branch.lane ? branch.user : branch.queue->name;
  if (branch.usage == nullptr) {
    branch.usage = find_in(branch.lane ? state.usage_by_user : state.usage_by_queue, name);
  }
  if (branch.past == nullptr) {
    branch.past = find_in(branch.lane ? state.past_by_user : state.past_by_queue, name);
  }
}

bool QueueTree::is_below_guarantee(const State& state, Branch& branch) const {
  if (!branch.guaranteed) return false;
  find_usage(state, branch);
  return falls_short(branch.queue->guaranteed, branch.usage == nullptr ? kNothing : *branch.usage);
}

std::int64_t QueueTree::share_of(const State& state, Branch& branch) const {
  find_usage(state, branch);
  const OrderPolicy& order = *at(branch.parent).order;
  ShareView view;
  view.used = branch.usage == nullptr ? &kNothing : branch.usage;
  view.total = &total_;
  if (order.basis() == Basis::kPastUse) {
    view.past_milli_ms = past_use_at(branch.past == nullptr ? PastUse{} : *branch.past, *view.used,
                                     state.settings.fair_share_half_life, state.now);
  }
  view.weight = branch.lane ? 1 : branch.queue->weight;
  return order.share(view);
}

std::optional<QueueTree::Key> QueueTree::key_of(const State& state, std::int32_t index) {
  const std::optional<QueueKey> head = head_of(state, index);
  if (!head) return std::nullopt;
  Branch& branch = at(index);
  Key key;
  key.head = *head;
  if (!branch.lane) {
    key.band_negated = -std::int64_t{branch.queue->band};
    key.guaranteed_first = is_below_guarantee(state, branch) ? 0 : 1;
  }
  const bool by_share = !by_job(at(branch.parent)) && !(branch.lane && branch.user.empty());
  if (by_share) key.share = share_of(state, branch);
  return key;
}

void QueueTree::usage_changed(const std::string& queue, const std::string& user) {
  const auto lanes = lanes_by_user_.find(user);
  if (lanes != lanes_by_user_.end()) {
    for (const std::int32_t lane : lanes->second) {
      if (at(lane).key) mark(lane);
    }
  }
  const auto found = queues_.find(queue);
  if (found != queues_.end()) mark(found->second);
}

void QueueTree::mark_shares(bool past_only) {
  for (std::size_t i = 1; i < branches_.size(); ++i) {
    const Basis basis = at(branches_[i].parent).order->basis();
    if (basis == Basis::kPastUse || (!past_only && basis == Basis::kUse)) {
      mark(static_cast<std::int32_t>(i));
    }
  }
}

void QueueTree::time_passed() { mark_shares(true); }

void QueueTree::set_total(const Total& total) {
  total_ = total;
  mark_shares(false);
}

bool is_below_guarantee(const State& state, const Queue& queue) {
  if (queue.guaranteed == Quota{}) return false;
  const auto usage = state.usage_by_queue.find(queue.name);
  return falls_short(queue.guaranteed,
                     usage == state.usage_by_queue.end() ? kNothing : usage->second);
}

}  // namespace dove::core
