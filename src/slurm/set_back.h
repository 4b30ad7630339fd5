// SetBack: by how much the wall clock was set back between two looks.
//
// Slurm and the ledger give times of the wall clock, so the pauses in memory are kept in it, too.
// Set back by an hour, it would make each of them an hour longer: they are moved along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dove::slurm {

class SetBack {
 public:
  // In seconds, since the last look; 0: it went on.
  std::int64_t look(std::int64_t now_s) {
    return std::max<std::int64_t>(std::exchange(last_s_, now_s) - now_s, 0);
  }

 private:
  std::int64_t last_s_ = 0;
};

}  // namespace dove::slurm
