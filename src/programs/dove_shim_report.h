// Report: what dove-shim says of its task, on the channel and in files of the task's directory.
//
// The working directory is the task's directory. Nothing here waits for a reader.
#pragma once

#include "agent/shim_config_format.h"
#include "programs/dove_shim_launch.h"

namespace dove::shim {

using dove::agent::shim::ShimRecord;

// One record to the channel; lost if nobody can take it, the files say the same.
void send_record(const ShimRecord& record);

// `held` or `started`: the record as lines of key=value, made in one write.
void write_record(const char* file, const ShimRecord& record);

// `status`, complete or not at all; with what made the start fail, if it did.
void write_status(const ShimRecord& record, const Failure& failure);

}  // namespace dove::shim
