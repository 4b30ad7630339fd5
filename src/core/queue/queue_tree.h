// The tree of queues as a cycle walks it: which class of waiting jobs is tried next.
//
// Queues are below the cluster, and below a queue are queues or user queues. A user queue holds the
// classes of one user, or of all users if the queue's order is not by share. A branch's position
// among its siblings follows from the state alone: first the higher band, then branches below their
// guarantee, then the parent's order (by share, then by the branch's first job that may be tried;
// or by that job alone). A branch that is ahead but has no place does not move other branches
// forward.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/collections/ordered_set.h"
#include "core/queue/policy.h"
#include "core/queue/queue_order.h"
#include "core/state/state.h"

namespace dove::core {

// Where a queue, or a user queue, stands among those beside it; ascending.
struct BranchKey {
  std::int64_t band_negated = 0;
  std::int64_t guaranteed_first = 0;  // 0: below its guarantee
  std::int64_t share = 0;             // less the rank of its first job where that counts
  QueueKey head;  // of a queue among others by share: none, it is asked where they are equal
  auto operator<=>(const BranchKey&) const = default;
  bool ties(const BranchKey& other) const {
    return band_negated == other.band_negated && guaranteed_first == other.guaranteed_first &&
           share == other.share;
  }
};

class QueueTree {
 public:
  QueueTree() = default;

  // Makes the branches of the declared queues. `policies` must outlive the tree; so must what
  // `state` holds of queues, usage and past use: entries may come and change, not go.
  void build(const State& state, const Policies& policies);

  // Which user queue holds the classes of such jobs; made when new.
  std::int32_t user_queue_of(const JobSpec& spec);

  // The policy that orders the jobs of the queue.
  const OrderPolicy& order_of(const std::string& queue) const;

  // The class's first job has changed (none: it has no jobs), or whether it is to be tried.
  void update(std::int32_t user_queue, std::uint64_t equivalence_class,
              const std::optional<QueueKey>& before, const std::optional<QueueKey>& now, bool open);

  // The class to try next; none when nothing is left to try.
  std::optional<std::uint64_t> first(const State& state);
  // Whether the last choice was between queues of equal shares. Their first open jobs decide then,
  // so it depends on which classes are open.
  bool tied() const { return tied_; }
  bool any_open() const { return !branches_.empty() && branches_.front().open_count > 0; }

  // Whether nothing in the user queue passes its first job.
  bool is_strict(std::int32_t user_queue) const {
    return at(user_queue).order->head() == Head::kBlocks;
  }
  // Whether the class is not to be tried for that, whatever its verdict. REQUIRES: it has jobs.
  bool is_behind(std::int32_t user_queue, std::uint64_t equivalence_class) const {
    return is_strict(user_queue) && at(user_queue).classes.begin()->second != equivalence_class;
  }

  // Whose usage a job counts towards, found once for all jobs of an account. REQUIRES: it has one.
  struct Holder {
    std::int32_t queue = -1;
    std::int32_t user = -1;
  };
  const Holder& holder_of(const Job& job);
  // What the queue, all above it, and the user hold has changed.
  void usage_changed(const Holder& holder);
  // Time has passed: shares by past use are computed anew.
  void time_passed();
  // The cluster's totals have changed: all shares are.
  void set_total(const Total& total);

  // Whether what is held has a say in the order.
  bool depends_on_usage() const { return depends_on_usage_; }
  // Whether a queue among others by its first job has an order that need not agree with theirs:
  // then what comes first depends on which classes are to be tried.
  bool mixes_orders() const { return mixes_orders_; }

 private:
  using Children = OrderedSet<std::pair<BranchKey, std::int32_t>>;
  using Classes = OrderedSet<std::pair<QueueKey, std::uint64_t>>;
  static constexpr std::int32_t kNone = -1;
  struct Branch {
    std::int32_t parent = kNone;
    const Queue* queue = nullptr;  // a user queue's: that above it; null for the cluster
    std::string user;              // of a user queue by share
    bool is_user_queue = false;
    bool guaranteed = false;  // something
    const OrderPolicy* order = nullptr;
    // In the state's maps; null as long as nothing was found there.
    const Usage* usage = nullptr;
    const PastUse* past = nullptr;
    bool by_head = false;        // its first job, or that of one above it, sets its place
    Children children;           // those with a class to be tried
    std::int32_t stale = kNone;  // the first child to be computed anew
    std::int32_t next_stale = kNone;
    bool is_stale = false;
    Classes classes;               // of a user queue whose first job blocks the others
    Classes open_classes;          // of a user queue: those to be tried
    std::int32_t open_count = 0;   // user queues at or below it with a class to be tried
    std::optional<BranchKey> key;  // in the parent's `children`
  };

  Branch& at(std::int32_t index) { return branches_[static_cast<std::size_t>(index)]; }
  const Branch& at(std::int32_t index) const { return branches_[static_cast<std::size_t>(index)]; }
  bool by_job(const Branch& branch) const { return branch.order->basis() == Basis::kJob; }
  bool by_first_job(const Branch& branch) const {
    return by_job(branch) || branch.order->basis() == Basis::kRank;
  }
  std::int32_t add_queue(const State& state, const Queue& queue, const Policies& policies);
  std::int32_t user_of(const std::string& name);
  // The first class of a user queue that may be tried.
  const std::pair<QueueKey, std::uint64_t>* first_of(const Branch& user_queue) const;
  // The child that is tried first. REQUIRES: the branch is open.
  std::int32_t first_child(const State& state, std::int32_t index);
  // Notes that the branch's key may have changed, and with it those above that follow first jobs.
  void mark(std::int32_t index);
  void mark_shares(bool past_only);
  // Computes the stale children of a branch anew.
  void freshen(const State& state, std::int32_t index);
  std::optional<BranchKey> key_of(const State& state, std::int32_t index);
  // The first job that may be tried. REQUIRES: the branch is open.
  QueueKey head_of(const State& state, std::int32_t index);
  std::int64_t share_of(const State& state, Branch& branch) const;
  bool is_below_guarantee(const State& state, Branch& branch) const;
  void find_usage(const State& state, Branch& branch) const;

  std::vector<Branch> branches_;  // 0 is the cluster
  std::map<std::string, std::int32_t> queues_;
  std::map<std::pair<std::int32_t, std::string>, std::int32_t> user_queues_;
  std::vector<Holder> holders_;  // by Job::account
  std::map<std::string, std::int32_t> users_;
  std::vector<std::vector<std::int32_t>> queues_by_user_;
  const OrderPolicy* default_order_ = nullptr;
  Total total_;
  bool depends_on_usage_ = false;
  bool mixes_orders_ = false;
  bool tied_ = false;
};

// Whether the queue holds less than it is guaranteed of anything.
bool is_below_guarantee(const State& state, const Queue& queue);

}  // namespace dove::core
