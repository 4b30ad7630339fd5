// PlaceCauses: which requirements of a job, and which conditions of the nodes, can be disregarded,
// and whether the job would then find places. Must not outlive the State.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/explain/explain_index.h"
#include "core/place/reservation.h"
#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// One kind of resource that a job asks for. All devices are one kind: whatever has enough idle ones
// can cut or share them too.
struct Kind {
  enum class What { kCores, kMemory, kDevices, kCountable };
  What what = What::kCores;
  std::string name;  // as Reason::resource names it
  Request devices;   // of kDevices: the request to report

  std::int64_t asked(const Request& request) const;
  std::int64_t free(const FreeView& view) const;
  // Nothing with these sums has more of it free.
  std::int64_t most(const NodeFree& sums) const;
  void clear(Request& request) const;  // asks for none of it
};

std::vector<Kind> kinds_of(const JobSpec& spec);

// Several causes as bits.
using Causes = std::uint64_t;
constexpr Causes kLabelsCause = 1;
constexpr Causes kDomainCause = 2;
constexpr Causes kChoiceCause = 4;
constexpr Causes kUnavailableCause = 8;
constexpr Causes kOccupiedCause = 16;  // by other jobs
constexpr Causes kTooFewCause = 32;    // nodes of the shape that the job asks for
constexpr Causes kReservedCause = 64;  // nodes that are reserved for others
constexpr Causes kInsideCause = 128;   // the job is confined to its reservation
// Those by which nodes are left out.
constexpr Causes kClosedCauses = kUnavailableCause | kReservedCause | kInsideCause;
constexpr std::size_t kKinds_max = 24;
// For the kind of that index: what other jobs hold; that the job asks for any.
constexpr Causes allocated_cause(std::size_t kind) { return Causes{1} << (8 + kind); }
constexpr Causes scarce_cause(std::size_t kind) { return Causes{1} << (8 + kKinds_max + kind); }

class PlaceCauses {
 public:
  // `pool`: that of the job. The index and the job must stay as they are.
  PlaceCauses(ExplainIndex& index, const Pool& pool, const Job& job);

  const std::vector<Kind>& kinds() const { return kinds_; }
  // Those that could matter to this job in this pool, kinds of resources left out.
  Causes applicable() const { return applicable_; }
  Causes all_allocated() const;
  // Whether there are places, limits aside, without these causes.
  bool fits(Causes gone) { return fits(gone, spec_); }
  // The same for the one kind, or for none at all, as if nothing else were asked for.
  bool fits_only(Causes gone, const Kind* kind);
  std::optional<std::vector<Placement>> places(Causes gone, std::span<const NodeId> avoided);
  // The nodes without these causes: unavailable ones, jobs on them.
  WhatIf& nodes(Causes gone);
  JobSpec spec_without(Causes gone) const { return lighten(spec_, gone); }
  // Reservations all of which have to go so that the job finds places, with `gone` gone; each is
  // needed. REQUIRES: kReservedCause is in `gone`, and the job fits.
  std::vector<const Reservation*> reservations_in(Causes gone);

 private:
  using Ignored = std::vector<const Reservation*>;
  // Those that a reservation closes to the job, these left aside.
  WhatIf::Closed closed_nodes(Causes gone, const Ignored& ignored) const;
  std::unique_ptr<WhatIf> make_nodes(Causes which, const WhatIf::Closed& closed);
  WhatIf& all_nodes(Causes which);
  Freed freed_by(Causes which) const;
  bool fits(Causes gone, const JobSpec& spec);
  JobSpec lighten(JobSpec spec, Causes gone) const;

  const State& state_;
  PoolBooks& books_;
  const PoolNodes& pool_nodes_;
  const JobSpec& spec_;
  const std::int32_t restart_nodes_;
  Ignored reservations_;  // that may close nodes to it
  std::vector<Kind> kinds_;
  Causes applicable_ = 0;
  std::vector<std::pair<Causes, std::unique_ptr<WhatIf>>> made_;
};

}  // namespace dove::core
