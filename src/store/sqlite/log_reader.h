// LogReader: the log of one connection, verified while it is read. Internal to store/sqlite.
//
// Works in one read transaction: it sees the log as it was when read() began, whatever is appended
// meanwhile. One thread.
#pragma once

#include <functional>
#include <map>

#include "store/chain/links.h"
#include "store/chain/log_page.h"
#include "store/log_store.h"
#include "store/sqlite/database.h"

namespace dove::store {

Result<Anchor> read_anchor(Database& database);
// The head of the last batch, or of the anchor without one. kCorrupt when its records are missing.
struct StoredHead {
  Head head;
  Sha256 chain{};
};
Result<StoredHead> read_head(Database& database);

class LogReader {
 public:
  explicit LogReader(Database& database);

  // As LogStore::read().
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit);
  // As LogSource::page(), without terms. The rows are not verified: whoever takes them does that.
  Result<LogPage> page(Seq after, std::size_t bytes_max);
  // Everything kept, from the anchor.
  Result<void> read_all(const std::function<bool(const Batch&)>& visit);

 private:
  Result<void> run(const Anchor& anchor, Seq after, const std::function<bool(const Batch&)>& visit);
  Result<Anchor> anchor_before(Seq after);
  Result<PagedBatch> next_rows(Statement& batches, Statement& records);
  Result<Statement> batches_from(BatchNumber first);
  Result<Statement> records_after(Seq seq);
  Result<BatchNumber> batch_of(Seq seq);
  Result<void> load_snapshot_chains();
  Result<void> seek(const Anchor& anchor, BatchNumber first);
  // Made of the row at `batches` and its records.
  Result<Batch> next_batch(Statement& batches, Statement& records);
  Result<void> check_against_snapshots();

  Database& database_;
  LinkReader links_;
  std::map<std::uint64_t, Sha256> snapshot_chains_;
};

}  // namespace dove::store
