// MemoryStore: a LogStore and LogKeeper that forgets everything with its process. For tests and
// simulation.
//
// Keeps the same contract as store/sqlite but durability and the hash chain (Head::chain_sha256 is
// empty). It can be told to be full. Any thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "store/log_store.h"

namespace dove::store {

class MemoryStore : public LogStore, public LogKeeper {
 public:
  Head head() const override;
  Result<void> append(Epoch epoch, Seq expected_head, const Batch& batch) override;
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit) override;
  Result<std::optional<std::string>> blob(const std::string& sha256) override;

  Result<Epoch> begin_epoch(const std::string& holder) override;
  Result<void> put_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> latest_snapshot() override;
  Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) override;

  // While full, append() and put_snapshot() fail with kExhausted.
  void set_full(bool full);

 private:
  struct Blob {
    std::string bytes;
    Seq seq;  // of the last batch that brought it
  };

  mutable std::mutex mutex_;
  Head head_;
  Epoch newest_epoch_;
  Seq forgotten_;  // last record dropped
  bool full_ = false;
  std::deque<std::shared_ptr<const Batch>> batches_;
  std::map<std::string, Blob> blobs_;
  std::deque<Snapshot> snapshots_;
};

}  // namespace dove::store
