#include "store/postgres/log_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace dove::store {
namespace {

constexpr char kRemedy[] = "restore the database from a backup";

BatchHeader header_at(const Rows& rows, int row) {
  BatchHeader header;
  header.batch = rows.unsigned_integer(row, 0);
  header.epoch = rows.unsigned_integer(row, 1);
  header.at_us = rows.integer(row, 2);
  header.first_seq = rows.unsigned_integer(row, 3);
  header.events = rows.unsigned_integer(row, 4);
  header.decisions = rows.unsigned_integer(row, 5);
  header.decisions_digest = rows.unsigned_integer(row, 6);
  if (!rows.is_null(row, 7)) header.state_hash = rows.unsigned_integer(row, 7);
  return header;
}

#define DOVE_BATCH_COLUMNS \
  "batch, epoch, at_us, first_seq, events, decisions, decisions_digest, state_hash, chain"

// A read may want one batch or the whole log: its first slice is small, each is twice the last.
constexpr std::uint64_t kFirstSlice_batches = 16;
constexpr std::uint64_t kLongestSlice_batches = 1'000;
constexpr std::uint64_t kRecordsPerBatch = 20;  // of a slice; it has one batch at least

// $3: batches at most. $4: as many as have these records together, but at least one.
constexpr char kBatches[] =
    "SELECT " DOVE_BATCH_COLUMNS
    " FROM (SELECT *, sum(events + decisions) OVER (ORDER BY batch) - events - decisions AS before "
    "FROM batches WHERE batch > $1 AND batch <= $1 + $3 AND first_seq <= $2) AS next "
    "WHERE before < $4 ORDER BY batch";
constexpr char kRecords[] =
    "SELECT seq, batch, is_decision, kind, job, node, body, chain FROM records "
    "WHERE seq >= $1 AND seq <= $2 ORDER BY seq";

// The batches of a page: whole ones, until their records have $3 bytes; one at least. $4: records
// that are looked at for that.
constexpr char kPageBatches[] =
    "SELECT " DOVE_BATCH_COLUMNS
    " FROM batches WHERE batch > $1 AND batch <= greatest($1 + 1, (SELECT max(batch) FROM (SELECT "
    "batch, sum(octet_length(body)) OVER (ORDER BY seq) - octet_length(body) AS before FROM "
    "records "
    "WHERE seq > $2 AND seq <= $2 + $4) AS next WHERE before < $3)) ORDER BY batch";
constexpr std::uint64_t kPageRecords = 8'192;

Error forgotten(const Anchor& anchor) {
  return {
      ErrorKind::kNotFound, "records_forgotten",
      fmt::format("records up to {} were dropped by retention; read after that", anchor.seq.value),
      ""};
}

RecordRow record_at(const Rows& rows, int row) {
  RecordRow record;
  record.seq = rows.unsigned_integer(row, 0);
  record.batch = rows.unsigned_integer(row, 1);
  record.is_decision = rows.integer(row, 2) != 0;
  record.kind = rows.bytes(row, 3);
  record.job = rows.unsigned_integer(row, 4);
  record.node = rows.unsigned_integer(row, 5);
  record.body = rows.bytes(row, 6);
  record.chain = rows.bytes(row, 7);
  return record;
}

Error rewound(Seq seq, std::string_view what) {
  return {
      ErrorKind::kConflict, "log_rewound",
      fmt::format("record {} of the log {}: the database lost acknowledged writes. Put back its "
                  "newer data; if they are gone, stop all controllers, say `dove restore "
                  "--in-place --store URL`, and start them (docs/operate/standby.md)",
                  seq.value, what),
      fmt::format("seq {}", seq.value)};
}

}  // namespace

struct LogTables::Slice {
  Rows batches;
  Rows records;
  Rows snapshots;  // seq, chain
};

LogTables::LogTables(Connection& connection) : connection_(connection), links_(kRemedy) {}

Result<Anchor> LogTables::anchor() {
  TRY_ASSIGN(const Rows rows,
             connection_.run("SELECT s.number, b.number, c.bytes FROM meta s, meta b, meta c WHERE "
                             "s.key = 'anchor_seq' AND b.key = 'anchor_batch' AND "
                             "c.key = 'anchor_chain'"));
  if (rows.size() != 1) return links_.damaged(0, "the anchor of the log is missing in table meta");
  return Anchor{Seq{rows.unsigned_integer(0, 0)}, BatchNumber{rows.unsigned_integer(0, 1)},
                sha256_from(rows.bytes(0, 2))};
}

