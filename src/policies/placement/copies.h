// Copies: how much of a node's idle devices the tasks of a mix would take, each if it came alone
// and as often as there is room.
//
// Which models they name does not count. Where Fragmentation asks whether one more task fits, this
// asks how far CPU and devices last. In milli devices times the counts of the mix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/place/score.h"

namespace dove::policies {

class Copies {
 public:
  explicit Copies(std::span<const core::MixEntry> mix);

  // What the mix would take once `task` is there; `device` for a share.
  std::int64_t after(const core::FreeState& node, const core::TaskShape& task,
                     std::int32_t device) const;

 private:
  // A task of the mix and its size among sizes_.
  struct Entry {
    std::int64_t cpu_milli = 0;
    std::int64_t milli_weight = 0;  // milli devices of one, times the count
    std::size_t size = 0;
  };

  std::int64_t room_of(const core::TaskShape& size, const core::FreeState& node,
                       const core::TaskShape& task, std::int32_t device, std::int64_t whole) const;

  std::vector<core::TaskShape> sizes_;  // devices and milli only, each once
  std::vector<Entry> entries_;          // by size, then CPU
};

}  // namespace dove::policies
