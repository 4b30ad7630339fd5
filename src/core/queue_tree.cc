#include "core/queue_tree.h"

#include "base/check.h"
#include "core/books.h"
#include "core/past_use.h"

namespace dove::core {
namespace {

constexpr std::int32_t kRoot = 0;

const Usage& usage_in(const std::map<std::string, Usage>& usages, const std::string& name) {
  static const Usage nothing;
  const auto at = usages.find(name);
  return at == usages.end() ? nothing : at->second;
}

PastUse past_in(const std::map<std::string, PastUse>& pasts, const std::string& name) {
  const auto at = pasts.find(name);
  return at == pasts.end() ? PastUse{} : at->second;
}

std::int64_t in_map(const std::map<std::string, std::int64_t>& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : at->second;
}

}  // namespace

bool is_below_guarantee(const State& state, const Queue& queue) {
  const Quota& quota = queue.guaranteed;
  const Usage& used = usage_in(state.usage_by_queue, queue.name);
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
  depends_on_usage_ = default_order_->by_share();
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
  made.order = queue.order.empty() ? nullptr : find_order(policies, queue.order);
  if (made.order == nullptr) made.order = branches_[static_cast<std::size_t>(parent)].order;
  queues_.emplace(queue.name, index);
  depends_on_usage_ = depends_on_usage_ || made.order->by_share() || !(queue.guaranteed == Quota{});
  return index;
}

std::int32_t QueueTree::lane_of(const State& state, const JobSpec& spec) {
  const auto queue = queues_.find(spec.queue);
  const std::int32_t parent = queue == queues_.end() ? kRoot : queue->second;
  const Branch& above = branches_[static_cast<std::size_t>(parent)];
  const std::string& user = above.order->by_share() ? spec.user : std::string();
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
  refresh(state, at->second);
  return at->second;
}

const OrderPolicy& QueueTree::order_of(const std::string& queue) const {
  const auto at = queues_.find(queue);
  return at == queues_.end() ? *default_order_
                             : *branches_[static_cast<std::size_t>(at->second)].order;
}

void QueueTree::update(const State& state, std::int32_t lane, std::uint64_t wait_class,
                       const std::optional<QueueKey>& before, const std::optional<QueueKey>& now,
                       bool open) {
  Branch& branch = branches_[static_cast<std::size_t>(lane)];
  if (before) {
    if (before != now) branch.classes.erase({*before, wait_class});
    if (before != now || !open) branch.open_classes.erase({*before, wait_class});
  }
  if (now) {
    branch.classes.insert({*now, wait_class});
    if (open) branch.open_classes.insert({*now, wait_class});
  }
  refresh(state, lane);
}

const std::pair<QueueKey, std::uint64_t>* QueueTree::first_of(const Branch& lane) const {
  if (lane.open_classes.empty()) return nullptr;
  const auto& first = *lane.open_classes.begin();
  // Nothing passes the first job of a strict order.
  if (lane.order->head_blocks() && *lane.classes.begin() != first) return nullptr;
  return &first;
}

std::optional<std::uint64_t> QueueTree::first() const {
  const Branch* branch = &branches_[kRoot];
  while (!branch->lane) {
    if (branch->open.empty()) return std::nullopt;
    branch = &branches_[static_cast<std::size_t>(branch->open.begin()->second)];
  }
  return first_of(*branch)->second;
}

// Keys of different orders do not compare: above a lane the first job counts by its priority and
// its age.
QueueKey QueueTree::head_of(const State& state, const Branch& branch) const {
  const Branch* at = &branch;
  while (!at->lane) at = &branches_[static_cast<std::size_t>(at->open.begin()->second)];
  const QueueKey& own = first_of(*at)->first;
  if (branch.lane || at->order == default_order_) return own;
  const Job* job = state.find_job(own.job);
  CHECK(job != nullptr, "what waits exists");
  const std::int64_t rank = job->priority + (at->queue == nullptr ? 0 : at->queue->priority);
  return {-rank, job->submitted_seq, job->id};
}

std::int64_t QueueTree::share_of(const State& state, const Branch& branch) const {
  const bool user = branch.lane;
  const std::string& name = user ? branch.user : branch.queue->name;
  const Usage& used = usage_in(user ? state.usage_by_user : state.usage_by_queue, name);
  const PastUse past = past_in(user ? state.past_by_user : state.past_by_queue, name);
  ShareView view;
  view.used = &used;
  view.total = &total_;
  view.past_milli_ms = past_use_at(past, used, state.settings.fair_share_half_life, state.now);
  view.weight = user ? 1 : branch.queue->weight;
  const Branch& parent = branches_[static_cast<std::size_t>(branch.parent)];
  return parent.order->share(view);
}

QueueTree::Key QueueTree::key_of(const State& state, const Branch& branch) const {
  const Branch& parent = branches_[static_cast<std::size_t>(branch.parent)];
  Key key;
  if (!branch.lane) {
    key.band_negated = -std::int64_t{branch.queue->band};
    key.guaranteed_first = is_below_guarantee(state, *branch.queue) ? 0 : 1;
  }
  const bool by_share = parent.order->by_share() && !(branch.lane && branch.user.empty());
  if (by_share) key.share = share_of(state, branch);
  key.head = head_of(state, branch);
  return key;
}

void QueueTree::refresh(const State& state, std::int32_t index) {
  while (index != kRoot) {
    Branch& branch = branches_[static_cast<std::size_t>(index)];
    const bool wanted = branch.lane ? first_of(branch) != nullptr : !branch.open.empty();
    std::optional<Key> key;
    if (wanted) key = key_of(state, branch);
    if (key == branch.key) return;
    Branch& parent = branches_[static_cast<std::size_t>(branch.parent)];
    if (branch.key) parent.open.erase({*branch.key, index});
    if (key) parent.open.insert({*key, index});
    branch.key = key;
    index = branch.parent;
  }
}

void QueueTree::usage_changed(const State& state, const std::string& queue,
                              const std::string& user) {
  const auto lanes = lanes_by_user_.find(user);
  if (lanes != lanes_by_user_.end()) {
    for (const std::int32_t lane : lanes->second) refresh(state, lane);
  }
  const auto at = queues_.find(queue);
  std::int32_t index = at == queues_.end() ? kRoot : at->second;
  for (; index != kRoot; index = branches_[static_cast<std::size_t>(index)].parent) {
    refresh(state, index);
  }
}

void QueueTree::refresh_open(const State& state) {
  // Parents come before their children: from the end, each is reckoned with its children's keys.
  for (auto index = static_cast<std::int32_t>(branches_.size()) - 1; index > kRoot; --index) {
    if (branches_[static_cast<std::size_t>(index)].key) refresh(state, index);
  }
}

}  // namespace dove::core
