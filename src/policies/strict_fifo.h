// StrictFifo: as PriorityFifo, and nothing passes a first job that has no place.
#pragma once

#include "policies/priority_fifo.h"

namespace dove::policies {

class StrictFifo final : public PriorityFifo {
 public:
  std::string_view name() const override { return "strict_fifo/1"; }
  bool head_blocks() const override { return true; }
};

}  // namespace dove::policies
