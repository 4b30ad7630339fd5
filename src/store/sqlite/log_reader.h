// LogReader: the log of one connection, verified while it is read. Internal to store/sqlite.
//
// It gives what was there when read() began, whatever is appended meanwhile, in slices: each is
// read in a transaction that ends before a visitor sees it, so that the write-ahead log can be
// emptied however slow that one is. A slice goes on from the link of the chain where the one before
// ended. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

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

  // As LogStore::read(). kCorrupt also when what was read already was changed meanwhile.
  Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit);
  // As LogSource::page(), without terms. The rows are not verified: whoever takes them does that.
  Result<LogPage> page(Seq after, std::size_t bytes_max);

 private:
  Result<void> fill(std::vector<Batch>& slice, Seq after, std::optional<Seq>& end,
                    std::uint64_t records_max);
  Result<void> check_goes_on(const Anchor& anchor);
  Result<Anchor> anchor_before(Seq after, const char* meanwhile = "");
  Result<PagedBatch> next_rows(Statement& batches, Statement& records);
  Result<Statement> batches_from(BatchNumber first);
  Result<Statement> records_after(Seq seq);
  Result<BatchNumber> batch_of(Seq seq);
  Result<void> load_snapshot_chains();
  Result<void> seek(const Anchor& anchor, BatchNumber first);
  Result<void> seek_after(const Anchor& anchor, Seq after);
  // Made of the row at `batches` and its records.
  Result<Batch> next_batch(Statement& batches, Statement& records);
  Result<void> check_against_snapshots();

  Database& database_;
  LinkReader links_;
  std::map<std::uint64_t, Sha256> snapshot_chains_;
  std::size_t bytes_ = 0;  // of the bodies that were read for the slice
};

}  // namespace dove::store
