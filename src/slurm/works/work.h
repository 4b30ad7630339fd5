// Placements of jobs of ours that Slurm runs: what the ledger wants of each, and what the adapter
// reports.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurm/plan.h"

namespace dove::slurm {

struct TaskFiles {
  int rank = 0;
  std::string output;                       // relative to the working directory, or absolute
  std::string error;                        // "": as the output
  std::optional<std::vector<int>> devices;  // of the placement's, by position; unset: all
};

// What a placement runs. There is none for a job whose Slurm job is somebody else's.
struct Program {
  std::string script;                // "": each task runs `command`; else its arguments
  std::vector<std::string> command;  // not empty without a script
  std::map<std::string, std::string> environment;
  std::string workdir;  // "": the user's home
  std::string input;    // "": nothing
  std::vector<TaskFiles> tasks;
  bool append = false;
  std::string umask = "0022";
};

// A signal before its time is over.
struct Warning {
  int signal = 0;            // 0: none
  std::int64_t at_s = 0;     // since 1970 UTC
  bool steps_first = false;  // where it has started steps, only they get it
};

struct WantedWork {
  PlaceholderKey key;
  int node_rank = 0;
  int nodes = 1;            // of the attempt
  std::string foreign_job;  // "": a job of ours, which runs in its placeholder
  bool started = false;     // the ledger has heard that it runs
  bool stop = false;        // it may never have begun
  bool put_back = false;    // stopped, a foreign job waits again; else it is ended
  int stop_signal = 15;
  std::int64_t grace_s = 30;  // from that signal to SIGKILL
  int checkpoint_signal = 0;  // comes first; 0: none
  std::int64_t checkpoint_grace_s = 0;
  Warning warning = {};
  std::vector<int> ranks;
  int cores = 1;
  std::string user;  // a Linux user
  std::string name;
  std::optional<Program> program;  // while it has not started
};

struct TaskEnd {
  int rank = 0;
  int exit_code = 0;
  int signal = 0;
  std::string cause;  // "": by itself
  bool operator==(const TaskEnd&) const = default;
};

struct WorkReport {
  PlaceholderKey key;
  bool has_ended = false;
  std::vector<TaskEnd> exits;
  std::string why;  // it could not begin
  bool operator==(const WorkReport&) const = default;
};

}  // namespace dove::slurm
