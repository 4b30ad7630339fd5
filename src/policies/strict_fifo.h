// StrictFifo: as PriorityFifo, and nothing passes a first job that has no place.
#pragma once

#include "policies/priority_fifo.h"

namespace dove::policies {

class StrictFifo final : public PriorityFifo {
 public:
  std::string_view name() const override { return "strict_fifo/1"; }
  core::Head head() const override { return core::Head::kBlocks; }
};

}  // namespace dove::policies
