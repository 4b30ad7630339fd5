// Report: one thing that became of a placement or step, on its way to the controller.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "model/job.h"

namespace dove::agent {

enum class ReportKind {
  kPrepared,
  kStarted,
  kTaskEnded,     // exits[0], while others of the placement go on
  kEnded,         // nothing of the attempt is left here
  kLaunchFailed,  // why; nothing was started
  kStepEnded,     // exits of the step's tasks here
  kRefused,       // an order of an older epoch: why
};

struct Report {
  ReportKind kind = ReportKind::kPrepared;
  AttemptKey key;
  std::vector<TaskExit> exits;
  std::string why;
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_bytes = 0;
  std::int32_t step = 0;
  std::int64_t started_us = 0;  // of kEnded: by this machine's clock; 0: nothing was started
};

// As it is told at `now_us` by this machine's clock.
nlohmann::json report_json(const Report& report, std::int64_t now_us);
// For machines with other clocks; at least 1. REQUIRES: started_us is not 0.
std::int64_t started_ago_us(std::int64_t started_us, std::int64_t now_us);

}  // namespace dove::agent
