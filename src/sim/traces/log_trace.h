// LogTrace: the jobs of a log of ours, to be scheduled again.
//
// Fed with a log's batches in order. A job counts once it has ended and ran; those that never ran
// are left out and counted, and what has not ended yet is not there.
//
// There are two views. LoggedWork has jobs as they were submitted, with the nodes and what was
// declared when the log ends, for the live scheduler. A QueueTrace has them as other traces do,
// for published schedulers and for other nodes: a job's width is the GPUs that it asked for (a
// share or slices count as whole ones), its account its user, its run the time of all its
// attempts; jobs without GPUs are left out and counted.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"
#include "sim/traces/queue_accounts.h"
#include "sim/traces/queue_trace.h"

namespace dove::sim {

struct LoggedRun {
  JobId id;  // in the log
  std::int32_t array_index = 0;
  Span run;                    // of all attempts; of the last one where each begins anew
  std::int32_t exit_code = 0;  // not 0: it did not end well
};

// A job with its one run, or an array with those of its elements that ran, ascending by index.
struct LoggedJob {
  // As submitted, with three changes. Its time limit is no shorter than its runs. It has the
  // priority that it had last. If it was held, it does not begin before it was released.
  JobSpec spec;
  Instant submitted_at;
  Instant eligible_at;  // when its dependencies were met and its begin had come
  std::vector<LoggedRun> runs;
};

struct LoggedNode {
  NodeDeclaration declared;  // not drained
  std::shared_ptr<const Inventory> inventory;
};

// What is no more when the log ends (nodes, reservations, limits) is not there; instants are the
// log's.
struct LoggedWork {
  std::map<JobId, LoggedJob> jobs;  // by id, of an array's first element: in order of submission
  std::vector<LoggedNode> nodes;
  std::vector<Declared> objects;  // parents before their children; without settings of the cluster
  std::vector<Countable> countables;  // of the cluster
  std::int64_t left_out = 0;
};

class LogTrace {
 public:
  // The beginning of the log is gone: the batches follow this snapshot (codec/snapshot.h).
  Result<void> begin_after(std::string_view snapshot);
  void begin(Instant at, Epoch epoch);
  void add(const StampedEvent& event);
  void add(const Decision& decision);

  // Each may be asked for once, after the last batch. `path` is for the message when there is no
  // such job.
  Result<QueueTrace> take(const std::string& path);
  Result<LoggedWork> take_work(const std::string& path);
  // The GPUs of each node that is there when the log ends and has any.
  std::vector<std::int64_t> gpus_by_node() const;

 private:
  void ended(const core::Job& job);
  void ended_as_submitted(const core::Job& job);

  core::State state_;
  QueueTrace trace_;
  QueueAccounts accounts_;
  LoggedWork work_;
  std::map<JobId, Instant> released_;  // the last time before they first began
};

// GPUs of a node.
std::int64_t gpus_of(const Inventory& inventory);

}  // namespace dove::sim
