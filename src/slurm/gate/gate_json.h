// The messages between adapter and controller about jobs at the gate: POST
// /v1/executors/NAME/waiting.
//
// Pure. Each request names all jobs at the gate: a job that it does not name has gone.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/observed.h"

namespace dove::slurm {

enum class UserWord { kNone, kHold, kRelease };

struct GatePresent {
  std::int64_t id = 0;   // in Slurm
  std::int64_t job = 0;  // of the ledger, if this process has heard of it
  UserWord word = UserWord::kNone;
  bool asks_why = false;
};

struct GateRequest {
  std::string incarnation;
  std::int64_t number = 0;  // increasing within it
  bool room = false;        // not of the gate: they start by themselves (slurm/rooms)
  std::vector<GatePresent> present;
  std::set<std::int64_t> user_holds;  // of these, those that their users hold
  std::vector<const JobSeen*> jobs;   // those that the ledger is to take, with what they ask for
};

struct GateJob {
  enum class State { kUnknown, kWaiting, kActive, kEnded, kRefused };
  std::int64_t id = 0;
  std::int64_t job = 0;
  State state = State::kUnknown;
  std::string why;
};

// The part of a request in which one job has at most some KiB.
inline constexpr std::size_t kGateJobsMax = 500;

// The part of the job's request that the ledger cannot place; "": there is none.
std::string why_not_placed(const JobSeen& job);

// `nodes`: of the same look, for the partitions.
std::string write_gate_request(const GateRequest& request, const std::vector<NodeSeen>& nodes);
Result<std::vector<GateJob>> read_gate_answer(std::string_view body);

}  // namespace dove::slurm