Result<PgHead> LogTables::head() {
  TRY_ASSIGN(const Rows rows, connection_.run("SELECT " DOVE_BATCH_COLUMNS
                                              ", (SELECT max(seq) FROM records) FROM batches "
                                              "ORDER BY batch DESC LIMIT 1"));
  if (rows.size() == 0) {
    TRY_ASSIGN(const Anchor anchor, this->anchor());
    // Retention keeps the last batch, so an anchor without batches is a loss.
    if (!anchor.seq) return PgHead{};
    return links_.damaged(anchor.seq.value + 1, "all batches are missing");
  }
  const BatchHeader header = header_at(rows, 0);
  PgHead head;
  head.chain = sha256_from(rows.bytes(0, 8));
  head.head = {last_seq(header), BatchNumber{header.batch}, Epoch{header.epoch},
               Instant{header.at_us}, hex_of(head.chain)};
  const std::uint64_t stored = rows.unsigned_integer(0, 9);
  if (stored > head.head.seq.value) return links_.damaged(stored, "it belongs to no batch");
  if (stored < head.head.seq.value) return links_.damaged(stored + 1, "it is missing");
  return head;
}

Result<void> LogTables::read(Seq after, const std::optional<Sha256>& chain,
                             const std::function<bool(const Batch&)>& visit) {
  std::optional<Seq> end;
  is_placed_ = false;
  slice_batches_ = kFirstSlice_batches;
  for (;;) {
    std::optional<Slice> slice;
    {
      TRY_ASSIGN(PgTransaction view, PgTransaction::begin(connection_, kPgOneView));
      if (!end.has_value()) {
        TRY_ASSIGN(const PgHead now, head());
        end = now.head.seq;
      }
      TRY_ASSIGN(const Anchor anchor, this->anchor());
      if (after < anchor.seq) return forgotten(anchor);
      if (!is_placed_ && chain.has_value()) TRY(check_goes_on(after, *chain));
      if (after > *end) TRY(check_snapshots(*end));
      if (after >= *end) return {};
      if (!is_placed_) TRY(seek(anchor, after));
      is_placed_ = true;
      TRY_ASSIGN(slice, this->slice(*end));
    }
    if (slice->batches.size() == 0) {
      return links_.damaged(links_.seq().value + 1,
                            fmt::format("batch {} is missing", links_.batch().value + 1));
    }
    int record = 0;
    for (int i = 0; i < slice->batches.size(); ++i) {
      TRY_ASSIGN(const Batch batch, next_batch(*slice, i, record));
      after = links_.seq();
      if (!visit(batch)) return {};
    }
  }
}

Result<LogPage> LogTables::page(Seq after, std::size_t bytes_max) {
  TRY_ASSIGN(const PgHead now, head());
  TRY_ASSIGN(const Anchor anchor, this->anchor());
  if (after < anchor.seq) return forgotten(anchor);
  LogPage page;
  page.head = now.head.seq;
  page.before = {now.head.seq, now.head.batch, now.chain};
  if (after >= now.head.seq) return page;
  TRY(seek(anchor, after));
  page.before = {links_.seq(), links_.batch(), links_.chain()};
  TRY_ASSIGN(const Rows batches, connection_.run(kPageBatches, Params()
                                                                   .add(links_.batch().value)
                                                                   .add(links_.seq().value)
                                                                   .add(std::uint64_t{bytes_max})
                                                                   .add(kPageRecords)));
  if (batches.size() == 0) return links_.damaged(links_.seq().value + 1, "it is in no batch");
  const BatchHeader last = header_at(batches, batches.size() - 1);
  TRY_ASSIGN(
      const Rows records,
      connection_.run(kRecords, Params().add(links_.seq().value + 1).add(last_seq(last).value)));
  int record = 0;
  for (int i = 0; i < batches.size(); ++i) {
    TRY_ASSIGN(page.batches.emplace_back(), next_rows(batches, i, records, record));
  }
  return page;
}

