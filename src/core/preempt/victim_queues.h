// VictimQueues: what the tree of queues allows one job to take from another.
//
// It is built for one beneficiary and used for one search on one thread. Usage is taken as it will
// be: what stopping attempts hold is already released, and what other waiting jobs will soon get by
// promise already counts for their queues. A victim that was allowed counts as gone for the next
// question, so every subset of the allowed victims is allowed as well.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
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

class VictimQueues {
 public:
  // `stopping`: the jobs whose attempts are being stopped. REQUIRES: `state` outlives this.
  VictimQueues(const State& state, const Job& beneficiary, std::span<const JobId> stopping);

  Level level(const Job& job);
  // Whether the two wait in different queues of a common parent (or below such queues).
  bool is_apart(const Job& victim);
  // Every queue of the victim that is not the beneficiary's too keeps what it is guaranteed.
  bool keeps_guaranteed(const Job& victim, const Amount& loss);
  // The beneficiary's queue, where the paths part, stays within what it is guaranteed.
  bool reclaims(const Job& victim);
  // The beneficiary's queue, where the paths part, ends below the share that the victim's has now.
  bool has_less(const Job& victim);
  void lose(const Job& victim, const Amount& loss);

 private:
  struct Side {
    std::vector<const Queue*> path;  // from the top
    std::int32_t bands = 0;
  };

  const Side& side(const std::string& queue);
  // The place of the first queue that only one of the two paths has.
  std::size_t parting(const Side& victim) const;
  std::int64_t share(const Queue& queue, const Amount& gain) const;
  bool within(const Queue& queue, const Amount& gain) const;
  const Amount& held(const Queue& queue) const;
  void rank_bands();
  void count_changes(JobId beneficiary, std::span<const JobId> stopping);
  void add(std::map<std::string, Amount>& to, const std::string& queue, const Amount& amount,
           int sign);

  const State& state_;
  Amount gain_;                          // of the beneficiary
  Amount total_;                         // of all nodes
  std::map<std::string, Amount> held_;   // by queue: what it holds once stopping attempts are gone
  std::map<std::string, Amount> comes_;  // by queue: what its jobs were promised
  std::map<std::string, Side> sides_;
  Side mine_;
};

}  // namespace dove::core
