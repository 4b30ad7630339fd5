// Idleness: when a session that nobody uses is ended, and what was seen of it.
//
// A rule is declared by administrators, as the rest of declared.h. Several may concern a job: the
// one that names its user counts, else one that names its project, else one for everybody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/labels.h"
#include "model/time.h"

namespace dove {

enum class IdleCheck : std::uint8_t {
  kInput,     // nobody has used it
  kUse,       // its devices and cores do next to nothing
  kLifetime,  // it is as old as it may become
};

struct IdleRule {
  std::string name;
  std::vector<std::string> users;     // ascending; with `projects` empty, too: everybody
  std::vector<std::string> projects;  // ascending
  std::vector<std::string> apps;      // ascending, "notebook"; empty: whatever the job is
  bool exempt = false;                // their jobs are never ended by a rule
  bool sessions_only = true;          // jobs without an app are left alone
  Span no_input_for;                  // longest time without a person's input; 0: not looked at
  Span window;                        // over which use is averaged; 0: not looked at
  // Thresholds, in percent of what the job holds; -1: not looked at.
  std::int32_t gpu_percent = -1;
  std::int32_t gpu_memory_percent = -1;
  std::int32_t cpu_percent = -1;
  bool any = false;             // true: one below its threshold is enough; false: all must be
  Span lifetime;                // 0: as long as the job's time limit
  Span grace = seconds(300);    // after the start, in which nothing is judged
  Span warning = seconds(600);  // between the warning and the end
  Labels labels = {};
  bool operator==(const IdleRule&) const = default;
};

// -- events (model/event.h) ----------------------------------------------------------------------

// The running job is idle: unless that changes, it is stopped `warning` from now.
struct IdleObserved {
  JobId job;
  AttemptNumber attempt = 0;
  IdleCheck check = IdleCheck::kInput;
  std::string rule;      // its name
  std::string evidence;  // values and thresholds, in words
  Span warning;
  bool operator==(const IdleObserved&) const = default;
};
// It is used again.
struct IdleEnded {
  JobId job;
  AttemptNumber attempt = 0;
  bool operator==(const IdleEnded&) const = default;
};
// A person keeps the job: no rule but that of its lifetime ends it before `until`.
struct JobKept {
  JobId job;
  Instant until;
  bool operator==(const JobKept&) const = default;
};
// Who may enter the job's app besides its user; replaces a former list.
struct JobShared {
  JobId job;
  std::vector<std::string> users;  // ascending
  bool operator==(const JobShared&) const = default;
};

}  // namespace dove
