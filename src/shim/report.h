// Report: what dove-shim says of its task, on the channel and in the task's file.
//
// Nothing here waits for a reader.
#pragma once

#include "shim/format.h"
#include "shim/launch.h"

namespace dove::shim {

using dove::agent::shim::ShimRecord;

// One record to the channel; lost if nobody can take it, the files say the same.
void send_record(const ShimRecord& record);

// How the task was started, or that it is held; at `at` of the task's file (Config::report_at).
void write_held(std::int64_t at);
void write_started(std::int64_t at, const ShimRecord& record);

// How it ended; with what made the start fail, if it did.
void write_status(std::int64_t at, const ShimRecord& record, const Failure& failure);

}  // namespace dove::shim
