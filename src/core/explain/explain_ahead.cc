#include "core/explain/explain_ahead.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/queue/points.h"
#include "core/queue/queue_tree.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "core/state/findings.h"
#include "core/state/past/past_use.h"

namespace dove::core {
namespace {

// How a user queue stands to that of the job asked about.
struct Standing {
  enum class Side { kBehind, kByJob, kAhead };
  Side side = Side::kByJob;
  bool same_user_queue = false;
  bool same_queue = false;
  const char* by = "";      // kAhead: what decides
  std::int64_t mine = 0;    // of it
  std::int64_t theirs = 0;  // of it
  std::string branch;       // kAhead: of which one job counts; "": each counts
  const OrderPolicy* order = nullptr;
  bool ranks_compare = true;         // else priority and age do
  const OrderPolicy* sum = nullptr;  // whose rank, less the shares, is compared instead
};

struct UserQueue {
  Standing standing;
  std::int32_t branch = -1;  // of which one job counts: index in branches_
};

// The jobs of one queue stand alike, or those of one user of it do.
struct UserQueues {
  std::optional<UserQueue> all;
  std::map<std::string, UserQueue> by_user;
};

// How far before the job's id others are looked at, and how many jobs in all.
constexpr std::uint64_t kBefore_max = 8192;
constexpr std::size_t kLooked_at_max = 12288;
// How many jobs are fetched before they are looked at: their specs lie all over the memory.
constexpr std::size_t kAhead_of_look = 16;
// Above all queues: its order is that of the cluster.
const std::string kNoQueue;

class Ahead {
 public:
  Ahead(ExplainIndex& index, const Job& job)
      : state_(index.state()),
        policies_(index.policies()),
        job_(job),
        own_(order_of(state_, policies_, job.spec->queue)),
        common_(order_of(state_, policies_, kNoQueue)),
        path_(queue_path(state_, job.spec->queue)),
        pool_(pool_of(state_, *job.spec)),
        total_(index.total()) {
    std::reverse(path_.begin(), path_.end());
    Standing own;
    own.order = &own_;
    // Two keys: between queues of different orders ranks do not compare, so priority and age stand
    // in.
    mine_[1] = key(own, job);
    own.ranks_compare = &own_ == &common_;
    mine_[0] = key(own, job);
  }

  bool strict() const { return own_.head() == Head::kBlocks; }
  void look_at_all(bool own_queue_only);
  std::optional<Reason> reason() const;

 private:
  void look(const Job& other, bool own_queue_only);
  const UserQueue& user_queue_of(const Job& other);
  const UserQueue& user_queue_of(const JobSpec& spec);
  UserQueue find_user_queue(const JobSpec& spec, bool* of_user);
  Standing find_standing(const JobSpec& spec, bool* of_user) const;
  void by_branch(const Queue* above, const Queue* mine, const Queue* theirs, const JobSpec& spec,
                 Standing& out) const;
  ShareView view_of(const OrderPolicy& order, const Queue* queue, const std::string& user) const;
  std::int64_t past_part_of(const ShareView& view) const;
  QueueKey key(const Standing& standing, const Job& job) const;
  QueueKey sum_key(const Standing& standing, const Job& job) const;
  std::int64_t points_of(const QueueKey& sum) const;
  bool by_priority() const;
  void count(const Job& other, const UserQueue& user_queue, const QueueKey& key);

