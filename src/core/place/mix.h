// Mix: the tasks to expect, learned from past arrivals.
//
// Tasks are distinguished by CPU, devices and models; memory does not count. The owner uses a Mix
// from one thread. The same arrivals give the same mix.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/place/score.h"

namespace dove::core {

class Mix {
 public:
  static constexpr std::int64_t kCovered_pct = 90;

  void add(const TaskShape& task, std::int64_t count = 1);

  // The commonest shapes that are together kCovered_pct of all arrivals, commonest first; of
  // equally common ones the larger first. Rare ones say little about what is to come.
  std::vector<MixEntry> typical() const;

  // Whether as many tasks have arrived since the last time this said so as had before: at the 1st,
  // 2nd, 4th, 8th, ... arrival. Then it is time to prepare a scorer again.
  bool has_doubled();

 private:
  std::map<TaskShape, std::int64_t> counts_;
  std::int64_t tasks_ = 0;
  std::int64_t next_ = 1;
};

}  // namespace dove::core
