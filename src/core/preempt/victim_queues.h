// VictimQueues: what the tree of queues allows one job to take from another.
//
// It is built for one beneficiary and used for one search on one thread; what does not depend on
// the beneficiary is a QueueBooks, which many searches share. Usage is taken as it will be: what
// stopping attempts hold is already released, and what other waiting jobs will soon get by promise
// already counts for their queues. A victim that was allowed counts as gone for the next question,
// so every subset of the allowed victims is allowed as well.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/place/limits.h"
#include "core/state/state.h"

namespace dove::core {

// To stop somebody takes about as long, at least.
constexpr Span kSoon = seconds(120);

// By when whoever could be stopped now would be gone, and whoever is being stopped.
Instant soon(const State& state, std::span<const JobId> stopping);

// How urgent a job is among all jobs: the bands of its queues from the top down, then its priority
// with that of its queue. Ascending. A total order, so taking only from lower levels never goes
// round in a circle.
struct Level {
  std::int32_t bands = 0;  // the queue's place among all queues, by their bands
  std::int64_t priority = 0;
  auto operator<=>(const Level&) const = default;
};

// What all queues hold, whoever asks.
struct QueueBooks {
  struct Side {
    std::vector<const Queue*> path;  // from the top
    std::int32_t bands = 0;
  };

  const Side& side(const std::string& queue) const;
  Level level(const Job& job) const;

  Amount total;                         // of all nodes
  std::map<std::string, Amount> held;   // by queue, once stopping attempts are gone
  std::map<std::string, Amount> comes;  // by queue: what its jobs were promised by `until`
  std::map<std::string, Side> sides;
  Instant until;  // soon()
};

// A walk over all nodes, queues and promises: do it once for many beneficiaries. It is true until
// the state changes. `stopping`: the jobs whose attempts are being stopped. REQUIRES: `state`
// outlives what is returned.
std::shared_ptr<const QueueBooks> queue_books(const State& state, std::span<const JobId> stopping);

class VictimQueues {
 public:
  VictimQueues(const State& state, const Job& beneficiary, std::span<const JobId> stopping);
  // REQUIRES: `books` are those of `state` as it is.
  VictimQueues(const State& state, const Job& beneficiary, std::shared_ptr<const QueueBooks> books);

  Level level(const Job& job) const { return books_->level(job); }
  // Whether the two wait in different queues of a common parent (or below such queues).
  bool is_apart(const Job& victim) const;
  // Every queue of the victim that is not the beneficiary's too keeps what it is guaranteed.
  bool keeps_guaranteed(const Job& victim, const Amount& loss) const;
  // The beneficiary's queue, where the paths part, stays within what it is guaranteed.
  bool reclaims(const Job& victim) const;
  // The beneficiary's queue, where the paths part, ends below the share that the victim's has now.
  bool has_less(const Job& victim) const;
  void lose(const Job& victim, const Amount& loss);

 private:
  using Side = QueueBooks::Side;

  // The place of the first queue that only one of the two paths has.
  std::size_t parting(const Side& victim) const;
  std::int64_t share(const Queue& queue, const Amount& gain) const;
  bool within(const Queue& queue, const Amount& gain) const;
  const Amount& held(const Queue& queue) const;
  // What the beneficiary and others of the queue will have in addition.
  Amount gain_of(const Queue& queue) const;

  std::shared_ptr<const QueueBooks> books_;
  Amount gain_;                         // of the beneficiary
  std::map<std::string, Amount> left_;  // by queue: what it holds, where victims were lost
  Amount promised_;                     // what the beneficiary was promised, and `comes` counts
  const Side& mine_;
};

}  // namespace dove::core
