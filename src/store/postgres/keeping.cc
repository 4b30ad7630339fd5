// PostgresStore as LogKeeper and LogAuditor: snapshots, retention, and what is damaged.
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "store/postgres/lines.h"

namespace dove::store {
namespace {

constexpr std::int64_t kBatchesPerTransaction = 200;
constexpr char kText[] = "text:";                   // before the name of a text that is kept
constexpr std::string_view kSetAside = "damaged:";  // before the digest that a blob had

Error epoch_stale() {
  return {ErrorKind::kConflict, "epoch_stale", "another controller leads", ""};
}

// Whoever does not lead any more drops and writes nothing.
Result<void> hold_term(Connection& line, Epoch epoch) {
  TRY_ASSIGN(const Rows rows,
             line.run("SELECT epoch FROM leader WHERE id = 1 AND epoch = $1 FOR KEY SHARE",
                      Params().add(epoch.value)));
  return rows.size() == 1 ? Result<void>() : epoch_stale();
}

constexpr char kSnapshots[] =
    "SELECT " DOVE_PG_SNAPSHOT_COLUMNS " FROM snapshots ORDER BY seq DESC";

Result<bool> drop_batches(Connection& line, Epoch epoch, Seq before) {
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(line, "BEGIN"));
  TRY(hold_term(line, epoch));
  TRY_ASSIGN(const Rows rows,
             line.run("SELECT batch, first_seq + events + decisions - 1, chain FROM batches WHERE "
                      "first_seq + events + decisions - 1 < $1 AND batch < (SELECT max(batch) FROM "
                      "batches) AND batch <= (SELECT min(batch) FROM batches) + $2 "
                      "ORDER BY batch DESC LIMIT 1",
                      Params().add(before.value).add(kBatchesPerTransaction - 1)));
  if (rows.size() == 0) return false;
  const std::uint64_t batch = rows.unsigned_integer(0, 0);
  const std::uint64_t last = rows.unsigned_integer(0, 1);
  TRY(line.run("DELETE FROM records WHERE seq <= $1", Params().add(last)));
  TRY(line.run("DELETE FROM batches WHERE batch <= $1", Params().add(batch)));
  TRY(line.run("UPDATE meta SET number = $1 WHERE key = 'anchor_seq'", Params().add(last)));
  TRY(line.run("UPDATE meta SET number = $1 WHERE key = 'anchor_batch'", Params().add(batch)));
  TRY(line.run("UPDATE meta SET bytes = $1 WHERE key = 'anchor_chain'",
               Params().bytes(rows.bytes(0, 2))));
  TRY(transaction.commit());
  return true;
}

}  // namespace

Result<Snapshot> pg_snapshot_at(const Rows& rows, int row) {
  Snapshot snapshot;
  snapshot.head.seq = Seq{rows.unsigned_integer(row, 0)};
  snapshot.head.batch = BatchNumber{rows.unsigned_integer(row, 1)};
  snapshot.head.epoch = Epoch{rows.unsigned_integer(row, 2)};
  snapshot.head.at = Instant{rows.integer(row, 3)};
  snapshot.head.chain_sha256 = hex_of(sha256_from(rows.bytes(row, 4)));
  snapshot.state_hash = rows.unsigned_integer(row, 5);
  const Sha256 digest = sha256_from(rows.bytes(row, 6));
  snapshot.bytes = rows.bytes(row, 7);
  if (Chain().of(snapshot.bytes) == digest) return snapshot;
  return Error{ErrorKind::kCorrupt, "snapshot_damaged",
               fmt::format("the snapshot of record {} in dove.snapshots was changed, and the "
                           "records that it stands for are not all kept: restore the database from "
                           "a backup",
                           snapshot.head.seq.value),
               fmt::format("snapshot {}", snapshot.head.seq.value)};
}