Result<PagedBatch> LogTables::next_rows(const Rows& batches, int batch, const Rows& records,
                                        int& record) {
  PagedBatch made{header_at(batches, batch), std::string(batches.bytes(batch, 8)), {}};
  for (std::uint64_t i = 0; i < made.header.events + made.header.decisions; ++i) {
    if (record == records.size()) return links_.damaged(made.header.first_seq + i, "it is missing");
    const RecordRow row = record_at(records, record++);
    made.records.push_back(
        {std::string(row.kind), row.job, row.node, std::string(row.body), std::string(row.chain)});
  }
  return made;
}

// A database that lost its last writes, and was written anew since, has another record there.
Result<void> LogTables::check_goes_on(Seq after, const Sha256& chain) {
  TRY_ASSIGN(const Rows rows, connection_.run("SELECT chain FROM records WHERE seq = $1",
                                              Params().add(after.value)));
  if (rows.size() == 1 && rows.bytes(0, 0) == bytes_of(chain)) return {};
  TRY_ASSIGN(const Anchor anchor, this->anchor());
  if (anchor.seq >= after) return {};  // retention has dropped it
  return rewound(after, "is not the one that was read or written before");
}

// Nobody keeps a snapshot of records that are not there.
Result<void> LogTables::check_snapshots(Seq end) {
  TRY_ASSIGN(const Rows rows, connection_.run("SELECT coalesce(max(seq), 0) FROM snapshots"));
  const Seq newest{rows.unsigned_integer(0, 0)};
  if (newest <= end) return {};
  return rewound(newest, "is not there, and a snapshot of it is");
}

// Puts links_ where the row before the first batch left it.
Result<void> LogTables::seek(const Anchor& anchor, Seq after) {
  links_.begin(anchor);
  if (after <= anchor.seq) return {};
  TRY_ASSIGN(const Rows of, connection_.run("SELECT batch FROM records WHERE seq = $1",
                                            Params().add(after.value + 1)));
  if (of.size() == 0) return links_.damaged(after.value + 1, "it is missing");
  const std::uint64_t first = of.unsigned_integer(0, 0);
  if (first <= anchor.batch.value + 1) return {};
  TRY_ASSIGN(const Rows before,
             connection_.run("SELECT " DOVE_BATCH_COLUMNS " FROM batches WHERE batch = $1",
                             Params().add(first - 1)));
  if (before.size() == 0) {
    return links_.damaged(anchor.seq.value + 1, fmt::format("batch {} is missing", first - 1));
  }
  const BatchHeader header = header_at(before, 0);
  links_.begin({last_seq(header), BatchNumber{header.batch}, sha256_from(before.bytes(0, 8))});
  if (links_.seq() > after) {
    return links_.damaged(after.value + 1, "a column of its row was changed");
  }
  return {};
}

Result<LogTables::Slice> LogTables::slice(Seq end) {
  Slice slice;
  TRY_ASSIGN(slice.batches, connection_.run(kBatches, Params()
                                                          .add(links_.batch().value)
                                                          .add(end.value)
                                                          .add(slice_batches_)
                                                          .add(slice_batches_ * kRecordsPerBatch)));
  slice_batches_ = std::min(slice_batches_ * 2, kLongestSlice_batches);
  if (slice.batches.size() == 0) return slice;
  const BatchHeader last = header_at(slice.batches, slice.batches.size() - 1);
  TRY_ASSIGN(
      slice.records,
      connection_.run(kRecords, Params().add(links_.seq().value + 1).add(last_seq(last).value)));
  TRY_ASSIGN(slice.snapshots, connection_.run("SELECT seq, chain FROM snapshots"));
  return slice;
}

Result<Batch> LogTables::next_batch(const Slice& slice, int batch, int& record) {
  TRY(links_.begin_batch(header_at(slice.batches, batch)));
  while (links_.wants_record()) {
    if (record == slice.records.size()) return links_.add(nullptr).error();
    const RecordRow row = record_at(slice.records, record++);
    TRY(links_.add(&row));
  }
  TRY_ASSIGN(Batch made, links_.end_batch(slice.batches.bytes(batch, 8)));
  TRY(check_against_snapshot(slice.snapshots));
  return made;
}

Result<void> LogTables::check_against_snapshot(const Rows& snapshots) {
  for (int i = 0; i < snapshots.size(); ++i) {
    if (snapshots.unsigned_integer(i, 0) != links_.seq().value) continue;
    if (snapshots.bytes(i, 1) == bytes_of(links_.chain())) continue;
    return links_.damaged(links_.seq().value,
                          "the log up to here is not the one that the snapshot of it was made of");
  }
  return {};
}

}  // namespace dove::store
