// LogCheck: reads the whole log and all blobs once, beside a server that has started already.
//
// What a start needs (the snapshot, what came after it, what live jobs are to run) was verified
// when it was read; everything else is looked at here, on a thread of its own. A blob that only
// jobs that are over ran is set aside; other damage ends the server.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "store/log_auditor.h"
#include "store/log_store.h"

namespace dove::core {
struct State;
}

namespace dove::programs {

// By digest, the jobs that are to run it and are over; those that are not.
struct BlobUsers {
  std::map<std::string, std::vector<JobId>> over;
  std::map<std::string, std::vector<JobId>> live;
};

BlobUsers blob_users(const core::State& state);

class LogCheck {
 public:
  // `store` and `live` outlive it. `on_damage` is called from its thread, at most once. `live`:
  // where what live jobs are to run is looked at first, as check_live_blobs() does; nullptr: it
  // was.
  LogCheck(store::LogAuditor& store, store::LogStore* live, BlobUsers users,
           std::function<void(Error)> on_damage);
  ~LogCheck();  // gives up what it has not looked at

 private:
  Result<void> run();
  Result<void> check_blobs();

  store::LogAuditor& store_;
  store::LogStore* const live_;
  const BlobUsers users_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

// What jobs that are not over are to run must be whole.
Result<void> check_live_blobs(store::LogStore& store, const BlobUsers& users,
                              const std::atomic<bool>* stops = nullptr);

}  // namespace dove::programs
