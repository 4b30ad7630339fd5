// A job and a node as the commands show them, read from the API's JSON. What the server leaves out
// is empty or 0: a newer client shows an older server's jobs.
//
// Plain values. Include only from .cc files of this part.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dove::cli {

struct ExitView {
  std::int64_t rank = 0;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
  std::string cause;
};

// Instants in microseconds UTC, 0: not yet.
struct AttemptView {
  std::int64_t number = 0;
  std::string stage;
  std::string stop_reason;
  std::vector<std::string> nodes;
  std::int64_t cores = 0, memory_bytes = 0;  // held on all nodes
  std::int64_t first_node_cores = 0;
  std::int64_t allocated_at_us = 0;
  std::int64_t started_at_us = 0;
  std::int64_t stop_at_us = 0;
  std::int64_t ended_at_us = 0;
  std::vector<ExitView> exits;
};

// A program that ran inside the job's allocation (srun); instants 0: not yet.
struct StepView {
  std::int64_t number = 0;
  std::string name;
  std::vector<std::string> nodes;
  std::int64_t tasks = 0, cores = 0;
  std::int64_t started_at_us = 0, ended_at_us = 0;
  std::int64_t exit_code = 0, signal = 0;
};

struct ReasonView {
  std::string kind;
  std::string text;
};

// What the job's tasks say of themselves; ranks 0: nothing.
struct ProgressView {
  std::int64_t ranks = 0;
  std::int64_t step = 0, step_max = 0;
  std::int64_t step_us = 0, busy_min_us = 0, busy_max_us = 0;
  std::int64_t slowest_rank = 0;
  std::string phase, loss, hang;
};

struct JobView {
  std::string id;        // "7"
  std::string shown_id;  // "7", or "12_3" for an element of an array
  std::string array;     // "" : not of an array
  std::int64_t array_index = 0;
  std::int64_t array_running_max = 0;  // 0: as many as there is room for
  std::string name, user, project, queue, pool, state, launch;
  std::int64_t priority = 0;
  std::int64_t exit_code = 0;
  std::int64_t retries_used = 0;
  std::int64_t submitted_at_us = 0, eligible_at_us = 0, ended_at_us = 0, begin_at_us = 0;
  std::int64_t promised_start_us = 0, deadline_us = 0;  // 0: none
  std::int64_t time_limit_us = 0;                       // 0: none
  std::int64_t ends_by_us = 0;                          // 0: not told
  std::int64_t tasks = 0, nodes_asked = 0, cores = 0, gpus_milli = 0, memory_bytes = 0;  // in all
  std::int64_t cores_per_task = 0;
  bool requeue = true;
  bool ended = false;
  std::string reservation;
  std::string workdir, source_name, stdout_path, stderr_path, command;
  std::vector<std::string> features, nodes_wanted, dependencies;
  std::string nearness;  // how its nodes lie: "in one rack; label db, apart from db"
  std::vector<AttemptView> attempts;
  std::vector<StepView> steps;  // of the last attempt, by number
  std::vector<ReasonView> reasons;
  ProgressView progress;
  std::string cancelled_by;           // of one that was cancelled; "": not known
  std::string idle;                   // why it is stopped as idle, and when; of one that was, why
  std::int64_t kept_until_us = 0;     // 0: it is not
  std::string shares;                 // what holds its tasks to their shares of devices
  std::vector<std::string> warnings;  // of its last attempt, with the nodes that they are about
  std::string gpu_time;  // of attempts that ended: "3.2 h useful, 0.1 h lost (preempted 0.1 h)"

  bool waiting() const { return state == "waiting" || state == "held"; }
  const AttemptView* last_attempt() const;
  // The nodes of the last attempt; empty while waiting.
  std::vector<std::string> nodes() const;
  // Since the last attempt began to run, up to its end or `now_us`.
  std::int64_t run_us(std::int64_t now_us) const;
  // When it is stopped for its time, if it runs; 0: nothing sets an end.
  std::int64_t limit_at_us() const;
  std::int64_t node_count() const;  // held, or asked for
};

JobView read_job(const nlohmann::json& job);

struct NodeView {
  std::string name, state, address, drain_reason, version, not_enforced;
  std::int64_t cores = 0, cores_free = 0;
  std::int64_t gpus = 0, gpus_free_milli = 0;
  std::int64_t memory_bytes = 0, memory_free_bytes = 0;
  std::int64_t contact_since_us = 0;
  std::int64_t agent_pid = 0;
  std::string gpu_model;
  std::string slices_free;  // "1g.5gb 3, 2g.10gb 1"; "" while nothing is sliced
  std::vector<std::string> features, jobs, pools;
  std::string labels;                   // "stage=train, team=vision"
  std::string topology;                 // "switch s01, rack r003"
  std::vector<std::string> countables;  // "rdma 1 of 8 in use"

  bool up() const { return state == "ready" || state == "draining" || state == "drained"; }
  bool busy() const { return cores_free < cores || gpus_free_milli < gpus * 1000; }
};

NodeView read_node(const nlohmann::json& node);

// The objects of a list answer: the answer itself, or its member `name` or "items".
const nlohmann::json& items_of(const nlohmann::json& answer, const char* name);

// NAME_us, or NAME_s; 0 when absent.
std::int64_t span_us_of(const nlohmann::json& object, const std::string& name);

// Thousandths of devices as people write them: "2", "0.5".
std::string milli_text(std::int64_t milli);

}  // namespace dove::cli