  const State& state_;
  const Policies& policies_;
  const Job& job_;
  const OrderPolicy& own_;
  const OrderPolicy& common_;
  std::vector<const Queue*> path_;  // from above
  const Pool* pool_;
  const Total& total_;
  std::map<std::string, UserQueues> user_queues_;
  std::vector<const UserQueue*> by_account_;  // of jobs that have one; null: not looked for yet
  std::vector<std::pair<std::string, bool>> branches_;  // whether counted
  std::array<QueueKey, 2> mine_;                        // by Standing::ranks_compare
  std::int64_t count_ = 0;
  bool not_all_ = false;
  const Job* next_ = nullptr;
  QueueKey next_key_;
  const Standing* next_standing_ = nullptr;
};

ShareView Ahead::view_of(const OrderPolicy& order, const Queue* queue,
                         const std::string& user) const {
  // An entry that is missing is a user who holds nothing.
  static const Usage nothing;
  const std::string& name = queue == nullptr ? user : queue->name;
  const auto& usages = queue == nullptr ? state_.usage_by_user : state_.usage_by_queue;
  const auto& pasts = queue == nullptr ? state_.past_by_user : state_.past_by_queue;
  const auto usage = usages.find(name);
  ShareView view;
  view.used = usage == usages.end() ? &nothing : &usage->second;
  view.total = &total_;
  view.half_life = state_.settings.fair_share_half_life;
  view.fair_share = state_.settings.multifactor.fair_share;
  if (counts_past_use(order.basis())) {
    const auto past = pasts.find(name);
    view.past_milli_ms = past_use_at(past == pasts.end() ? PastUse{} : past->second, *view.used,
                                     view.half_life, state_.now);
  }
  if (queue != nullptr) {
    view.weight = queue->weight;
    view.weights = weights_of(*queue);
  }
  return view;
}

std::int64_t Ahead::past_part_of(const ShareView& view) const {
  Usage all;
  all.cores = static_cast<std::int32_t>(total_.cores);
  all.gpus_milli = static_cast<std::int32_t>(total_.gpus_milli);
  all.memory_bytes = total_.memory_bytes;
  return past_part(view.past_milli_ms, use_rate_milli(all), view.half_life) / view.weight;
}

// The branches below `above` that lead to both; null: a user queue of `above` itself.
void Ahead::by_branch(const Queue* above, const Queue* mine, const Queue* theirs,
                      const JobSpec& spec, Standing& out) const {
  const auto decide = [&](const char* by, std::int64_t of_mine, std::int64_t of_theirs,
                          bool more_is_ahead) {
    // A tie is decided by what comes next.
    if (of_mine == of_theirs) return false;
    out.side =
        (of_theirs > of_mine) == more_is_ahead ? Standing::Side::kAhead : Standing::Side::kBehind;
    out.by = by;
    out.mine = of_mine;
    out.theirs = of_theirs;
    return true;
  };
  const auto band = [](const Queue* queue) { return queue == nullptr ? 0 : queue->band; };
  const auto below = [&](const Queue* queue) {
    return std::int64_t{queue != nullptr && is_below_guarantee(state_, *queue) ? 1 : 0};
  };
  // In the order of BranchKey, as the tree compares.
  if (decide("band", band(mine), band(theirs), true)) return;
  if (decide("guarantee", below(mine), below(theirs), true)) {
    // Only the next job of a branch that is ahead stands before this one: once that has started,
    // the shares are different.
    out.branch = theirs == nullptr ? "/" + spec.user : theirs->name;
    return;
  }
  const OrderPolicy& order = above == nullptr ? common_ : order_of(state_, policies_, above->name);
  // No shares: the jobs themselves decide.
  if (order.basis() == Basis::kJob) return;
  const ShareView of_mine = view_of(order, mine, job_.spec->user);
  const ShareView of_theirs = view_of(order, theirs, spec.user);
  if (order.basis() == Basis::kRank) {
    out.sum = &order;
    out.mine = order.share(of_mine);
    out.theirs = order.share(of_theirs);
    return;
  }
  // The smaller share goes first.
  if (!decide("share", order.share(of_mine), order.share(of_theirs), false)) return;
  out.branch = theirs == nullptr ? "/" + spec.user : theirs->name;
  // People understand what was used; the order's own number may be anything.
  if (order.basis() != Basis::kPastUse) return;
  out.by = "past_use";
  out.mine = past_part_of(of_mine);
  out.theirs = past_part_of(of_theirs);
}

Standing Ahead::find_standing(const JobSpec& spec, bool* of_user) const {
  Standing found;
  std::vector<const Queue*> path = queue_path(state_, spec.queue);
  std::reverse(path.begin(), path.end());
  // From the root down, to where the two paths part: above that both are the same, below it only
  // siblings compare.
  std::size_t same = 0;
  while (same < path.size() && same < path_.size() && path[same] == path_[same]) ++same;
  const bool one_queue = same == path.size() && same == path_.size();
  found.order = &order_of(state_, policies_, spec.queue);
  // There its users compete, with each other or with queues below.
  *of_user = same == path.size() && found.order->basis() != Basis::kJob;
  found.same_user_queue =
      one_queue && (own_.basis() == Basis::kJob || spec.user == job_.spec->user);
  found.same_queue = one_queue;
  found.ranks_compare = one_queue || found.order == &common_;
  if (found.same_user_queue) {
    if (own_.basis() == Basis::kRank) found.sum = &own_;
    return found;
  }
  by_branch(same == 0 ? nullptr : path[same - 1], same < path_.size() ? path_[same] : nullptr,
            same < path.size() ? path[same] : nullptr, spec, found);
  return found;
}

UserQueue Ahead::find_user_queue(const JobSpec& spec, bool* of_user) {
  UserQueue made{find_standing(spec, of_user), -1};
  const std::string& branch = made.standing.branch;
  if (branch.empty()) return made;
  const auto known = std::find_if(branches_.begin(), branches_.end(),
                                  // A list, as only queues and users that are ahead get into it.
                                  [&](const auto& each) { return each.first == branch; });
  made.branch = static_cast<std::int32_t>(known - branches_.begin());
  if (known == branches_.end()) branches_.emplace_back(branch, false);
  return made;
}

const UserQueue& Ahead::user_queue_of(const Job& other) {
  if (other.account == 0) return user_queue_of(*other.spec);
  // One account, one queue and user: a number instead of two names for each of thousands of jobs.
  if (by_account_.size() <= other.account) by_account_.resize(other.account + 1);
  const UserQueue*& known = by_account_[other.account];
  if (known == nullptr) known = &user_queue_of(*other.spec);
  return *known;
}

const UserQueue& Ahead::user_queue_of(const JobSpec& spec) {
  UserQueues& queue = user_queues_[spec.queue];
  // Jobs of a queue stand alike unless its users compete: one look-up by name instead of the
  // comparison for each of thousands of jobs.
  if (queue.all) return *queue.all;
  const auto known = queue.by_user.find(spec.user);
  if (known != queue.by_user.end()) return known->second;
  bool of_user = false;
  UserQueue made = find_user_queue(spec, &of_user);
  if (!of_user) return queue.all.emplace(std::move(made));
  return queue.by_user.emplace(spec.user, std::move(made)).first->second;
}

QueueKey Ahead::sum_key(const Standing& standing, const Job& job) const {
  std::int64_t share = &job == &job_ ? standing.mine : standing.theirs;
  // What is at the head of its queue is not put back by its owner's share.
  if (comes_first(job)) share = 0;
  return {queue_rank(job, standing.sum->rank(state_, job)) + share, job.submitted_seq, job.id};
}

QueueKey Ahead::key(const Standing& standing, const Job& job) const {
  if (standing.sum != nullptr) return sum_key(standing, job);
  if (standing.ranks_compare) {
    return {queue_rank(job, standing.order->rank(state_, job)), job.submitted_seq, job.id};
  }
  const auto queue = state_.queues.find(job.spec->queue);
  const std::int32_t of_queue = queue == state_.queues.end() ? 0 : queue->second.priority;
  return {-std::int64_t{job.priority} - of_queue, job.submitted_seq, job.id};
}

void Ahead::count(const Job& other, const UserQueue& user_queue, const QueueKey& key) {
  const Standing& standing = user_queue.standing;
  if (user_queue.branch >= 0) branches_[static_cast<std::size_t>(user_queue.branch)].second = true;
  ++count_;
  // The last of those in the job's own user queue is next before it; of others any of them may be.
  // The nearest one is named: it is the one whose start would bring this job forward.
  const bool nearer =
      next_ == nullptr || (standing.same_user_queue && !next_standing_->same_user_queue) ||
      (standing.same_user_queue == next_standing_->same_user_queue && next_key_ < key);
  if (!nearer) return;
  next_ = &other;
  next_key_ = key;
  next_standing_ = &standing;
}

void Ahead::look(const Job& other, bool own_queue_only) {
  const JobSpec& spec = *other.spec;
  const UserQueue& user_queue = user_queue_of(other);
  const Standing& standing = user_queue.standing;
  // The cheap questions first; most waiting jobs of a busy cluster are behind.
  if (standing.side == Standing::Side::kBehind) return;
  // Shares of users say nothing to who is at the head of its queue.
  if (standing.branch.starts_with('/') && comes_first(job_)) return;
  // That branch has its job already.
  if (user_queue.branch >= 0 && branches_[static_cast<std::size_t>(user_queue.branch)].second)
    return;
  const bool blocks = strict() && standing.same_user_queue;
  if (!blocks && own_queue_only) return;
  const QueueKey theirs = key(standing, other);
  if (standing.side == Standing::Side::kByJob) {
    const QueueKey& mine = mine_[standing.same_queue ? 1 : 0];
    if (!(theirs < (standing.sum != nullptr ? sum_key(standing, job_) : mine))) return;
  }
  // In another pool it takes none of its nodes. In a strict order it blocks all the same.
  const bool other_pool = spec.pool != job_.spec->pool && pool_of(state_, spec) != pool_;
  if ((!blocks && other_pool) || startable_at(state_, other) > state_.now) return;
  count(other, user_queue, theirs);
}

void Ahead::look_at_all(bool own_queue_only) {
  std::array<const Job*, kAhead_of_look> soon = {};
  std::size_t at = 0;
  // Ids ascend with age, and those before this job are mostly older: a window before it finds
  // nearly all that are ahead, in bounded time.
  const std::uint64_t first = std::max(job_.id.value, kBefore_max) - kBefore_max;
  not_all_ = !state_.jobs.empty() && state_.jobs.begin()->first.value < first;
  std::size_t looked_at = 0;
  state_.jobs.each_from(JobId(first), [&](const Job& other) {
    if (other.phase != JobPhase::kWaiting || other.held || other.id == job_.id) return true;
    if (++looked_at > kLooked_at_max) {
      not_all_ = true;
      return false;
    }
    __builtin_prefetch(&other.spec->user);
    __builtin_prefetch(&other.spec->pool);
    // A ring: a job is looked at some jobs after its spec was asked for, when it has come from
    // memory.
    const Job* now = std::exchange(soon[at], &other);
    at = (at + 1) % soon.size();
    if (now != nullptr) look(*now, own_queue_only);
    return true;
  });
  for (const Job* last : soon) {
    if (last != nullptr) look(*last, own_queue_only);
  }
}

// What the sum is by now: keys count from the epoch.
std::int64_t Ahead::points_of(const QueueKey& sum) const {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() / 2;
  const std::int64_t age = age_parts(state_.settings.multifactor, state_.now);
  return (age - std::max(sum.rank_negated, kLeast)) / kPoint;
}

// Whether the order heeds priorities.
bool Ahead::by_priority() const {
  if (!next_standing_->ranks_compare) return true;
  const OrderPolicy& order = *next_standing_->order;
  // The policy is asked, by trying: it alone knows what it orders by.
  Job other = *next_;
  // As if both had the same: a rank that stays does not depend on it.
  other.priority = job_.priority;
  return order.rank(state_, other) != order.rank(state_, *next_);
}

std::optional<Reason> Ahead::reason() const {
  if (next_ == nullptr) return std::nullopt;
  Reason made;
  made.kind = ReasonKind::kAhead;
  made.count = count_;
  // "At least this many", as not all were looked at.
  if (not_all_) made.limit = static_cast<std::int64_t>(kLooked_at_max);
  made.other = next_->id;
  if (strict() && next_standing_->same_user_queue) made.subject = job_.spec->queue;
  made.resource = next_standing_->by;
  made.needs = next_standing_->mine;
  made.used = next_standing_->theirs;
  // By branch: what decided has been said. By job it has yet to be found, in the order in which
  // keys compare.
  if (next_standing_->side != Standing::Side::kByJob) return made;
  if (comes_first(*next_) && !comes_first(job_)) {
    made.resource = "head";
  } else if (next_standing_->sum != nullptr) {
    made.resource = "sum";
    made.needs = points_of(sum_key(*next_standing_, job_));
    made.used = points_of(next_key_);
  } else if (next_->priority > job_.priority && by_priority()) {
    made.resource = "priority";
    made.needs = job_.priority;
    made.used = next_->priority;
  } else if (next_->submitted_seq < job_.submitted_seq && next_->priority >= job_.priority) {
    made.resource = "submission";
    // Neither priority nor age: the order has its own reason, and its name says it.
  } else {
    const std::string_view name = next_standing_->order->name();
    made.resource = name.substr(0, name.find('/'));
  }
  return made;
}

}  // namespace

void add_ahead(ExplainIndex& index, const Job& job, bool blocked, std::vector<Reason>& out) {
  Ahead ahead(index, job);
  // What is not blocked is next in turn, unless its order is strict.
  if (!blocked && !ahead.strict()) return;
  ahead.look_at_all(!blocked);
  if (auto made = ahead.reason()) out.push_back(std::move(*made));
}

}  // namespace dove::core
