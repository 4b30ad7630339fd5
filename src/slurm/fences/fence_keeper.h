// FenceKeeper: has the standing fences in Slurm that are to be there (standing_fences.h), and has
// jobs of Slurm's users put back once fences wait for what they leave (put_back.h).
//
// It keeps nothing that matters but pauses after refusals. Calls block, as those of the cluster do.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/cluster.h"
#include "slurm/fences/put_back.h"
#include "slurm/fences/standing_fences.h"

namespace dove::slurm {

// Changes that are made before the next look at Slurm.
inline constexpr int kChangesMax = 64;

// Slurm did not decide anything: it is to be asked again.
bool is_silence(const Error& error);

class FenceKeeper {
 public:
  using Clock = std::function<std::int64_t()>;  // microseconds since 1970 UTC

  FenceKeeper(SlurmCluster& slurm, Clock clock, std::string cluster);

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

  std::int64_t now_s() const { return clock_() / 1'000'000; }
  bool release(std::int64_t id, bool& changed);
  bool suspend(std::int64_t id, bool& changed);
  bool ask(const Ask& ask, bool& changed);
  bool put_back(const Observed& observed, const DevicesOfNodes& kept,
                const std::vector<PutBack>& put_backs);

  SlurmCluster& slurm_;
  const Clock clock_;
  const std::string cluster_;
  std::map<std::string, NoFence> no_fence_;          // by node, whose last fence was refused
  std::map<std::int64_t, std::int64_t> put_back_s_;  // by Slurm job: when it was last asked
  std::string suspend_trouble_;
};

}  // namespace dove::slurm
