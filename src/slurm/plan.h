// What to request from Slurm and what to release, given what it holds and what the ledger wants.
//
// Pure, level-triggered and idempotent: it is computed anew from each look at Slurm, so that
// answers that were lost, late or repeated do no harm. There is at most one placeholder for each
// (job, attempt, node). Jobs of Slurm's users that wait at the gate are plan_gate()'s.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/cluster.h"
#include "slurm/fences/standing_fences.h"
#include "slurm/observed.h"

namespace dove::slurm {

struct PlaceholderKey {
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  std::string node;
  auto operator<=>(const PlaceholderKey&) const = default;
};
using JobAttempt = std::pair<std::int64_t, std::int64_t>;  // of a job of ours

// What the ledger wants held in Slurm.
struct Wanted {
  PlaceholderKey key;
  std::vector<int> cores;  // as the ledger has them; which ones is Slurm's choice
  std::vector<int> devices;
  std::int64_t memory_bytes = 0;
  std::int64_t until_s = 0;  // since 1970 UTC; 0: no end
  std::string user;
  std::string name;
  bool runs = false;         // Slurm runs the job: `user` is whose Slurm job it has to be
  std::string foreign_job;   // a job of Slurm's users, which holds by itself; "": none
  std::int64_t held_by = 0;  // the Slurm job that the ledger last heard to hold it; 0: none
};

enum class PlaceholderState { kAsked, kConfirmed, kRefused, kEnded };
std::string_view word(PlaceholderState state);

// What is reported about a placeholder that is wanted.
struct PlaceholderReport {
  PlaceholderKey key;
  std::int64_t id = 0;  // of the Slurm job; 0: it has none
  PlaceholderState state = PlaceholderState::kAsked;
  std::string why;
  std::vector<int> devices;
  std::vector<int> cores = {};  // that Slurm gave it, by Slurm's numbers; empty: not confirmed
  bool operator==(const PlaceholderReport&) const = default;
};

struct Refusal {
  std::string why;
  std::int64_t at_s = 0;  // since 1970 UTC
  bool told = false;      // the ledger has heard of it
  bool is_final = false;  // of a job that Slurm is to run, and will not
};

// A placeholder that Slurm was to start when its scheduler looks.
struct Starting {
  std::int64_t id = 0;
  std::int64_t asked_s = 0;  // since 1970 UTC
};

// What this process remembers; all of it may be lost.
struct PlanMemory {
  // While it is wanted. What is wanted still, some time after the ledger has heard of the refusal,
  // is asked for again: work runs there that lost its placeholder.
  std::map<PlaceholderKey, Refusal> refused;
  std::set<std::int64_t> ended_told;  // Slurm jobs whose end the ledger has heard of
  std::map<PlaceholderKey, Starting> starting;
  // Placeholders that were still ending when Slurm refused it: it is asked for once more when they
  // have ended. While it is wanted.
  std::map<PlaceholderKey, std::set<std::int64_t>> awaited;
};

inline constexpr std::int64_t kAskAgain_s = 5;
// Slurm looks for batch jobs to start every three seconds by default (batch_sched_delay), and less
// often where there are many. What has not started by then has no room.
inline constexpr std::int64_t kStart_s = 20;

struct Submission {
  PlaceholderKey key;
  Ask ask;
};

struct LimitChange {
  std::int64_t id = 0;
  std::int64_t limit_minutes = 0;
};

struct Plan {
  std::vector<Submission> submit;
  std::vector<std::int64_t> cancel;
  std::vector<LimitChange> limits;
  std::vector<PlaceholderReport> reports;               // one for each that is wanted
  std::map<PlaceholderKey, std::string> newly_refused;  // to be kept in the memory
};

// "dove-17.2@dove", and back: none for another's name, or another cluster's.
std::string placeholder_name(std::int64_t job, std::int64_t attempt, const std::string& cluster);
std::optional<JobAttempt> read_placeholder_name(std::string_view name, const std::string& cluster);
// Whether it is one of ours: by our mark, which users cannot set. The mark names it, since its user
// may give it another name; that of a former version of this program does not.
bool is_placeholder(const JobSeen& job, const std::string& cluster);

// How the names of fences begin (gate/gate_plan.h). No placeholder's name does.
inline constexpr const char kFence_name[] = "dove-fence-";
bool is_fence(const JobSeen& job, const std::string& cluster);

// What the placeholders hold that Slurm has.
using DevicesOfPlaceholders = std::map<PlaceholderKey, std::set<int>>;
DevicesOfPlaceholders devices_of_placeholders(const Observed& observed, const std::string& cluster);

// The standing fences on nodes where a placeholder holds fewer cores than work of ours has there.
// Former versions let it run on the fences' cores: they are to keep them until it ends.
std::set<std::int64_t> fences_that_lend_cores(const Observed& observed,
                                              const std::vector<Wanted>& wanted,
                                              const std::string& cluster);

// Those that have not ended, by their Slurm jobs: the job and the attempt of each. Another job may
// have the number of one that is gone: a Slurm that was set up anew counts from 1 again.
std::map<std::int64_t, JobAttempt> living_placeholders(const Observed& observed,
                                                       const std::string& cluster);

// Those in which something was begun, or was about to be.
std::set<PlaceholderKey> begun_placeholders(const Observed& observed, const std::string& cluster);

// The placeholders whose processes Slurm is still ending.
std::vector<PlaceholderKey> ending_placeholders(const Observed& observed,
                                                const std::string& cluster);

// Placeholders that are about to end get more time while nobody says what is wanted: work may run
// on what they hold.
std::vector<LimitChange> longer_stays(const Observed& observed, const std::string& cluster,
                                      std::int64_t now_s);

// The clock was set back by this much.
void move_back(PlanMemory& memory, std::int64_t back_s);

// What is of no use any more.
void forget_unwanted(const Observed& observed, const std::vector<Wanted>& wanted,
                     PlanMemory& memory);

// `kept`: what standing fences are about to hold: no placeholder asks for that. `cluster`:
// whose placeholders these are. `now_s`: since 1970 UTC.
Plan plan(const Observed& observed, const std::vector<Wanted>& wanted, const DevicesOfNodes& kept,
          const PlanMemory& memory, const std::string& cluster, std::int64_t now_s);

}  // namespace dove::slurm
