// Fragmentation: how much of a node's idle devices the tasks to expect could not use.
//
// After Weng et al., "Beware of Fragmentation" (USENIX ATC'23): for a task of the mix, all idle
// milli count if the node cannot run it, else those of devices too small for it; the mean over the
// mix. Here the sum, weighted by count, so that it is a whole number. Two table lookups a device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/place/score.h"

namespace dove::policies {

class Fragmentation {
 public:
  Fragmentation(std::span<const core::MixEntry> mix, std::span<const core::NodeClass> classes);

  // Sum of all counts: fragmentation is in milli devices times this.
  std::int64_t weight() const { return weight_; }

  std::int64_t of(const core::FreeState& node) const;
  // After taking `task`; `device` for a share.
  std::int64_t after(const core::FreeState& node, const core::TaskShape& task,
                     std::int32_t device) const;

 private:
  // Where the tasks begin that a node of this model and amount of CPU could run.
  struct Tables {
    const std::int64_t* shares = nullptr;  // counts of shares that fit, by rank of idle milli
    const std::int64_t* wholes = nullptr;  // counts of whole-device tasks that fit, by devices
  };

  Tables tables_of(std::int32_t model, std::int64_t cpu_milli) const;
  std::size_t rank_of(std::int32_t idle_milli) const {
    return static_cast<std::size_t>(rank_[static_cast<std::size_t>(idle_milli)]);
  }
  // Idle milli of one device, times the count of shares that it could run.
  std::int64_t useful(const Tables& tables, std::int32_t idle_milli) const {
    return idle_milli * tables.shares[rank_of(idle_milli)];
  }
  void add(const core::MixEntry& entry, std::size_t model);

  std::int64_t weight_ = 0;
  std::vector<std::int64_t> cpu_steps_;  // ascending, distinct: what tasks with devices ask for
  std::vector<std::int32_t> milli_steps_;
  std::vector<std::int32_t> rank_;  // by idle milli: how many milli_steps_ fit in it
  std::size_t models_ = 0;
  std::size_t ranks_ = 0;
  std::size_t devices_ = 0;           // the most on a node, plus one
  std::vector<std::int64_t> shares_;  // [model][cpu][rank]
  std::vector<std::int64_t> wholes_;  // [model][cpu][devices]
};

}  // namespace dove::policies
