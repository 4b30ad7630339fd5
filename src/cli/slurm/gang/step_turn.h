// Whose turn it is to take nodes. Slurm gives a step on several nodes each node by itself, so of
// two steps that take several of the same nodes at once, each may get one that the other waits for,
// without end. A step is next on all its nodes before it takes the first one, and stays next until
// it has the last one; a step with a terminal stays next until it ends, as nobody sees its last one
// begin. Steps that wait get their turn in no particular order.
//
// Holds among the sruns that one user runs on one machine: those of a script are. Where the file
// cannot be used, every step is next. Include only from .cc files of this part. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "files/descriptor.h"

namespace dove::cli {

// In /tmp, whatever TMPDIR a step has: all steps must find the same.
std::string step_turn_path();

class StepTurn {
 public:
  StepTurn() = default;  // of a step that waits for nobody
  // The allocations of the step's nodes, in any order.
  StepTurn(const std::string& path, const std::vector<std::string>& allocations);

  // Whether it is this step's turn now.
  bool try_take() { return take(false); }
  // Waits for it. The process takes signals meanwhile.
  void wait() { take(true); }
  // The step has all its nodes, or has ended: the next one's turn. Ends with the process, too.
  void end() { file_ = files::Descriptor(); }

 private:
  bool take(bool waits);

  files::Descriptor file_;
  std::vector<std::int64_t> places_;  // in the file, ascending: one order for all steps
  std::size_t taken_ = 0;
};

}  // namespace dove::cli
