// What to report about the room that the ledger made for jobs that wait in Slurm
// (docs/decisions/0047-room-for-jobs-of-slurm.md).
//
// Pure, as plan(): computed anew from each look at Slurm. Slurm starts such a job on whatever is
// free there, so no place is ever confirmed: the start is awaited, and given up when the job has
// started, anywhere, or can no longer start there. The ledger decides how long it is awaited.
#pragma once

#include <string>
#include <vector>

#include "slurm/observed.h"
#include "slurm/plan.h"
#include "slurm/works/work.h"

namespace dove::slurm {

struct RoomPlan {
  std::vector<PlaceholderReport> reports;  // one for each that is wanted
  std::vector<WorkReport> works;           // places that were taken back: nothing runs there
};

// `wanted`, `works`: those of foreign jobs alone count. `cluster`: whose placeholders are ours.
RoomPlan plan_rooms(const Observed& observed, const std::vector<Wanted>& wanted,
                    const std::vector<WantedWork>& works, const std::string& cluster);

}  // namespace dove::slurm
