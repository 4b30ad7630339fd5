// Housekeeping writes snapshots and drops old records, beside the controller's work.
//
// The state is forked on the controller's thread; encoding and writing happen on a thread of their
// own, one at a time. A failure is logged and tried again at the next snapshot.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "controller/ledger.h"
#include "controller/options.h"
#include "store/log_store.h"

namespace dove::controller {

class Housekeeping {
 public:
  explicit Housekeeping(store::LogKeeper& keeper) : keeper_(keeper) {}
  ~Housekeeping() { finish(); }

  bool idle() const { return !busy_.load(); }
  // Begins a snapshot of `ledger`, which is at `head`. REQUIRES: idle().
  void snapshot(Ledger& ledger, const store::Head& head, const ControllerOptions& options);
  // Waits for the one under way.
  void finish();
  // The same before the end: what is old stays for the next time if it takes long to drop.
  void finish_soon();

 private:
  Result<void> drop_before(Seq keep_from, const std::vector<std::string>& blobs);

  store::LogKeeper& keeper_;
  std::atomic<bool> busy_{false};
  std::atomic<std::int64_t> hurried_at_us_{0};  // 0: nobody is in a hurry
  Seq dropped_before_;                          // as far as known; by the thread alone
  std::thread thread_;
};

}  // namespace dove::controller
