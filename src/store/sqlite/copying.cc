// SqliteStore as LogSource, and as the copy of another log: rows go from one to the other as they
// are, so that the chain of both is the same.
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "store/append_check.h"
#include "store/sqlite/connections.h"
#include "store/sqlite/log_reader.h"

namespace dove::store {
namespace {

Error log_differs(const LogPage& page, const Head& own, const std::string& directory) {
  const std::string why =
      page.head < own.seq
          ? fmt::format("it ends at record {}", page.head.value)
          : fmt::format("its batch {} is not the one that is kept here", own.batch.value);
  return Error{ErrorKind::kConflict, "log_differs",
               fmt::format("the log of the source is not the one that {} holds up to record {} "
                           "(batch {}): {}. Nothing is changed here",
                           directory, own.seq.value, own.batch.value, why),
               fmt::format("batch {}", own.batch.value)};
}

}  // namespace

Result<void> set_anchor(Database& database, const Anchor& anchor) {
  TRY_ASSIGN(Statement update, database.prepare("UPDATE meta SET value = ?1 WHERE key = ?2"));
  update.bind(1, anchor.seq.value);
  update.bind_text(2, "anchor_seq");
  TRY(update.run());
  update.bind(1, anchor.batch.value);
  update.bind_text(2, "anchor_batch");
  TRY(update.run());
  update.bind_blob(1, bytes_of(anchor.chain));
  update.bind_text(2, "anchor_chain");
  return update.run();
}

Result<std::string> SqliteStore::page(Seq after, Epoch term, std::size_t bytes_max) {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(LogPage page, LogReader(reader.database()).page(after, bytes_max));
  TRY_ASSIGN(Statement rows,
             reader.database().prepare(
                 "SELECT epoch, holder, after_seq FROM epochs WHERE epoch > ? ORDER BY epoch"));
  rows.bind(1, term.value);
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) return encode(page);
    page.terms.push_back({Epoch{rows.unsigned_integer(0)}, std::string(rows.bytes(1)),
                          Seq{rows.unsigned_integer(2)}});
  }
}

Result<std::string> SqliteStore::snapshot_piece(Seq of, std::uint64_t offset,
                                                std::size_t bytes_max) {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement row, reader.database().prepare(
                                "SELECT seq, batch, epoch, at_us, chain, state_hash, sha256, "
                                "length(bytes), substr(bytes, ?1 + 1, ?2) FROM snapshots "
                                "WHERE ?3 IN (0, seq) ORDER BY seq DESC LIMIT 1"));
  row.bind(1, offset);
  row.bind(2, std::uint64_t{bytes_max});
  row.bind(3, of.value);
  TRY_ASSIGN(const bool found, row.step());
  if (!found) {
    return Error{ErrorKind::kNotFound, "snapshot_gone",
                 "there is no such snapshot any more; ask for the newest one", ""};
  }
  SnapshotPiece piece;
  piece.head.seq = Seq{row.unsigned_integer(0)};
  piece.head.batch = BatchNumber{row.unsigned_integer(1)};
  piece.head.epoch = Epoch{row.unsigned_integer(2)};
  piece.head.at = Instant{row.integer(3)};
  piece.head.chain_sha256 = hex_of(sha256_from(row.bytes(4)));
  piece.state_hash = row.unsigned_integer(5);
  piece.sha256 = row.bytes(6);
  piece.bytes_total = row.unsigned_integer(7);
  piece.bytes = row.bytes(8);
  return encode(piece);
}

Result<void> SqliteStore::each_blob(
    const std::function<Result<void>(std::string_view, Seq, std::string_view)>& visit) {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement blobs, reader.database().prepare("SELECT sha256, seq, bytes FROM blobs"));
  for (;;) {
    TRY_ASSIGN(const bool row, blobs.step());
    if (!row) return {};
    TRY(visit(blobs.bytes(0), Seq{blobs.unsigned_integer(1)}, blobs.bytes(2)));
  }
}

Result<void> SqliteStore::insert_rows(Writer& w, const LogPage& page,
                                      const std::vector<Batch>& batches) {
  for (const PagedBatch& batch : page.batches) {
    TRY(each_record(batch, [&](const LinkedRecord& record) {
      return insert_record(w.insert_record, BatchNumber{batch.header.batch}, record);
    }));
    TRY(insert_batch_row(w.insert_batch, batch.header, sha256_from(batch.chain)));
  }
  for (const Batch& batch : batches) TRY(insert_blobs(w.upsert_blob, batch));
  return {};
}

Result<void> SqliteStore::take(const LogPage& page, const std::vector<Batch>& batches,
                               const Snapshot* first) {
  std::lock_guard lock(writer_mutex_);
  TRY_ASSIGN(Writer * w, writer());
  const Head own = head();
  const bool begins = first != nullptr && !own.seq && !batches.empty() &&
                      hex_of(sha256_from(page.batches.front().chain)) == first->head.chain_sha256;
  const bool continues = page.before.seq == own.seq && page.before.chain == w->chain;
  if (!begins && !continues) return log_differs(page, own, directory_);
  if (page.batches.empty() && page.terms.empty()) return {};
  TRY_ASSIGN(Transaction transaction, Transaction::begin(w->database, Transaction::Kind::kWrite));
  if (begins) TRY(set_anchor(w->database, page.before));
  TRY_ASSIGN(Statement term, w->database.prepare("INSERT OR IGNORE INTO epochs VALUES (?, ?, ?)"));
  for (const PagedTerm& each : page.terms) {
    term.bind(1, each.epoch.value);
    term.bind_text(2, each.holder);
    term.bind(3, each.after.value);
    TRY(term.run());
  }
  TRY(insert_rows(*w, page, batches));
  if (begins) {
    TRY(insert_snapshot(w->database, *first, sha256_from(page.batches.front().chain)));
  }
  TRY(transaction.commit());
  if (!page.terms.empty()) w->newest_epoch = page.terms.back().epoch;
  if (batches.empty()) return {};
  w->reserve.keep();
  w->head_file.keep(last_seq(batches.back()));
  w->chain = sha256_from(page.batches.back().chain);
  std::lock_guard state_lock(state_mutex_);
  head_ = Head{last_seq(batches.back()), batches.back().number, batches.back().epoch,
               batches.back().at, hex_of(w->chain)};
  return {};
}

}  // namespace dove::store
