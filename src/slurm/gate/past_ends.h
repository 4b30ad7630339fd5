// PastEnds: how jobs ended that Slurm has no record of any more, from its accounting (sacct).
//
// slurmctld forgets a job MinJobAge after its end, and an adapter may be away for longer. Asks
// about several at once, and blocks for as long as sacct takes. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "slurm/accounting/sacct.h"

namespace dove::slurm {

struct PastEnd {
  std::string state = {};  // Slurm's word for it; "": nothing says it
  int wait_status = 0;     // as of waitpid()
  bool operator==(const PastEnd&) const = default;
};

// By job, of those that have ended: the lines of
// `sacct --parsable2 --noheader --format=JobIDRaw,State,ExitCode`.
std::map<std::int64_t, PastEnd> read_past_ends(std::string_view lines);

class PastEnds {
 public:
  // `run`: how a command is run, for tests; else run_command().
  explicit PastEnds(RunCommand run = {});

  // `gone`: all jobs of which it is to be known; others are forgotten. One of which the accounting
  // does not say the end within a minute, or at once where there is no accounting, is known with no
  // state.
  void look(const std::set<std::int64_t>& gone, std::int64_t now_s);
  const std::map<std::int64_t, PastEnd>& known() const { return known_; }

 private:
  Result<std::map<std::int64_t, PastEnd>> ask(const std::set<std::int64_t>& jobs) const;

  RunCommand run_;
  std::map<std::int64_t, PastEnd> known_;
  std::map<std::int64_t, std::int64_t> since_s_;  // those that are asked about
  std::int64_t again_s_ = 0;                      // when they are asked about again
  std::string trouble_;
};

}  // namespace dove::slurm
