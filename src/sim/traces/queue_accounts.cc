#include "sim/traces/queue_accounts.h"

#include <algorithm>
#include <utility>

#include "sim/traces/csv_table.h"

namespace dove::sim {

std::size_t QueueAccounts::number(QueueTrace& trace, std::string_view name) {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
  trace.accounts.emplace_back(name);
  by_name_.emplace(name, trace.accounts.size() - 1);
  return trace.accounts.size() - 1;
}

Error no_jobs(const std::string& path) {
  return error_at(path, 1, 1, "there is no job that ran; name a trace with jobs");
}

Result<QueueTrace> finished_trace(QueueTrace trace, const std::string& path) {
  if (trace.jobs.empty()) return no_jobs(path);
  std::stable_sort(trace.jobs.begin(), trace.jobs.end(), [](const QueueJob& a, const QueueJob& b) {
    return a.submitted_at < b.submitted_at;
  });
  const Instant first = trace.jobs.front().submitted_at;
  for (QueueJob& job : trace.jobs) job.submitted_at = Instant{} + (job.submitted_at - first);
  return trace;
}

}  // namespace dove::sim
