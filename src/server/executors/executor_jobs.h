// Jobs of ours that an executor runs: the part of a program that it can be given, and the orders
// to its adapter for their placements.
//
// Include only from .cc files of this part. Loop thread only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/executors/sync.h"
#include "listener/desk.h"
#include "model/exec.h"
#include "model/job.h"
#include "server/executors/output_reads.h"

namespace dove::server {

// Refuses what no executor can give: images, sessions, secrets. Success for a job that names none.
Result<void> check_executor_exec(const JobSpec& spec, const ExecSpec& exec);
// What has no effect there.
std::vector<std::string> executor_warnings(const JobSpec& spec, const ExecSpec& exec);

// Where our agents do not reach: success for a job that they run. `what`: "its output".
Result<void> check_reachable(const core::Job& job, const char* what);

// The file that a task of an attempt writes: its output, or its own file of errors. `path`: "" when
// errors have no file of their own.
OutputFile output_file(const core::State& state, const core::Job& job, const ExecSpec& exec,
                       const Placement& placement, Rank rank, bool is_stderr);

// An entry of `works` in the answer to a sync. `blobs`: what they run, without those that are
// nowhere.
nlohmann::json work_json(const core::State& state, const listener::Blobs::Found& blobs,
                         const core::WantedWork& work);

}  // namespace dove::server
