// LogTrace: the jobs of a log of ours, as a trace to be put through other queues.
//
// Fed with a log's batches in order. A job counts once it has ended and ran: its run is the time
// of all its attempts, its width the GPUs that it asked for (a share or slices count as whole
// ones), its account its user. Jobs without GPUs, and those that never ran, are left out and
// counted; what has not ended yet is not there.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"
#include "sim/traces/queue_accounts.h"
#include "sim/traces/queue_trace.h"

namespace dove::sim {

class LogTrace {
 public:
  // The beginning of the log is gone: the batches follow this snapshot (codec/snapshot.h).
  Result<void> begin_after(std::string_view snapshot);
  void begin(Instant at, Epoch epoch);
  void add(const StampedEvent& event);
  void add(const Decision& decision);

  // `path` is for the message when there is no such job.
  Result<QueueTrace> take(const std::string& path);

 private:
  void ended(const core::Job& job);

  core::State state_;
  QueueTrace trace_;
  QueueAccounts accounts_;
};

}  // namespace dove::sim
