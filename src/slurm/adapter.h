// Adapter: keeps a Slurm and the controller's ledger in step, one cycle at a time.
//
// A cycle looks at Slurm, reports to the controller, and does what the answer requires:
// placeholders are requested and released. It keeps nothing that Slurm or the ledger does not know,
// so it may be killed at any time: placeholders and drains stay, and the next adapter recognises
// them. While Slurm does not answer, nothing is assumed to have ended; while the controller does
// not answer, nothing is changed in Slurm. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/cluster.h"
#include "slurm/drains.h"
#include "slurm/exposure.h"
#include "slurm/fences/fence_keeper.h"
#include "slurm/gate/gate_keeper.h"
#include "slurm/machine_check.h"
#include "slurm/plan.h"
#include "slurm/rooms/room_keeper.h"
#include "slurm/set_back.h"
#include "slurm/sync.h"
#include "slurm/works/users_away.h"
#include "slurm/works/works.h"

namespace dove::slurm {

struct AdapterOptions {
  std::string cluster = "dove";             // in the names of placeholders
  std::string incarnation;                  // of this process
  int wait_s = 1;                           // how long an answer may wait when nothing has changed
  std::vector<std::string> agentless = {};  // hostlists of nodes where no agent of ours runs
  std::int64_t signal_wait_s = kSignalWaitMax_s;  // of FenceKeeper
};

// "1s", "500ms": the time between looks at Slurm, in microseconds; 100 ms to a minute.
Result<std::int64_t> read_interval(const std::string& text);

// "2m": AdapterOptions::signal_wait_s; none to ten minutes.
Result<std::int64_t> read_signal_wait(const std::string& text);

// The part of Slurm that a cycle looks at before it speaks.
enum class Look {
  kNone,  // it speaks of the last look
  kJobs,  // nodes are as they were at the last look
  kAll,
};

struct CycleEnd {
  bool slurm_answers = false;
  bool controller_answers = false;
  bool changed = false;      // the next cycle, with a look, is due at once
  bool gate_starts = false;  // a job at the gate is being started: look again soon
  bool gate_waits = false;   // one waits for the ledger's word
  bool replaced = false;     // another adapter speaks for this executor: this one is to end
};

class Adapter {
 public:
  // One sync with the controller. The request's wait_s bounds how long the answer takes.
  using Sync = std::function<Result<SyncAnswer>(const SyncRequest& request)>;
  using Clock = std::function<std::int64_t()>;  // microseconds since 1970 UTC

  // `steps`: where jobs of ours are run; null: none are. `gate`: null: there is none.
  // `rooms`: tells what waits in Slurm without a gate; null: nothing does.
  Adapter(SlurmCluster& slurm, Sync sync, Clock clock, AdapterOptions options,
          Steps* steps = nullptr, GateKeeper* gate = nullptr, RoomKeeper* rooms = nullptr);

  CycleEnd cycle(Look look = Look::kAll);
  void log_exposure() { exposure_.log_summary(); }

 private:
  bool observe(Look look);
  void recall_devices(JobSeen& job) const;
  void check_reservation(GateSeen& gate) const;
  bool is_ours(const JobSeen& job) const;
  SyncRequest request();
  void told(const SyncRequest& request, const std::string& content);
  void refuse(const PlaceholderKey& key, const std::string& why, bool is_final = false);
  void set_limits(const std::vector<LimitChange>& limits);
  bool carry_out(const Plan& plan);
  // `released`: Slurm jobs that have just been told to end.
  bool submit(const Submission& one, const std::vector<std::int64_t>& released);
  // The jobs of ours that run in Slurm, and what is to be done about them: by what was wanted last.
  WorkPlan look_at_works();
  bool carry_out(const WorkPlan& plan);
  bool begin(const WantedWork& work);
  void drain(const std::vector<WantedDrain>& wanted);
  // What Slurm is not lent, what is kept for jobs that others make room for, and what work of ours
  // has that no placeholder holds.
  DevicesOfNodes kept() const;
  bool keep_fences(std::int64_t now_s);
  void take(SyncAnswer& answer, Look look);
  // Adds reports on jobs of Slurm's users that have a place or room here, by the last look and
  // answer, and returns those on their works.
  std::vector<WorkReport> look_at_gate(std::int64_t now_s);
  void end_old_fences(std::int64_t now_s);
  Plan plan_placeholders(std::int64_t now_s) const;
  void log_trouble(std::string& last, const char* event, const std::string& now) const;

  SlurmCluster& slurm_;
  Steps* const steps_;
  GateKeeper* const gate_;
  RoomKeeper* const rooms_;
  const Sync sync_;
  const Clock clock_;
  const AdapterOptions options_;
  FenceKeeper fences_;
  Exposure exposure_;
  Observed observed_;                          // at the last look that Slurm answered
  std::optional<std::vector<Wanted>> wanted_;  // of the last answer; none: there was none yet
  std::vector<PlaceholderReport> reports_;     // at the last look
  std::vector<WorkReport> gate_works_;         // likewise: an end is told with its placeholder's
  std::vector<WantedWork> works_;              // of the last answer
  std::set<std::int64_t> gate_confirmed_;      // at the last look: Slurm's jobs in their place
  std::map<PlaceholderKey, std::string> not_begun_;  // why; while they are wanted
  UsersAway away_;
  std::string told_;  // the last report that the controller took
  PlanMemory memory_;
  SetBack set_back_;
  DevicesOfNodes not_lent_;         // by the last answer, of the nodes of the last look
  Lent lent_;                       // of the last answer
  std::vector<PutBack> put_backs_;  // likewise
  DevicesOfNodes kept_for_ours_;    // likewise
  std::optional<std::vector<std::string>> yields_to_;  // likewise
  std::map<std::int64_t, std::vector<NodeAllocation>>
      last_held_;  // by job, when its devices were known
  MachineCheck machines_;
  DrainPace drain_pace_;
  bool slurm_answers_ = false;  // at the last look
  std::int64_t number_ = 0;
  std::int64_t seen_ = 0;
  std::int64_t level_ = kFirstLevel;  // of the last answer
  std::string slurm_trouble_;
  std::string controller_trouble_;
  std::string steps_trouble_;
  std::string mark_trouble_;
};

}  // namespace dove::slurm
