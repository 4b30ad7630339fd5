// The messages between adapter and controller: POST /v1/executors/NAME/sync.
//
// Pure. A request is complete each time: an allocation that it does not name has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/level.h"
#include "model/time.h"
#include "slurm/drains.h"
#include "slurm/fences/put_back.h"
#include "slurm/fences/standing_fences.h"
#include "slurm/kept_cores.h"
#include "slurm/machine_check.h"
#include "slurm/observed.h"
#include "slurm/plan.h"
#include "slurm/works/work.h"

namespace dove::slurm {

// A time, or the rest of one, in which the ledger did not hear what Slurm runs.
struct Unwatched {
  Instant from;
  Instant until;
  bool operator==(const Unwatched&) const = default;
};

// A job that ended then: what it had on nodes of the executor.
struct PastUse {
  std::int64_t id = 0;
  std::string account;
  std::int64_t started_s = 0;  // since 1970 UTC
  std::int64_t ended_s = 0;
  std::int64_t cores = 0;
  std::int64_t gpus_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const PastUse&) const = default;
};

// All that ended in the first part of one.
struct PastPart {
  Unwatched of;
  Instant until;
  std::vector<PastUse> uses;
};

struct SyncRequest {
  std::string incarnation;  // of this process
  std::int64_t number = 0;  // increasing within it
  std::int64_t seen = 0;    // `version` of the last answer
  int wait_s = 0;           // how long the answer may wait for something new
  bool complete = true;     // false: Slurm did not answer; nothing is taken to have ended
  std::vector<NodeSeen> nodes;
  std::vector<ReservationSeen> reservations;
  std::vector<KeptCores> kept_cores;   // by reservations of some cores
  std::vector<std::string> agentless;  // hostlists of those where no agent of ours runs
  std::vector<JobSeen> foreign;        // those that hold something
  std::vector<PlaceholderReport> placeholders;
  std::vector<WorkReport> works;
  std::optional<PastPart> past = {};
};

struct SyncAnswer {
  std::int64_t version = 0;
  std::int64_t level = kFirstLevel;  // of the log; controllers of the first say none
  std::vector<Wanted> wanted;
  std::vector<WantedWork> works;
  std::vector<WantedDrain> drains;
  Lent lent;
  std::vector<Machine> machines = {};  // of its nodes with agents
  std::optional<Unwatched> unwatched = {};
  std::vector<PutBack> put_backs = {};
  DevicesOfNodes kept = {};  // for the jobs of ours that those make room for
  // Partitions whose waiting jobs ours make room for; none: Slurm's jobs wait at a gate, or the
  // controller is of a former version.
  std::optional<std::vector<std::string>> yields_to = {};
};

inline constexpr std::size_t kAnswerBytesMax = 16 << 20;

std::string write_request(const SyncRequest& request);
Result<SyncAnswer> read_answer(std::string_view body);

}  // namespace dove::slurm
