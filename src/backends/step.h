// Steps: programs that run inside a job's allocation (srun, Open MPI's launch agent), as their
// client asks for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/exec.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/placement.h"

namespace dove::backends {

// How the devices of a step on a node are shared by its tasks there.
struct DeviceBind {
  enum class Kind {
    kDefault,  // those asked per task to each, else all to all
    kAll,      // all to all
    kSingle,   // one for each `count` tasks
    kPerTask,  // `count` for each task
    kMap,      // each task that of `list` at its place, by position
    kMask,     // each task those whose bits are set in its place of `list`
  };
  Kind kind = Kind::kDefault;
  std::int32_t count = 0;
  std::vector<std::uint64_t> list;
  bool operator==(const DeviceBind&) const = default;
};

// Devices as a step may ask for them; at most one of the amounts but for `total` with
// `tasks_per_device`, which gives the number of tasks or of devices.
struct StepDevices {
  std::optional<std::int32_t> per_node;
  std::optional<std::int32_t> per_task;
  std::optional<std::int32_t> total;
  std::int32_t tasks_per_device = 0;
  std::string model;  // "" : any
  DeviceBind bind;
  bool asked() const { return per_node || per_task || total || tasks_per_device > 0; }
  bool none() const {
    return (per_node && *per_node == 0) || (per_task && *per_task == 0) || (total && *total == 0);
  }
  bool operator==(const StepDevices&) const = default;
};

struct StepRequest {
  std::int32_t tasks = 0;             // 0: one for each slot of the attempt on the nodes taken
  std::int32_t nodes = 0;             // 0: all of the attempt, as far as there are tasks
  std::int32_t tasks_per_node = 0;    // 0: as many as fit
  std::int32_t cores_per_task = 0;    // 0: as the job's tasks
  std::vector<std::string> nodelist;  // non-empty: only these, in the attempt's order
  std::vector<std::string> exclude;   // never these
  std::int32_t relative = 0;          // this number of nodes of the attempt is passed over
  bool overcommit = false;            // more tasks than cores
  bool exact = false;                 // cores of its own, no more than its tasks need
  bool overlap = false;               // shares what it asks for with other steps
  bool waits = true;                  // until what it asks for is free
  bool all_cores = false;             // each task sees the cores of all of them on its node
  StepDevices devices;
  std::int64_t memory_bytes = 0;  // of each node
  std::int64_t memory_per_core_bytes = 0;
  std::vector<Countable> countables;  // that the job must hold on each node
  bool operator==(const StepRequest&) const = default;
  // Whether it gets anything by itself.
  bool asks() const {
    return exact || devices.asked() || memory_bytes > 0 || memory_per_core_bytes > 0;
  }
};

struct StepProgram {
  std::string name;  // "" : the program's
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string workdir;
  std::string stdout_path;
  std::string stderr_path;
  std::string stdin_text;         // "none", "stream" (from the client), or a path
  std::int32_t stdin_rank = -1;   // it goes to this task alone; -1: to all
  std::int64_t time_limit_s = 0;  // 0: as long as its job
  ContainerSpec container;        // without image and name: it runs in what its job runs in
  bool label = false;
  bool kill_on_bad_exit = false;
  std::int64_t wait_s = 0;  // how long others may run after the first task's end; 0: any time
};

// What a step got by itself of one node.
struct StepHolding {
  CoreSet cores;
  std::vector<DeviceGrant> devices;
  std::int64_t memory_bytes = 0;
  bool empty() const { return cores.empty() && devices.empty() && memory_bytes == 0; }
};

// What a step's client knows of it, handed back to a server that does not.
struct SeenOutput {
  Rank rank = 0;
  bool is_stderr = false;
  std::int64_t bytes = 0;
};

struct StepAttach {
  AttemptNumber attempt = 0;
  std::int32_t step = 0;
  std::map<std::string, std::vector<Rank>> ranks;  // by the node's name
  std::string stdout_path;                         // not "": its output goes there, not to us
  std::string stderr_path;
  std::vector<SeenOutput> seen;
  std::map<std::string, StepHolding> held;  // likewise
  bool input = false;
  std::int32_t stdin_rank = -1;
  std::int64_t time_left_s = 0;  // 0: no limit of its own
  bool kill_on_bad_exit = false;
  std::int64_t wait_s = 0;  // of what is left of it
};

}  // namespace dove::backends
