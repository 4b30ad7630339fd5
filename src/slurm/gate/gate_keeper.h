// GateKeeper: the adapter's part of the gate. It reports the waiting jobs to the controller, and
// starts those that the ledger has placed.
//
// What it remembers may be lost: after a restart it reports everything again, and the marks and
// fences in Slurm show how far each start is. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/cluster.h"
#include "slurm/fences/last_signal.h"
#include "slurm/gate/gate_control.h"
#include "slurm/gate/gate_folder.h"
#include "slurm/gate/gate_json.h"
#include "slurm/gate/gate_plan.h"
#include "slurm/gate/past_ends.h"
#include "slurm/gate/scheduler_wake.h"
#include "slurm/set_back.h"

namespace dove::slurm {

class GateKeeper {
 public:
  using Tell = std::function<Result<std::vector<GateJob>>(const GateRequest& request,
                                                          const std::vector<NodeSeen>& nodes)>;

  // `folder`: of Lua's files; null: there are none (tests). `wake`: null: jobs that are let go wait
  // for Slurm's next look. `past_ends`: null: nothing says how forgotten jobs ended.
  // `signal_wait_s`: as FenceKeeper's.
  GateKeeper(SlurmCluster& slurm, GateControl& control, Tell tell, GateFolder* folder,
             std::string cluster, std::string incarnation, SchedulerWake* wake = nullptr,
             PastEnds* past_ends = nullptr, std::int64_t signal_wait_s = kSignalWaitMax_s);

  // Reads the users' words, takes tasks out of arrays, and tells the controller what waits.
  // `observed`: a look that Slurm has answered.
  void tell(const Observed& observed, std::int64_t now_s);

  // What to report, and to do, about jobs with a place.
  GatePlan plan(const Observed& observed, const std::vector<Wanted>& wanted,
                const std::vector<WantedWork>& works, std::int64_t now_s);
  // Whether anything has changed in Slurm.
  bool carry_out(const GatePlan& plan, const Observed& observed, std::int64_t now_s);

  // A job is being started, or was taken out of its array: Slurm is to be looked at soon.
  bool is_starting() const { return took_out_ || !memory_.since_s.empty(); }
  // A job waits for the ledger: its answer is to be asked for often.
  bool has_waiting() const { return has_waiting_; }

 private:
  struct Known {
    std::int64_t job = 0;          // of the ledger
    int restarts = 0;              // when it was handed in
    std::string reservation = {};  // then
    std::string refused;
    std::int64_t told_s = 0;  // when it was handed in last
    std::int64_t asked_why_s = 0;
  };

  // How often its run in Slurm was told to end.
  struct Ending {
    int restarts = 0;          // of which run
    std::int64_t pause_s = 0;  // after the last try that failed; twice the one before
    std::int64_t again_s = 0;
    bool is_warned = false;  // it has had its user's signal, or gets none
    std::int64_t at_s = 0;   // the time that its user wants after that is over
  };

  void move_back(std::int64_t back_s);  // the clock was set back
  void read_words(const Observed& observed);
  void words_taken(const std::map<std::int64_t, const JobSeen*>& jobs);
  void take_out(const Observed& observed, std::int64_t now_s);
  bool is_told(const JobSeen& job, std::int64_t now_s) const;
  void hear(const GateJob& said, const JobSeen& job, std::int64_t now_s);
  void say(const JobSeen& job, const std::string& words);
  void say_what_cannot(const Observed& observed);
  bool may_end(const JobSeen& job, std::int64_t now_s) const;
  Ending& ending_of(const JobSeen& job);
  // Whether it has had all the time that its user wants before its end.
  bool is_warned(const JobSeen& job, std::int64_t now_s);
  // Puts it back, or ends it. Whether it did anything, as the next.
  bool put_back(const JobSeen& job, const GatePutBack& one, std::int64_t now_s);
  bool ask_fences(const std::vector<Ask>& fences, std::int64_t now_s);
  bool let_go(const std::vector<GatePlacing>& places,
              const std::map<std::int64_t, const JobSeen*>& jobs);
  void prepare_wake(const GatePlan& plan, const Observed& observed, std::int64_t now_s);
  void check_marks(const Observed& observed);
  // Whether anything is known now that was not.
  bool learn_ends(const std::set<std::int64_t>& gone, std::int64_t now_s);

  SlurmCluster& slurm_;
  GateControl& control_;
  const Tell tell_;
  GateFolder* const folder_;
  const std::string cluster_;
  const std::string incarnation_;
  SchedulerWake* const wake_;
  PastEnds* const past_ends_;
  const std::int64_t signal_wait_s_;
  std::map<std::int64_t, Known> known_;
  std::map<std::int64_t, bool> words_;  // what users said since: held, or not
  std::set<std::int64_t> user_holds_;
  std::map<std::int64_t, Ending> endings_;               // by Slurm job
  std::map<std::int64_t, std::string> said_;             // the comment of each, as we wrote it last
  std::map<std::string, std::int64_t> not_taken_out_s_;  // tasks of arrays: tried last
  std::map<std::string, std::int64_t> no_fence_s_;       // by node: when there was none
  std::set<std::int64_t> new_fences_;  // since the last look, without a mark of ours
  bool lua_marks_ = true;              // else job_submit.lua is of a former version
  GateMemory memory_;
  SetBack set_back_;
  bool has_waiting_ = false;
  bool took_out_ = false;  // tasks of arrays, at the last look
  int says_left_ = 0;      // comments that may be written before the next look
  int warnings_left_ = 0;  // signals that may be sent then
  std::int64_t number_ = 0;
  std::string trouble_;
};

}  // namespace dove::slurm
