// LogReader: the log of one connection, verified while it is read. Internal to store/sqlite.
//
// Works in one read transaction: it sees the log as it was when read() began, whatever is appended
// meanwhile. One thread.
#pragma once

#include <functional>
#include <map>

#include "store/log_store.h"
#include "store/sqlite/chain.h"
#include "store/sqlite/database.h"

namespace dove::store {

// Where the kept log begins: the last record dropped by retention, and its chain.
struct Anchor {
  Seq seq;
  BatchNumber batch;
  Sha256 chain{};
};

Result<Anchor> read_anchor(Database& database);
// The head of the last batch, or of the anchor without one. kCorrupt when its records are missing.
struct StoredHead {
  Head head;
  Sha256 chain{};
};
Result<StoredHead> read_head(Database& database);

class LogReader {
 public:
  explicit LogReader(Database& database) : database_(database) {}

  // As LogStore::read().
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit);
  // Everything kept, from the anchor.
  Result<void> read_all(const std::function<bool(const Batch&)>& visit);

 private:
  Result<void> run(const Anchor& anchor, Seq after, const std::function<bool(const Batch&)>& visit);
  Result<BatchNumber> batch_of(Seq seq);
  Result<void> load_snapshot_chains();
  Result<void> seek(const Anchor& anchor, BatchNumber first);
  // Fills the batch from the row at `batches` and its records, extending chain_.
  Result<Batch> next_batch(Statement& batches, Statement& records);
  Result<void> next_record(Statement& records, Batch& batch, bool is_decision);
  Result<void> check_against_snapshots();

  Database& database_;
  Chain hasher_;
  Sha256 chain_{};           // of the last row read
  std::uint64_t seq_ = 0;    // of the last record read
  std::uint64_t batch_ = 0;  // of the last batch read
  std::map<std::uint64_t, Sha256> snapshot_chains_;
};

}  // namespace dove::store
