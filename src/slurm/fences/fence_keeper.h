// FenceKeeper: keeps the required standing fences in Slurm (standing_fences.h), and has jobs of
// Slurm's users put back once fences wait for their devices (put_back.h).
//
// Its own state is not essential: pauses after refusals, and which jobs have had their signals
// where the jobs' comments do not say so. Calls block, as those of the cluster do. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/cluster.h"
#include "slurm/fences/last_signal.h"
#include "slurm/fences/put_back.h"
#include "slurm/fences/standing_fences.h"
#include "slurm/set_back.h"

namespace dove::slurm {

// Changes that are made before the next look at Slurm.
inline constexpr int kChangesMax = 64;

class FenceKeeper {
 public:
  using Clock = std::function<std::int64_t()>;  // microseconds since 1970 UTC

  // `signal_wait_s`: what jobs that make room have after their users' signals, at most; 0: they get
  // no signal.
  FenceKeeper(SlurmCluster& slurm, Clock clock, std::string cluster,
              std::int64_t signal_wait_s = kSignalWaitMax_s);

  // Does what is due by this look. `lend`: fences that are to keep their cores. Whether anything
  // has changed in Slurm.
  bool keep(const Observed& observed, const DevicesOfNodes& kept,
            const std::vector<PutBack>& put_backs, const std::set<std::int64_t>& lend);
  // The controller is silent: nothing is to wait for what may be wanted no more.
  void stop_waiting(const Observed& observed);
  // The last fence of the node was refused.
  bool was_refused(const std::string& node) const { return no_fence_.contains(node); }

 private:
  struct NoFence {
    std::int64_t again_s = 0;
    std::int64_t pause_s = 0;  // twice the one before
  };

  struct Leaving {
    std::int64_t started_s = 0;  // the run that this is of
    bool is_warned = false;      // it has had its signal, or gets none
    std::int64_t at_s = 0;       // it is to end then
    std::int64_t asked_s = 0;    // when it was last asked to; 0: never
  };

  std::int64_t now_s() const { return clock_() / 1'000'000; }
  void move_back(std::int64_t back_s);
  bool release(std::int64_t id, bool& changed);
  bool suspend(std::int64_t id, bool& changed);
  bool ask(const Ask& ask, bool& changed);
  bool put_back(const Observed& observed, const DevicesOfNodes& kept,
                const std::vector<PutBack>& put_backs);
  void take_back_words(const Observed& observed, const std::vector<PutBack>& put_backs);
  // Whether Slurm answers.
  bool warn(const PutBackDue& one, Leaving& leaving);

  SlurmCluster& slurm_;
  const Clock clock_;
  const std::string cluster_;
  const std::int64_t signal_wait_s_;
  SetBack set_back_;
  std::map<std::string, NoFence> no_fence_;  // by node, whose last fence was refused
  std::map<std::int64_t, Leaving> leaving_;  // by Slurm job
  std::set<std::int64_t> taken_back_;        // words of these jobs; their next look shows it
  std::string suspend_trouble_;
};

}  // namespace dove::slurm
