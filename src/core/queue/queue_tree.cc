#include "core/queue/queue_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "core/collections/move_in.h"
#include "core/state/amount.h"
#include "core/state/books.h"
#include "core/state/past/past_use.h"
#include "model/resource_names.h"

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

bool is_slice(const Countable& one) { return one.name.starts_with(kBySlice); }

bool guarantees_devices(const Quota& quota) {
  return quota.gpus_milli > 0 || !quota.gpus_by_model.empty() ||
         std::any_of(quota.countables.begin(), quota.countables.end(), is_slice);
}

// Where devices are guaranteed they alone decide: a queue that has all of its GPUs, and not all of
// the memory beside them, takes no other's.
bool falls_short(const Quota& quota, const Usage& used) {
  if (used.gpus_milli < quota.gpus_milli) return true;
  for (const Countable& one : quota.gpus_by_model) {
    if (in_map(used.gpus_by_model, one.name) < one.amount) return true;
  }
  const bool by_devices = guarantees_devices(quota);
  for (const Countable& one : quota.countables) {
    if (by_devices && !is_slice(one)) continue;
    if (in_map(used.countables, one.name) < one.amount) return true;
  }
  return !by_devices && (used.cores < quota.cores || used.memory_bytes < quota.memory_bytes);
}

}  // namespace

void QueueTree::build(const State& state, const Policies& policies) {
  *this = QueueTree();
  default_order_ = find_order(policies, state.settings.order);
  if (default_order_ == nullptr) default_order_ = policies.order;
  // The cluster is the root: a job whose queue has been deleted still waits somewhere.
  branches_.emplace_back().order = default_order_;
  depends_on_usage_ = default_order_->basis() != Basis::kJob;
  for (const auto& [name, queue] : state.queues) add_queue(state, queue, policies);
}

std::int32_t QueueTree::add_queue(const State& state, const Queue& queue,
                                  const Policies& policies) {
  const auto known = queues_.find(queue.name);
  // A queue is added with its parents, whatever order the names are in.
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
  // An order that nobody knows (its library is not loaded) gives way to the parent's: jobs still
  // start.
  if (made.order == nullptr) made.order = at(parent).order;
  made.by_head = at(parent).by_head || by_first_job(at(parent));
  queues_.emplace(queue.name, index);
  // Heads are compared only where all orders below agree; otherwise head_of falls back to what
  // every job has.
  const bool agrees = by_job(made) && made.order == at(parent).order;
  mixes_orders_ = mixes_orders_ || (made.by_head && !agrees);
  depends_on_usage_ = depends_on_usage_ || !by_job(made) || made.guaranteed;
  return index;
}

std::int32_t QueueTree::user_of(const std::string& name) {
  const auto [at, added] =
      users_.try_emplace(name, static_cast<std::int32_t>(queues_by_user_.size()));
  if (added) queues_by_user_.emplace_back();
  return at->second;
}

std::int32_t QueueTree::user_queue_of(const JobSpec& spec) {
  const auto queue = queues_.find(spec.queue);
  const std::int32_t parent = queue == queues_.end() ? kRoot : queue->second;
  const Branch& above = at(parent);
  // An order by job needs no user queues of users: one user queue keeps all its classes.
  const std::string& user = by_job(above) ? std::string() : spec.user;
  const auto [at, added] =
      user_queues_.try_emplace({parent, user}, static_cast<std::int32_t>(branches_.size()));
  if (!added) return at->second;
  Branch made;
  made.parent = parent;
  made.queue = above.queue;
  made.user = user;
  made.is_user_queue = true;
  made.order = above.order;
  made.by_head = above.by_head || by_first_job(above);
  // A user queue is never dropped: users come back, and an index is a small price for it.
  branches_.push_back(std::move(made));
  if (!user.empty()) {
    queues_by_user_[static_cast<std::size_t>(user_of(user))].push_back(at->second);
  }
  return at->second;
}

const OrderPolicy& QueueTree::order_of(const std::string& queue) const {
  const auto at = queues_.find(queue);
  return at == queues_.end() ? *default_order_
                             : *branches_[static_cast<std::size_t>(at->second)].order;
}

