// Slurm's accounts, users and QoS as projects, queues, users, bindings and limits of ours.
//
// Pure; adds to the objects and to the report.
#pragma once

#include <cstdint>
#include <string_view>

#include "slurm/migrate/objects.h"
#include "slurm/migrate/reporter.h"

namespace dove::slurm {

// The text of `sacctmgr dump`: lines "Account - lab:Fairshare=10:GrpTRES=cpu=8".
void migrate_accounts(std::string_view dump, Objects& objects, Reporter& report);

// The text of `sacctmgr -P show qos`: a line of column names, then one of values for each QoS.
// Returns the highest priority of a QoS. REQUIRES: after migrate_accounts, for a QoS may have an
// account's name.
std::int64_t migrate_qos(std::string_view table, Objects& objects, Reporter& report);

}  // namespace dove::slurm
