// RoomKeeper: reports to the controller which jobs of Slurm's users lack nothing but room, in the
// partitions for which ours make room (docs/decisions/0047-room-for-jobs-of-slurm.md).
//
// It changes nothing in Slurm. What it remembers may be lost: after a restart it reports everything
// again, and for a minute it withdraws no waiting job. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/gate/gate_json.h"
#include "slurm/observed.h"

namespace dove::slurm {

// Those to which Slurm gives the highest priority are told.
inline constexpr std::size_t kRoomsMax = 32;
// So long after Slurm last said that a job lacks room it is held in the ledger.
inline constexpr std::int64_t kPassedOver_s = 60;

class RoomKeeper {
 public:
  using Tell = std::function<Result<std::vector<GateJob>>(const GateRequest& request,
                                                          const std::vector<NodeSeen>& nodes)>;

  // `incarnation`: of this process, as in its reports.
  RoomKeeper(Tell tell, std::string incarnation);

  // `observed`: a look that Slurm has answered. `partitions`: that ours make room for; none of
  // those that were told before is kept where they are not named.
  void tell(const Observed& observed, const std::vector<std::string>& partitions,
            std::int64_t now_s);

 private:
  struct Known {
    std::int64_t job = 0;  // of the ledger
    std::string refused;
    std::int64_t told_s = 0;         // when it was handed in last
    std::int64_t lacked_room_s = 0;  // when Slurm said so last
  };

  // Whether it is known to get no room for now.
  bool is_refused(const JobSeen& job) const;
  std::vector<const JobSeen*> to_tell(std::vector<const JobSeen*> waiting) const;
  // `told`: those of `waiting` that are named. What was refused is remembered as long as it waits.
  void forget_all_but(const std::vector<const JobSeen*>& waiting,
                      const std::set<std::int64_t>& told);
  GatePresent present(const JobSeen& job, Known& known, std::int64_t now_s) const;
  void hear(const GateJob& said);

  const Tell tell_;
  const std::string incarnation_;
  std::map<std::int64_t, Known> known_;
  std::int64_t number_ = 0;
  std::optional<std::int64_t> heard_s_;  // the first answer
  bool has_told_ = true;  // the ledger may know some: of a former process, to begin with
  std::string trouble_;
};

}  // namespace dove::slurm