Result<void> PostgresStore::put_snapshot(const Snapshot& snapshot) {
  TRY_ASSIGN(Lent line, lend_alive());
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(*line, "BEGIN"));
  TRY_ASSIGN(const Rows at, line->run("SELECT chain FROM records WHERE seq = $1",
                                      Params().add(snapshot.head.seq.value)));
  const Sha256 chain = at.size() == 1 ? sha256_from(at.bytes(0, 0)) : Sha256{};
  if (at.size() != 1 || hex_of(chain) != snapshot.head.chain_sha256) {
    return Error{ErrorKind::kConflict, "snapshot_unknown_head",
                 fmt::format("the log has no record {} with the chain of the snapshot",
                             snapshot.head.seq.value),
                 ""};
  }
  TRY(hold_term(*line, epoch()));
  const Sha256 digest = Chain().of(snapshot.bytes);
  TRY(line->run("DELETE FROM snapshots WHERE seq = $1", Params().add(snapshot.head.seq.value)));
  TRY(line->run("INSERT INTO snapshots VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                Params()
                    .add(snapshot.head.seq.value)
                    .add(snapshot.head.batch.value)
                    .add(snapshot.head.epoch.value)
                    .add(snapshot.head.at.us)
                    .bytes(bytes_of(chain))
                    .add(snapshot.state_hash)
                    .bytes(bytes_of(digest))
                    .bytes(snapshot.bytes)));
  TRY(
      line->run("DELETE FROM snapshots WHERE seq NOT IN "
                "(SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)"));
  return transaction.commit();
}

Result<std::optional<Snapshot>> PostgresStore::latest_snapshot() {
  TRY_ASSIGN(Lent line, lend_alive());
  TRY_ASSIGN(PgTransaction view, PgTransaction::begin(*line, kPgOneView));
  TRY_ASSIGN(const Anchor anchor, LogTables(*line).anchor());
  TRY_ASSIGN(const Rows rows, line->run(kSnapshots));
  std::optional<Error> damage;
  for (int i = 0; i < rows.size(); ++i) {
    Result<Snapshot> snapshot = pg_snapshot_at(rows, i);
    if (snapshot.ok() && (!damage || snapshot->head.seq >= anchor.seq)) {
      return std::optional<Snapshot>(std::move(snapshot).value());
    }
    if (!damage && !snapshot.ok()) damage = snapshot.error();
  }
  if (!damage || !anchor.seq) return std::optional<Snapshot>();  // or the whole log is there
  return *damage;
}

Result<void> PostgresStore::forget_before(Seq before,
                                          const std::vector<std::string>& blobs_in_use) {
  TRY_ASSIGN(Lent line, lend_alive());
  TRY_ASSIGN(const Rows covered, line->run("SELECT coalesce(max(seq), 0) FROM snapshots"));
  if (before.value > covered.unsigned_integer(0, 0) + 1) {
    return Error{ErrorKind::kConflict, "not_covered",
                 fmt::format("records before {} cannot go: the newest snapshot covers up to {}",
                             before.value, covered.integer(0, 0)),
                 ""};
  }
  // One slice at a time, so that no transaction is long.
  for (bool more = true; more;) {
    TRY_ASSIGN(more, drop_batches(*line, epoch(), before));
  }
  TRY_ASSIGN(const Anchor anchor, LogTables(*line).anchor());
  const std::set<std::string_view> used(blobs_in_use.begin(), blobs_in_use.end());
  TRY_ASSIGN(const Rows rows,
             line->run("SELECT sha256 FROM blobs WHERE seq <= $1", Params().add(anchor.seq.value)));
  for (int i = 0; i < rows.size(); ++i) {
    if (used.contains(rows.bytes(i, 0))) continue;
    // One that a batch has brought again meanwhile is later.
    TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(*line, "BEGIN"));
    TRY(hold_term(*line, epoch()));
    TRY(line->run("DELETE FROM blobs WHERE sha256 = $1 AND seq <= $2",
                  Params().text(rows.bytes(i, 0)).add(anchor.seq.value)));
    TRY(transaction.commit());
  }
  return {};
}

// -- what is damaged -----------------------------------------------------------------------------

