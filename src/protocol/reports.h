// Report: one thing that an agent has to say (api/agent-protocol.md, reports).
//
// A type for each kind, so that a kind cannot lack what belongs to it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/health.h"
#include "model/job.h"
#include "protocol/attempt.h"

namespace dove::protocol {

struct Prepared {
  AttemptKey key;
};
struct Started {
  AttemptKey key;
};
// While others of the placement go on.
struct TaskOver {
  AttemptKey key;
  TaskExit exit;
};
// Nothing of the attempt is left on the node.
struct Ended {
  AttemptKey key;
  std::vector<TaskExit> exits;  // that were not told before
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak_bytes = 0;
  std::int64_t started_ago_us = 0;  // by the agent's clock; 0: nothing was started, or not known
};
// Nothing was started.
struct LaunchRefused {
  AttemptKey key;
  std::string why;
};
// An order of an older epoch.
struct OrderRefused {
  AttemptKey key;
  std::string why;
};
// A step's tasks on the node.
struct StepOver {
  AttemptKey key;
  std::int32_t step = 0;
  std::vector<TaskExit> exits;
};
// One of them, while others of the step run there: told where the order asks for it.
struct StepTaskOver {
  AttemptKey key;
  std::int32_t step = 0;
  TaskExit exit;
};
struct PreflightOver {
  AttemptKey key;
  std::string peer;  // to which the network failed; "": what failed by itself
  std::string check;
  std::string evidence;
};
// How far a task is, as it says.
struct RankProgress {
  Rank rank = 0;
  std::int64_t step = 0;
  std::int64_t step_us = 0;
  std::int64_t busy_us = 0;  // the median lately, without waiting for others
  std::int64_t samples = 0;
  std::optional<double> loss;
  std::string phase;
  std::vector<Rank> blamed = {};  // of which it says that a collective with them failed
};
struct Progress {
  AttemptKey key;
  std::vector<RankProgress> ranks;
};
// What holds the attempt's tasks to their shares of devices: "mps", "library" or "nobody".
struct Shares {
  AttemptKey key;
  std::string keeper;
};
// How busy a device was, by its number on the node; in hundredths of a percent.
struct DeviceUse {
  std::int32_t device = 0;
  std::int32_t use = 0;
  bool operator==(const DeviceUse&) const = default;
};
// What the attempt has used here since it was told last; what could not be measured is not there.
// The parts are hundredths of a percent of what it holds.
struct Use {
  AttemptKey key;
  std::int64_t span_us = 0;                // since then
  std::optional<std::int32_t> gpu;         // of its busiest device
  std::optional<std::int32_t> gpu_memory;  // likewise
  std::optional<std::int32_t> cpu;
  bool in_use = false;    // a program works in a terminal, or the app does for its user
  bool app_told = false;  // the app has answered since
  std::optional<std::int64_t> unused_us;  // how long ago the app was used, as it says
  std::vector<DeviceUse> devices = {};    // those that were measured
};
// Which settings of the job have no effect on the node, and why.
struct Warnings {
  AttemptKey key;
  std::vector<std::string> texts;
};
// What the node's own checks found.
struct FindingSaid {
  Finding finding;
};
struct Tested {
  bool passed = false;
  std::string evidence;
};
struct RemedyOver {
  std::string remedy;  // the hook's name
  bool done = false;
  std::string why;
};

using Report = std::variant<Prepared, Started, TaskOver, Ended, LaunchRefused, OrderRefused,
                            StepOver, PreflightOver, Progress, Shares, Warnings, FindingSaid,
                            Tested, RemedyOver, Use, StepTaskOver>;

// As it stands in a message; also how an agent keeps an end on disk.
std::string report_text(const Report& report);
// Errors: malformed_message.
Result<Report> read_report(const nlohmann::json& json);
// The attempt that the report is about; nullptr when it is about the node itself.
const AttemptKey* key_of(const Report& report);

}  // namespace dove::protocol
