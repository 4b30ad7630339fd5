// What the submitter of a job should know, beyond the ledger, of what its nodes' agents report:
// images that no node has, limits that no node enforces.
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "model/exec.h"
#include "model/job.h"
#include "server/context.h"

namespace dove::server {

// Empty while a node that the job may have has not said: it may be the one. Loop thread only.
std::vector<std::string> offer_warnings(const Context& context, const JobSpec& spec,
                                        const ExecSpec& exec);

}  // namespace dove::server
