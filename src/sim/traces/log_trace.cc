#include "sim/traces/log_trace.h"

#include <algorithm>

#include "codec/state/snapshot.h"
#include "core/place/limits.h"
#include "core/state/apply.h"

namespace dove::sim {

Result<void> LogTrace::begin_after(std::string_view snapshot) {
  TRY_ASSIGN(state_, codec::decode_snapshot(snapshot));
  return {};
}

void LogTrace::begin(Instant at, Epoch epoch) { core::begin_batch(state_, at, epoch); }

void LogTrace::add(const StampedEvent& event) { core::apply(state_, event); }

void LogTrace::add(const Decision& decision) {
  core::apply(state_, decision);
  if (const auto* end = std::get_if<EndJob>(&decision)) {
    if (const core::Job* job = state_.find_job(end->job)) ended(*job);
  }
}

void LogTrace::ended(const core::Job& job) {
  const std::int64_t milli = core::least_amount(*job.spec).gpus_milli;
  if (milli <= 0 || job.ran_before.us <= 0) {
    ++trace_.left_out;
    return;
  }
  QueueJob made;
  made.submitted_at = job.submitted_at;
  made.run = job.ran_before;
  made.limit = std::max(job.spec->time_limit, job.ran_before);
  made.says_limit = job.spec->time_limit.us > 0;
  made.gpus = (milli + kWholeDevice_milli - 1) / kWholeDevice_milli;
  made.account = accounts_.number(trace_, job.spec->user);
  trace_.jobs.push_back(made);
}

Result<QueueTrace> LogTrace::take(const std::string& path) {
  return finished_trace(std::move(trace_), path);
}

}  // namespace dove::sim
