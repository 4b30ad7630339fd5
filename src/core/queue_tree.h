// The tree of queues as a cycle walks it: which class of waiting jobs is tried next.
//
// Below the cluster are queues, below a queue are queues or lanes. A lane holds the classes of one
// user, or of everybody where the queue's order is not by share. A branch's place among its
// siblings follows from the state alone: the higher band first, then those below what they are
// guaranteed, then by the order of their parent: by share, or by the first job that they hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/policy.h"
#include "core/state.h"

namespace dove::core {

// The place of a job in its lane: ascending.
struct QueueKey {
  std::int64_t rank_negated = 0;
  Seq submitted_seq;
  JobId job;
  auto operator<=>(const QueueKey&) const = default;
};

class QueueTree {
 public:
  QueueTree() = default;

  // Makes the branches of the declared queues. `policies` must outlive the tree; so must the
  // queues of `state`, unchanged.
  void build(const State& state, const Policies& policies);

  // Which lane holds the classes of such jobs; made when new.
  std::int32_t lane_of(const State& state, const JobSpec& spec);

  // The policy that orders the jobs of the queue.
  const OrderPolicy& order_of(const std::string& queue) const;

  // The class's first job has changed (none: it has no jobs), or whether it is to be tried.
  void update(const State& state, std::int32_t lane, std::uint64_t wait_class,
              const std::optional<QueueKey>& before, const std::optional<QueueKey>& now, bool open);

  // The class to try next; none when nothing is left to try.
  std::optional<std::uint64_t> first() const;
  bool any_open() const { return !branches_.empty() && !branches_.front().open.empty(); }

  // What the queue or the user holds has changed: shares and guarantees are reckoned anew.
  void usage_changed(const State& state, const std::string& queue, const std::string& user);
  // Time has passed, or the cluster's totals have changed: all open branches are reckoned anew.
  void refresh_open(const State& state);

  void set_total(const Total& total) { total_ = total; }
  // Whether what is held has a say in the order.
  bool depends_on_usage() const { return depends_on_usage_; }

 private:
  struct Key {
    std::int64_t band_negated = 0;
    std::int64_t guaranteed_first = 0;  // 0: below its guarantee
    std::int64_t share = 0;
    QueueKey head;
    auto operator<=>(const Key&) const = default;
  };
  struct Branch {
    std::int32_t parent = -1;
    const Queue* queue = nullptr;  // a lane's: that above it; null for the cluster
    std::string user;              // of a lane by share
    bool lane = false;
    const OrderPolicy* order = nullptr;
    std::set<std::pair<Key, std::int32_t>> open;                // children with something to try
    std::set<std::pair<QueueKey, std::uint64_t>> classes;       // of a lane
    std::set<std::pair<QueueKey, std::uint64_t>> open_classes;  // of a lane: those to be tried
    std::optional<Key> key;                                     // in the parent's `open`
  };

  std::int32_t add_queue(const State& state, const Queue& queue, const Policies& policies);
  // The first class of a lane that may be tried.
  const std::pair<QueueKey, std::uint64_t>* first_of(const Branch& lane) const;
  QueueKey head_of(const State& state, const Branch& branch) const;
  Key key_of(const State& state, const Branch& branch) const;
  std::int64_t share_of(const State& state, const Branch& branch) const;
  // Brings the branch's place among its siblings up to date, and those above it.
  void refresh(const State& state, std::int32_t index);

  std::vector<Branch> branches_;  // 0 is the cluster
  std::map<std::string, std::int32_t> queues_;
  std::map<std::pair<std::int32_t, std::string>, std::int32_t> lanes_;
  std::map<std::string, std::vector<std::int32_t>> lanes_by_user_;
  const OrderPolicy* default_order_ = nullptr;
  Total total_;
  bool depends_on_usage_ = false;
};

// Whether the queue holds less than it is guaranteed of anything.
bool is_below_guarantee(const State& state, const Queue& queue);

// The policy that orders the jobs of the queue: its own, or the next one's above it that names one.
const OrderPolicy& order_of(const State& state, const Policies& policies, const std::string& queue);

// The policy of that name, with or without its version; null when there is none.
const OrderPolicy* find_order(const Policies& policies, std::string_view name);

}  // namespace dove::core
