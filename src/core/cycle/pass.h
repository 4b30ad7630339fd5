// The passes of a cycle by name. Each can be switched off, and is announced to an observer, which
// may time it: core has no clock. The order is in core/cycle/cycle.cc.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/state/state.h"

namespace dove::core {

enum class Pass {
  kExpire,        // what was due by now: fences, time limits, deadlines of orders
  kNodes,         // the life of nodes: suspects, drains, repairs, tests
  kFinish,        // attempts that failed, were cancelled, or are over on all their nodes
  kDependencies,  // jobs that may wait for a place now, and those that never can
  kOrder,         // the queue, by the order policy (off: by submission)
  kPlace,         // gangs, whole, on free nodes
  kPromise,       // blocked jobs are promised a start, which nothing started later may delay
  kPreempt,       // running jobs are stopped for waiting ones
  kBarrier,       // gangs that are prepared everywhere start
  kPurge,         // old ended jobs are forgotten
};

constexpr std::size_t kPass_count = 10;

std::string_view pass_name(Pass pass);

// Called around each pass that runs, on the thread of decide: kPlace, kPromise and kPreempt run
// until none of them has anything more to do. The state is settled at both times.
class PassObserver {
 public:
  virtual ~PassObserver() = default;
  virtual void begins(Pass pass, const State& state) = 0;
  virtual void ended(Pass pass, const State& state) = 0;
};

struct CycleOptions {
  std::array<bool, kPass_count> off = {};  // by Pass
  PassObserver* observer = nullptr;        // not owned; may be null

  bool runs(Pass pass) const { return !off[static_cast<std::size_t>(pass)]; }
  void switch_off(Pass pass) { off[static_cast<std::size_t>(pass)] = true; }
};

}  // namespace dove::core
