// The jobs that an executor is to put back into its queue for jobs of ours, and what it keeps for
// ours.
//
// Both follow from promises that need other jobs stopped (core/preempt/foreign_jobs.h), and end
// with them. Nothing else records that a job was put back. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

struct WantedPutBack {
  std::string id;  // in the executor
  JobId job;       // which takes its place
};

struct KeptDevices {
  const Node* node = nullptr;
  std::vector<std::int32_t> devices;  // ascending
};

// Ascending by beneficiary and id.
std::vector<WantedPutBack> wanted_put_backs(const State& state, const std::string& executor);

// What is promised on its nodes to jobs that it may put its own back for: its next job is to have
// none of that, from the promise until the launch. Ascending by node.
std::vector<KeptDevices> kept_for_promises(const State& state, const std::string& executor);

}  // namespace dove::core