void QueueTree::update(std::int32_t user_queue, std::uint64_t equivalence_class,
                       const std::optional<QueueKey>& before, const std::optional<QueueKey>& now,
                       bool open) {
  Branch& branch = at(user_queue);
  const bool was_open = first_of(branch) != nullptr;
  const auto entry = [&](const std::optional<QueueKey>& key) {
    return key ? std::optional(std::pair(*key, equivalence_class)) : std::nullopt;
  };
  // Strict orders need to know the first class of all, also a closed one, as nothing passes it.
  if (branch.order->head() == Head::kBlocks) move_in(branch.classes, entry(before), entry(now));
  move_in(branch.open_classes, entry(before), open ? entry(now) : std::nullopt);
  const int change = (first_of(branch) != nullptr ? 1 : 0) - (was_open ? 1 : 0);
  // Only when the user queue opens or closes: as long as it has another class to try, nothing above
  // it changes.
  for (std::int32_t each = user_queue; change != 0 && each >= 0; each = at(each).parent) {
    at(each).open_count += change;
    // It comes among its siblings, or goes.
    if (at(each).open_count == (change > 0 ? 1 : 0)) mark(each);
  }
  mark(user_queue);
}

const std::pair<QueueKey, std::uint64_t>* QueueTree::first_of(const Branch& user_queue) const {
  if (user_queue.open_classes.empty()) return nullptr;
  const auto& first = *user_queue.open_classes.begin();
  // Nothing passes the first job of a strict order.
  if (user_queue.order->head() == Head::kBlocks && *user_queue.classes.begin() != first)
    return nullptr;
  return &first;
}

std::optional<std::uint64_t> QueueTree::first(const State& state) {
  if (!any_open()) return std::nullopt;
  tied_ = false;
  std::int32_t index = kRoot;
  // From the top down, one comparison at each level: a choice costs the depth of the tree, not its
  // width.
  while (!at(index).is_user_queue) index = first_child(state, index);
  return first_of(at(index))->second;
}

std::int32_t QueueTree::first_child(const State& state, std::int32_t index) {
  freshen(state, index);
  const Children& children = at(index).children;
  CHECK(!children.empty(), "an open branch has an open child");
  // Children with equal keys are told apart by their first jobs, which are looked up for those that
  // tie alone: a head's key would have to be renewed in all levels above each time it changes.
  auto each = children.begin();
  const auto& [key, first] = *each;
  if (at(first).by_head || ++each == children.end() || !each->first.ties(key)) return first;
  std::int32_t best = first;
  for (QueueKey head = head_of(state, best); each != children.end() && each->first.ties(key);
       ++each) {
    // User queues are in the order of their first jobs.
    if (at(each->second).is_user_queue && at(best).is_user_queue) continue;
    tied_ = true;
    const QueueKey other = head_of(state, each->second);
    if (!(other < head)) continue;
    head = other;
    best = each->second;
  }
  return best;
}

// Keys of branches change with every launch and end. A stale branch is noted at its parent and its
// key computed when the parent is next asked for its first child, once for all changes until then.
void QueueTree::mark(std::int32_t index) {
  // A stale branch is on its parent's list already, and so are those above it, if they care.
  while (index != kRoot && !at(index).is_stale) {
    Branch& branch = at(index);
    Branch& parent = at(branch.parent);
    branch.is_stale = true;
    branch.next_stale = std::exchange(parent.stale, index);
    // The parent's key does not contain heads, so nothing further up can change.
    if (!parent.by_head) return;
    index = branch.parent;
  }
}

void QueueTree::freshen(const State& state, std::int32_t index) {
  std::int32_t next = std::exchange(at(index).stale, kNone);
  Children& children = at(index).children;
  while (next != kNone) {
    const std::int32_t child = next;
    Branch& branch = at(child);
    next = std::exchange(branch.next_stale, kNone);
    branch.is_stale = false;
    const std::optional<BranchKey> key = key_of(state, child);
    // Keys that come out as before leave the set untouched: that is most of them.
    if (key == branch.key) continue;
    const auto entry = [child](const std::optional<BranchKey>& at) {
      return at ? std::optional(std::pair(*at, child)) : std::nullopt;
    };
    move_in(children, entry(branch.key), entry(key));
    branch.key = key;
  }
}

QueueKey QueueTree::head_of(const State& state, std::int32_t index) {
  std::int32_t below = index;
  while (!at(below).is_user_queue) below = first_child(state, below);
  const QueueKey& first = first_of(at(below))->first;
  // One order throughout: its keys compare, and are used as they are.
  if (at(index).is_user_queue || at(below).order == default_order_) return first;
  // Keys of different orders do not compare: above a user queue priority and age count.
  const Job* job = state.find_job(first.job);
  CHECK(job != nullptr, "what waits exists");
  const Queue* queue = at(below).queue;
  const std::int64_t rank = job->priority + (queue == nullptr ? 0 : queue->priority);
  return QueueKey{-rank, job->submitted_seq, job->id};
}

