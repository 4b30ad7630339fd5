// SlurmCluster: what the adapter needs of a Slurm.
//
// CommandCluster talks to a real one by its commands. Calls block, each for at most a few seconds.
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/observed.h"

namespace dove::slurm {

// How the mark in the administrator's comment of each placeholder begins. It is its comment, too,
// which prologs and epilogs see.
inline constexpr const char kMark[] = "dovetail";
inline std::string placeholder_mark(const std::string& name) {
  return std::string(kMark) + " " + name;
}

// The mark of one in which an adapter has begun to run something, or was about to.
inline std::string begun_mark(const std::string& name) { return placeholder_mark(name) + " begun"; }

// A placeholder: an allocation on one node that runs nothing.
struct Ask {
  std::string name;  // of the Slurm job
  std::string node;
  std::vector<std::string> partitions;  // it may be in one of them; empty: Slurm's default
  std::string gres;                     // "gpu:h200_2:1"; "": no device
  int cpus = 1;
  std::int64_t memory_bytes = 0;
  std::int64_t limit_minutes = 0;  // 0: none
  std::string reservation;         // Slurm's, to allocate from; "": none
  std::string user;                // whom Slurm accounts it to, if it is a Linux user here
  bool is_users = false;  // it is that user\'s, who is to run something in it, or nobody\'s
  // It needs no mark of ask(): the gate's job_submit.lua writes the same.
  bool is_marked_by_gate = false;
  // Slurm has nothing for it yet: it is to wait in its queue, before all others.
  bool waits = false;
};

// The code of ask()'s error about one that is its user's, where asking again does not help:
// somebody has to change rights or settings first, and the message says which.
inline constexpr const char kUser_refused[] = "user_refused";

class SlurmCluster {
 public:
  virtual ~SlurmCluster() = default;

  // Everything, or an error: a part is never given for the whole.
  virtual Result<Observed> observe() = 0;
  // The jobs alone, more cheaply. `nodes`: of a look just before.
  virtual Result<std::vector<JobSeen>> observe_jobs(const std::vector<NodeSeen>& nodes) = 0;
  // Its id. It runs when this returns, unless it may wait or is a user's: such a job may still be
  // pending then, since Slurm may start it only when its scheduler looks. Without an id it is in no
  // queue: kConflict says why Slurm has nothing for it now, another error what went wrong.
  virtual Result<std::int64_t> ask(const Ask& ask) = 0;
  // Ends it. Success too when it had ended.
  virtual Result<void> release(std::int64_t job) = 0;
  // Stops it for good: it keeps its devices and its memory, and its cores are free for others. The
  // time until it is released does not count towards its limit.
  virtual Result<void> suspend(std::int64_t job) = 0;
  // Sends it the signal that its user wants before its end (sbatch --signal), to whom Slurm would
  // send it. Returns how long before its end that is to be, in seconds; 0: its user wants none.
  virtual Result<std::int64_t> warn(const std::string& handle) = 0;
  // It ends as Slurm ends jobs, and waits in Slurm's queue to run again from its start. `handle`:
  // what scontrol calls it (JobSeen). `why`: its administrator's comment; "": that stays. One that
  // has ended is not run again.
  virtual Result<void> requeue(const std::string& handle, const std::string& why) = 0;
  // Sets the administrator's comment. `handle`: as of requeue(). The number of an array's last task
  // is the array's, too: by it Slurm sets the comments of all its tasks.
  virtual Result<void> mark(const std::string& handle, const std::string& text) = 0;
  // Gives it another time limit, counted from its start; 0: none.
  virtual Result<void> set_limit(std::int64_t job, std::int64_t limit_minutes) = 0;
  // Gives the node no new work, for that reason; with "", opens it again. What runs there goes on.
  virtual Result<void> set_drain(const std::string& node, const std::string& reason) = 0;
};

}  // namespace dove::slurm
