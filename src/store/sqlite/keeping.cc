// SqliteStore as LogKeeper: epochs, snapshots, retention, and what is damaged.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "store/sqlite/connections.h"
#include "store/sqlite/log_reader.h"

namespace dove::store {
namespace {

constexpr int kBatchesPerTransaction = 200;  // appends wait meanwhile
constexpr std::size_t kBlobsPerTransaction = 200;
constexpr std::string_view kSetAside = "damaged:";  // before the digest that a blob had

Result<void> execute_with(Database& database, std::string_view sql, std::uint64_t parameter) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  statement.bind(1, parameter);
  return statement.run();
}

}  // namespace

Result<Epoch> SqliteStore::begin_epoch(const std::string& holder) {
  std::lock_guard lock(writer_mutex_);
  TRY_ASSIGN(Writer * w, writer());
  const Epoch epoch{w->newest_epoch.value + 1};
  TRY_ASSIGN(Statement insert, w->database.prepare("INSERT INTO epochs VALUES (?, ?, ?)"));
  insert.bind(1, epoch.value);
  insert.bind_text(2, holder);
  insert.bind(3, head().seq.value);
  TRY(insert.run());
  w->newest_epoch = epoch;
  return epoch;
}

Result<void> SqliteStore::put_snapshot(const Snapshot& snapshot) {
  std::lock_guard lock(writer_mutex_);
  TRY_ASSIGN(Writer * w, writer());
  TRY_ASSIGN(Statement at, w->database.prepare("SELECT chain FROM records WHERE seq = ?"));
  at.bind(1, snapshot.head.seq.value);
  TRY_ASSIGN(const bool found, at.step());
  const Sha256 chain = found ? sha256_from(at.bytes(0)) : Sha256{};
  at.reset();
  if (!found || hex_of(chain) != snapshot.head.chain_sha256) {
    return Error{ErrorKind::kConflict, "snapshot_unknown_head",
                 fmt::format("the log has no record {} with the chain of the snapshot",
                             snapshot.head.seq.value),
                 ""};
  }
  TRY_ASSIGN(Transaction transaction, Transaction::begin(w->database, Transaction::Kind::kWrite));
  TRY(insert_snapshot(w->database, snapshot, chain));
  return transaction.commit();
}

Result<void> insert_snapshot(Database& database, const Snapshot& snapshot, const Sha256& chain) {
  const Sha256 digest = Chain().of(snapshot.bytes);
  TRY_ASSIGN(Statement insert,
             database.prepare("INSERT OR REPLACE INTO snapshots VALUES (?,?,?,?,?,?,?,?)"));
  insert.bind(1, snapshot.head.seq.value);
  insert.bind(2, snapshot.head.batch.value);
  insert.bind(3, snapshot.head.epoch.value);
  insert.bind(4, snapshot.head.at.us);
  insert.bind_blob(5, bytes_of(chain));
  insert.bind(6, snapshot.state_hash);
  insert.bind_blob(7, bytes_of(digest));
  insert.bind_blob(8, snapshot.bytes);
  TRY(insert.run());
  return database.execute(
      "DELETE FROM snapshots WHERE seq NOT IN "
      "(SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)");
}

namespace {

constexpr char kSnapshotColumns[] =
    "SELECT seq, batch, epoch, at_us, chain, state_hash, sha256, bytes FROM snapshots "
    "ORDER BY seq DESC";

Result<Snapshot> read_snapshot(Statement& row, const std::string& directory) {
  Snapshot snapshot;
  snapshot.head.seq = Seq{row.unsigned_integer(0)};
  snapshot.head.batch = BatchNumber{row.unsigned_integer(1)};
  snapshot.head.epoch = Epoch{row.unsigned_integer(2)};
  snapshot.head.at = Instant{row.integer(3)};
  snapshot.head.chain_sha256 = hex_of(sha256_from(row.bytes(4)));
  snapshot.state_hash = row.unsigned_integer(5);
  const Sha256 digest = sha256_from(row.bytes(6));
  snapshot.bytes = row.bytes(7);
  if (Chain().of(snapshot.bytes) == digest) return snapshot;
  return Error{
      ErrorKind::kCorrupt, "snapshot_damaged",
      fmt::format("the snapshot of record {} in {}/log.sqlite was changed, and the records that "
                  "it stands for are not all kept: restore the data directory from a backup",
                  snapshot.head.seq.value, directory),
      fmt::format("snapshot {}", snapshot.head.seq.value)};
}

}  // namespace