void QueueTree::find_usage(const State& state, Branch& branch) const {
  const std::string& name = branch.is_user_queue ? branch.user : branch.queue->name;
  // Looked up once: entries stay in their maps as long as the tree is built for this state.
  if (branch.usage == nullptr) {
    branch.usage = find_in(branch.is_user_queue ? state.usage_by_user : state.usage_by_queue, name);
  }
  if (branch.past == nullptr) {
    branch.past = find_in(branch.is_user_queue ? state.past_by_user : state.past_by_queue, name);
  }
}

bool QueueTree::is_below_guarantee(const State& state, Branch& branch) const {
  if (!branch.guaranteed) return false;
  find_usage(state, branch);
  return falls_short(branch.queue->guaranteed, branch.usage == nullptr ? kNothing : *branch.usage);
}

std::int64_t QueueTree::share_of(const State& state, Branch& branch) const {
  find_usage(state, branch);
  // The order that compares is the parent's, not the branch's own.
  const OrderPolicy& order = *at(branch.parent).order;
  ShareView view;
  view.used = branch.usage == nullptr ? &kNothing : branch.usage;
  view.total = &total_;
  if (counts_past_use(order.basis())) {
    view.half_life = state.settings.fair_share_half_life;
    view.fair_share = state.settings.multifactor.fair_share;
    view.past_milli_ms = past_use_at(branch.past == nullptr ? PastUse{} : *branch.past, *view.used,
                                     state.settings.fair_share_half_life, state.now);
  }
  // Users have no weight among themselves.
  if (!branch.is_user_queue) {
    view.weight = branch.queue->weight;
    view.weights = weights_of(*branch.queue);
  }
  return order.share(view);
}

std::optional<BranchKey> QueueTree::key_of(const State& state, std::int32_t index) {
  Branch& branch = at(index);
  // A branch without anything to try is not among its siblings at all.
  if (branch.open_count == 0) return std::nullopt;
  BranchKey key;
  // Without heads in the key it stays as it is while jobs come and go, which saves the walk up.
  if (branch.is_user_queue || branch.by_head) key.head = head_of(state, index);
  if (!branch.is_user_queue) {
    // Bands before guarantees before shares: each decides only among equals of the one before.
    key.band_negated = -std::int64_t{branch.queue->band};
    key.guaranteed_first = is_below_guarantee(state, branch) ? 0 : 1;
  }
  // The user queue of all users has no owner whose share could be asked.
  const bool by_share =
      !by_job(at(branch.parent)) && !(branch.is_user_queue && branch.user.empty());
  if (by_share) key.share = share_of(state, branch);
  // A job that comes first does so among the users of its queue too.
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  if (by_share && branch.is_user_queue && key.head.rank_negated == kFirst) key.share = kFirst;
  if (by_share && key.share != kFirst && at(branch.parent).order->basis() == Basis::kRank) {
    const Job* first = state.find_job(head_of(state, index).job);
    CHECK(first != nullptr, "what waits exists");
    key.share += queue_rank(*first, at(branch.parent).order->rank(state, *first));
  }
  return key;
}

const QueueTree::Holder& QueueTree::holder_of(const Job& job) {
  CHECK(job.account > 0, "its usage was counted");
  // By account: to find queue and user by name would cost two look-ups for each launch and end.
  if (holders_.size() <= job.account) holders_.resize(job.account + 1);
  Holder& known = holders_[job.account];
  if (known.user < 0) {
    const auto queue = queues_.find(job.spec->queue);
    known = {queue == queues_.end() ? kRoot : queue->second, user_of(job.spec->user)};
  }
  return known;
}

void QueueTree::usage_changed(const Holder& holder) {
  // All user queues of the user: what they hold counts wherever they wait.
  for (const std::int32_t user_queue : queues_by_user_[static_cast<std::size_t>(holder.user)]) {
    if (at(user_queue).open_count > 0) mark(user_queue);
  }
  // Closed branches are not marked. Their key is computed when they open.
  for (std::int32_t each = holder.queue; each != kRoot; each = at(each).parent) {
    if (at(each).open_count > 0) mark(each);
  }
}

void QueueTree::mark_shares(bool past_only) {
  for (std::size_t i = 1; i < branches_.size(); ++i) {
    const Basis basis = at(branches_[i].parent).order->basis();
    // Past use decays by itself; what is held now, and the shares by it, do not.
    if (counts_past_use(basis) || (!past_only && basis == Basis::kUse)) {
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