Result<void> PostgresStore::verify(const std::atomic<bool>* stops) {
  const auto goes_on = [&](const Batch&) { return stops == nullptr || !*stops; };
  for (;;) {
    Seq from;
    {
      TRY_ASSIGN(Lent line, lend_alive());
      TRY_ASSIGN(const Anchor anchor, LogTables(*line).anchor());
      from = anchor.seq;
    }
    const Result<void> done = read(from, goes_on);
    if (done.ok()) break;
    if (done.error().code != "records_forgotten") return done;  // retention came between
  }
  TRY(latest_snapshot());
  return {};
}

Result<std::vector<Error>> PostgresStore::damages(const std::atomic<bool>* stops) {
  std::vector<Error> found;
  TRY_ASSIGN(Lent line, lend_alive());
  TRY_ASSIGN(const Rows snapshots, line->run(kSnapshots));
  for (int i = 0; i < snapshots.size(); ++i) {
    const Result<Snapshot> snapshot = pg_snapshot_at(snapshots, i);
    if (!snapshot.ok()) found.push_back(snapshot.error());
  }
  std::string after;
  for (;;) {
    TRY_ASSIGN(const Rows rows,
               line->run("SELECT sha256, bytes FROM blobs WHERE sha256 > $1 ORDER BY sha256 "
                         "LIMIT 100",
                         Params().text(after)));
    if (rows.size() == 0 || (stops != nullptr && *stops)) return found;
    for (int i = 0; i < rows.size(); ++i) {
      after = rows.bytes(i, 0);
      if (after.starts_with(kSetAside) || hex_of(Chain().of(rows.bytes(i, 1))) == after) continue;
      found.push_back(pg_blob_damaged(after));
    }
  }
}

Result<void> PostgresStore::set_aside(const std::string& sha256) {
  TRY_ASSIGN(Lent line, lend_alive());
  TRY_ASSIGN(PgTransaction transaction, PgTransaction::begin(*line, "BEGIN"));
  TRY(hold_term(*line, epoch()));
  TRY_ASSIGN(const Rows now, line->run("SELECT bytes FROM blobs WHERE sha256 = $1 FOR UPDATE",
                                       Params().text(sha256)));
  if (now.size() == 0 || hex_of(Chain().of(now.bytes(0, 0))) == sha256) return {};
  const std::string aside = std::string(kSetAside) + sha256;
  TRY(line->run("DELETE FROM blobs WHERE sha256 = $1", Params().text(aside)));
  TRY(line->run("UPDATE blobs SET sha256 = $1 WHERE sha256 = $2",
                Params().text(aside).text(sha256)));
  return transaction.commit();
}

Epoch PostgresStore::epoch() const {
  std::lock_guard lock(state_mutex_);
  return epoch_;
}

// -- texts ---------------------------------------------------------------------------------------

Result<void> PostgresStore::keep_text(const std::string& name, const std::string& text) {
  if (!leads()) return epoch_stale();
  TRY_ASSIGN(Lent line, lend_alive());
  line->be_patient(kLeasePatience);
  // The row of the leader is held until this is written: nobody's next term begins before it.
  const Result<Rows> rows = line->run(
      "INSERT INTO meta SELECT $1, NULL, $2 FROM (SELECT epoch FROM leader WHERE id = 1 "
      "AND epoch = $3 FOR KEY SHARE) AS term ON CONFLICT (key) DO UPDATE SET bytes = "
      "excluded.bytes RETURNING key",
      Params().text(kText + name).bytes(text).add(epoch().value));
  line->be_patient(kReadPatience);
  if (!rows.ok()) return rows.error();
  return rows->size() == 1 ? Result<void>() : epoch_stale();
}

Result<std::string> PostgresStore::kept_text(const std::string& name) {
  TRY_ASSIGN(Lent line, lend_alive());
  line->be_patient(kLeasePatience);
  const Result<Rows> rows =
      line->run("SELECT bytes FROM meta WHERE key = $1", Params().text(kText + name));
  line->be_patient(kReadPatience);
  if (!rows.ok()) return rows.error();
  if (rows->size() == 1) return std::string(rows->bytes(0, 0));
  return Error{ErrorKind::kNotFound, "not_kept", fmt::format("no text '{}' is kept", name), ""};
}

}  // namespace dove::store
