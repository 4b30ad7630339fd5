// LogTables: the log in the tables of one connection, verified while it is read. Internal to
// store/postgres.
//
// Slice by slice, a transaction for each, so that no long one keeps the database from cleaning up.
// One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "store/chain/links.h"
#include "store/chain/log_page.h"
#include "store/log_store.h"
#include "store/postgres/connection.h"

namespace dove::store {

// Begins a transaction that shows one instant.
constexpr char kPgOneView[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

struct PgHead {
  Head head;
  Sha256 chain{};
};

class LogTables {
 public:
  explicit LogTables(Connection& connection);

  Result<Anchor> anchor();
  // The last batch, or of the anchor without one. kCorrupt when its records are missing.
  Result<PgHead> head();
  // As LogStore::read(): what was there when it began. `chain`: that of record `after`, as it was
  // read before; kConflict `log_rewound` when the log does not go on from it.
  Result<void> read(Seq after, const std::optional<Sha256>& chain,
                    const std::function<bool(const Batch&)>& visit);
  // As LogSource::page(), without terms. The rows are not verified: whoever takes them does that.
  // REQUIRES: a transaction that shows one instant.
  Result<LogPage> page(Seq after, std::size_t bytes_max);
  // The last record that read() gave, and its chain; no record: nothing was read.
  Seq last_read() const { return links_.seq(); }
  const Sha256& last_chain() const { return links_.chain(); }

 private:
  struct Slice;
  Result<Slice> slice(Seq end);
  Result<void> check_goes_on(Seq after, const Sha256& chain);
  Result<void> check_snapshots(Seq end);
  Result<void> seek(const Anchor& anchor, Seq after);
  Result<void> check_against_snapshot(const Rows& snapshots);
  Result<PagedBatch> next_rows(const Rows& batches, int batch, const Rows& records, int& record);
  Result<Batch> next_batch(const Slice& slice, int batch, int& record);

  Connection& connection_;
  LinkReader links_;
  bool is_placed_ = false;           // links_ is where the next slice begins
  std::uint64_t slice_batches_ = 0;  // of the next slice, at most
};

}  // namespace dove::store