Result<std::optional<Snapshot>> SqliteStore::latest_snapshot() {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement row, reader.database().prepare(kSnapshotColumns));
  TRY_ASSIGN(const Anchor anchor, read_anchor(reader.database()));
  std::optional<Error> damage;
  for (;;) {
    TRY_ASSIGN(const bool found, row.step());
    if (!found) break;
    Result<Snapshot> snapshot = read_snapshot(row, directory_);
    if (snapshot.ok() && (!damage || snapshot->head.seq >= anchor.seq)) {
      return std::optional<Snapshot>(std::move(snapshot).value());
    }
    if (!damage && !snapshot.ok()) damage = snapshot.error();
  }
  if (!damage) return std::optional<Snapshot>();
  if (anchor.seq.value == 0) return std::optional<Snapshot>();  // the whole log is there
  return *damage;
}

Result<void> SqliteStore::forget_before(Seq before, const std::vector<std::string>& blobs_in_use) {
  {
    std::lock_guard lock(writer_mutex_);
    TRY_ASSIGN(Writer * w, writer());
    TRY_ASSIGN(const auto covered, w->database.number("SELECT max(seq) FROM snapshots"));
    if (before.value > static_cast<std::uint64_t>(covered.value_or(0)) + 1) {
      return Error{ErrorKind::kConflict, "not_covered",
                   fmt::format("records before {} cannot go: the newest snapshot covers up to {}",
                               before.value, covered.value_or(0)),
                   ""};
    }
  }
  // One slice at a time, so that what is to be appended comes in between.
  for (bool more = true; more;) {
    std::lock_guard lock(writer_mutex_);
    TRY_ASSIGN(Writer * w, writer());
    TRY_ASSIGN(more, drop_batches(*w, before));
  }
  TRY_ASSIGN(const Seq through, forgotten_through());
  TRY_ASSIGN(const std::vector<std::string> unused, blobs_of(through, blobs_in_use));
  for (std::size_t first = 0; first < unused.size(); first += kBlobsPerTransaction) {
    std::lock_guard lock(writer_mutex_);
    TRY_ASSIGN(Writer * w, writer());
    const std::size_t count = std::min(kBlobsPerTransaction, unused.size() - first);
    TRY(drop_blobs(*w, through, std::span(unused).subspan(first, count)));
  }
  return {};
}

Result<bool> SqliteStore::drop_batches(Writer& w, Seq before) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(w.database, Transaction::Kind::kWrite));
  TRY_ASSIGN(Statement rows,
             w.database.prepare(
                 "SELECT batch, first_seq + events + decisions - 1 AS last, chain FROM batches "
                 "WHERE last < ?1 AND batch < (SELECT max(batch) FROM batches) AND batch <= "
                 "(SELECT min(batch) FROM batches) + ?2 ORDER BY batch DESC LIMIT 1"));
  rows.bind(1, before.value);
  rows.bind(2, std::int64_t{kBatchesPerTransaction - 1});
  TRY_ASSIGN(const bool found, rows.step());
  if (!found) return false;
  const std::uint64_t batch = rows.unsigned_integer(0);
  const std::uint64_t last = rows.unsigned_integer(1);
  const Sha256 chain = sha256_from(rows.bytes(2));
  rows.reset();
  TRY(execute_with(w.database, "DELETE FROM records WHERE seq <= ?", last));
  TRY(execute_with(w.database, "DELETE FROM batches WHERE batch <= ?", batch));
  TRY(execute_with(w.database, "UPDATE meta SET value = ? WHERE key = 'anchor_seq'", last));
  TRY(execute_with(w.database, "UPDATE meta SET value = ? WHERE key = 'anchor_batch'", batch));
  TRY_ASSIGN(Statement anchor,
             w.database.prepare("UPDATE meta SET value = ? WHERE key = 'anchor_chain'"));
  anchor.bind_blob(1, bytes_of(chain));
  TRY(anchor.run());
  TRY(transaction.commit());
  return true;
}

