// JobOrder: which jobs a published scheduler gives the machines first, as a function of a few
// numbers per job.
//
// For engines that reproduce a paper's own scheduler; the live cluster's orders are
// core::OrderPolicy. Whole numbers only; sizes in thousandths of a GPU, times in microseconds. An
// order is a constant: it has no state and answers from its arguments alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/time.h"

namespace dove::sim {

// The account of the user, queue or virtual cluster that a job counts toward.
struct AccountView {
  std::int64_t share_ppm = 0;  // dominant share of the cluster in use now, millionths
};

struct JobView {
  std::int64_t sequence = 0;  // of submission: unique, ascending
  Instant submitted_at;
  std::int64_t size_milli = 1000;  // whole gang; at least 1
  Span attained;                   // ran so far, all attempts, since it was last promoted
  Span waited;                     // did not run since submission, all pauses
  Span paused;                     // did not run since it last did or was submitted
  std::optional<Span> remaining;   // as known or declared; orders for unknown durations ignore it
  bool running = false;
  std::int32_t level = 0;  // as the policy gave it
  Instant level_since;
  AccountView account;
};

// What all jobs share at one time.
struct OrderView {
  Instant now;
};

// Ascending; equal keys keep the order they had, first that of submission.
using OrderKey = std::array<std::int64_t, 3>;

class JobOrder {
 public:
  virtual ~JobOrder() = default;
  virtual std::string_view name() const = 0;  // with a version: "published_drf/1"
  virtual OrderKey key(const JobView& job, const OrderView& view) const = 0;
  // The feedback level the job is at from now on. A lower one than before is a promotion: the
  // caller then counts `attained` from 0 again.
  virtual std::int32_t level(const JobView&) const { return 0; }
  // How long the job can go on as it does (run or wait) before its level changes; kForever: it
  // does not.
  virtual Span settled(const JobView&) const { return kForever; }
  // Whether running jobs give way to waiting ones that come before them.
  virtual bool preempts() const { return false; }

  static constexpr Span kForever{kNever.us};
};

}  // namespace dove::sim
