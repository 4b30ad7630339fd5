// The file of a lease, which the agent writes (agent/session/lease.h) and shims read: the deadline,
// and the checks of it and of the one before. No dependencies, as format.h.
//
// The check of a new deadline is stored in the place of the older one, and the deadline after it:
// at each instant the deadline has its check, also when the agent ends in between. Former versions
// have the deadline alone, and it is where theirs is. Their agents write no check, so an agent that
// ends in order leaves the deadline alone, too; after one that was killed, tasks of this version
// end under them. A later version only appends, and does without what an agent of this one does not
// write.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace dove::agent::shim {

struct LeaseFile {
  std::int64_t deadline_us = 0;  // CLOCK_BOOTTIME; 0: no lease yet
  std::uint64_t checks[2] = {};
};
static_assert(sizeof(LeaseFile) == 24);

constexpr std::uint64_t lease_check(std::int64_t deadline_us) {
  std::uint64_t mixed = static_cast<std::uint64_t>(deadline_us) + 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

enum class LeaseRead { kWhole, kFormer, kNone, kDamaged };

// The agent's stores are atomic, but a read of a file need not be: it is read again where it seems
// to be damaged, and a former version's until two reads are equal. `file` has what was read last.
inline LeaseRead read_lease(int fd, LeaseFile& file) {
  for (int i = 0; i < 100; ++i) {
    const std::int64_t before_us = file.deadline_us;
    const auto size = ::pread(fd, &file, sizeof file, 0);
    if (size == 0) return LeaseRead::kNone;
    if (size == sizeof file.deadline_us) {
      if (i > 0 && file.deadline_us == before_us) return LeaseRead::kFormer;
    } else if (size == sizeof file) {
      const std::uint64_t check = lease_check(file.deadline_us);
      if (file.checks[0] == check || file.checks[1] == check) return LeaseRead::kWhole;
    }
  }
  return LeaseRead::kDamaged;
}

}  // namespace dove::agent::shim