Result<std::vector<std::string>> SqliteStore::blobs_of(Seq through,
                                                       const std::vector<std::string>& in_use) {
  const std::set<std::string_view> used(in_use.begin(), in_use.end());
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement rows, reader.database().prepare("SELECT sha256 FROM blobs WHERE seq <= ?"));
  rows.bind(1, through.value);
  std::vector<std::string> unused;
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) return unused;
    if (!used.contains(rows.bytes(0))) unused.emplace_back(rows.bytes(0));
  }
}

// One that a batch has brought again meanwhile is later than `through`.
Result<void> SqliteStore::drop_blobs(Writer& w, Seq through, std::span<const std::string> unused) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(w.database, Transaction::Kind::kWrite));
  TRY_ASSIGN(Statement remove,
             w.database.prepare("DELETE FROM blobs WHERE sha256 = ? AND seq <= ?"));
  for (const std::string& sha256 : unused) {
    remove.bind_text(1, sha256);
    remove.bind(2, through.value);
    TRY(remove.run());
  }
  return transaction.commit();
}

Result<void> SqliteStore::verify(const std::atomic<bool>* stops) {
  const auto goes_on = [&](const Batch&) { return stops == nullptr || !*stops; };
  for (;;) {
    TRY_ASSIGN(const Seq from, forgotten_through());
    const Result<void> read = this->read(from, goes_on);
    if (read.ok()) break;
    if (read.error().code != "records_forgotten") return read.error();  // retention came between
  }
  TRY(latest_snapshot());
  return {};
}

Result<std::vector<Error>> SqliteStore::damages(const std::atomic<bool>* stops) {
  std::vector<Error> found;
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(Statement snapshots, reader.database().prepare(kSnapshotColumns));
  for (;;) {
    TRY_ASSIGN(const bool row, snapshots.step());
    if (!row) break;
    const Result<Snapshot> snapshot = read_snapshot(snapshots, directory_);
    if (!snapshot.ok()) found.push_back(snapshot.error());
  }
  snapshots.reset();
  // In slices, as read(): nothing is held for long.
  TRY_ASSIGN(Statement blobs,
             reader.database().prepare("SELECT sha256, bytes FROM blobs WHERE sha256 > ?1 "
                                       "ORDER BY sha256 LIMIT 100"));
  std::string name;
  for (bool more = true; more; blobs.reset()) {
    const std::string after = name;
    blobs.bind_text(1, after);
    for (more = false;; more = true) {
      TRY_ASSIGN(const bool row, blobs.step());
      if (!row) break;
      if (stops != nullptr && *stops) return found;
      name = blobs.bytes(0);
      if (name.starts_with(kSetAside) || hex_of(Chain().of(blobs.bytes(1))) == name) continue;
      found.push_back(blob_damaged(name, directory_));
    }
  }
  return found;
}

Result<void> SqliteStore::set_aside(const std::string& sha256) {
  std::lock_guard lock(writer_mutex_);
  TRY_ASSIGN(Writer * w, writer());
  {
    TRY_ASSIGN(Statement now, w->database.prepare("SELECT bytes FROM blobs WHERE sha256 = ?"));
    now.bind_text(1, sha256);
    TRY_ASSIGN(const bool found, now.step());
    if (!found || hex_of(Chain().of(now.bytes(0))) == sha256) return {};
  }
  TRY_ASSIGN(
      Statement rename,
      w->database.prepare("UPDATE OR REPLACE blobs SET sha256 = ?1 || ?2 WHERE sha256 = ?2"));
  rename.bind_text(1, kSetAside);
  rename.bind_text(2, sha256);
  return rename.run();
}

Result<Seq> SqliteStore::forgotten_through() {
  TRY_ASSIGN(ReaderLease reader, lease_reader());
  TRY_ASSIGN(const Anchor anchor, read_anchor(reader.database()));
  return anchor.seq;
}

}  // namespace dove::store
