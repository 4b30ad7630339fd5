// QueueAccounts: the accounts of a trace by name, numbered as they are first met; and the last
// steps that all readers of such traces share.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/traces/queue_trace.h"

namespace dove::sim {

constexpr std::int64_t kQueueGpusMax = 1'000'000;
constexpr std::int64_t kQueueTimeMax_s = 100'000'000'000;  // three thousand years

class QueueAccounts {
 public:
  // Adds the name to `trace.accounts` when it is new.
  std::size_t number(QueueTrace& trace, std::string_view name);

 private:
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

Error no_jobs(const std::string& path);

// Sorts by submission and moves the first one to time 0. Fails when there is no job.
Result<QueueTrace> finished_trace(QueueTrace trace, const std::string& path);

}  // namespace dove::sim
