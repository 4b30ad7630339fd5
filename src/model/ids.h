// Ids are types: a JobId cannot be passed for a NodeId. All are plain integers given by the core
// (or by the log), printed as decimals, ordered by age.
#pragma once

#include <compare>
#include <cstdint>

namespace dove {

template <class Tag, class Rep>
struct Id {
  Rep value = 0;

  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
  // Ids start at 1; 0 means "none".
  constexpr explicit operator bool() const { return value != 0; }
};

using JobId = Id<struct JobTag, std::uint64_t>;    // globally "cluster/job"
using NodeId = Id<struct NodeTag, std::uint32_t>;  // dense: an index into State::nodes plus one
using Seq = Id<struct SeqTag, std::uint64_t>;      // position of a record in the log, from 1
using BatchNumber = Id<struct BatchTag, std::uint64_t>;
// A term of controllership: raised by each controller that opens the log. Executors refuse orders
// of an epoch older than one they have seen.
using Epoch = Id<struct EpochTag, std::uint64_t>;

// Attempts of a job are numbered from 1. An effect is keyed by (job, attempt, node).
using AttemptNumber = std::uint32_t;
// Position of a task among all tasks of its job, from 0, across groups in order.
using Rank = std::uint32_t;

}  // namespace dove
