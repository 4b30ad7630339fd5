#include "store/sqlite/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dove::store {
namespace {

constexpr char kRemedy[] = "restore the data directory from a backup";
// Records that one transaction reads, and whole batches. The first slices are small: who reads may
// want no more.
constexpr std::uint64_t kFirstSlice = 64;
constexpr std::uint64_t kSliceMax = 4096;
// A slice is in memory at once, and records can be large.
constexpr std::size_t kSliceBytesMax = std::size_t{8} << 20;

Error damaged(std::uint64_t seq, std::string_view what) {
  return LinkReader(kRemedy).damaged(seq, what);
}

BatchHeader header_at(const Statement& row) {
  BatchHeader header;
  header.batch = row.unsigned_integer(0);
  header.epoch = row.unsigned_integer(1);
  header.at_us = row.integer(2);
  header.first_seq = row.unsigned_integer(3);
  header.events = row.unsigned_integer(4);
  header.decisions = row.unsigned_integer(5);
  header.decisions_digest = row.unsigned_integer(6);
  if (!row.is_null(7)) header.state_hash = row.unsigned_integer(7);
  return header;
}

constexpr char kBatchColumns[] =
    "SELECT batch, epoch, at_us, first_seq, events, decisions, decisions_digest, state_hash, chain "
    "FROM batches ";

}  // namespace

Result<Anchor> read_anchor(Database& database) {
  TRY_ASSIGN(Statement rows, database.prepare("SELECT key, value FROM meta"));
  Anchor anchor;
  int found = 0;
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) break;
    const std::string key(rows.bytes(0));
    if (key == "anchor_seq") {
      anchor.seq = Seq{rows.unsigned_integer(1)};
    } else if (key == "anchor_batch") {
      anchor.batch = BatchNumber{rows.unsigned_integer(1)};
    } else if (key == "anchor_chain") {
      anchor.chain = sha256_from(rows.bytes(1));
    } else {
      continue;
    }
    ++found;
  }
  if (found != 3) return damaged(0, "the anchor of the log is missing in table meta");
  return anchor;
}

Result<StoredHead> read_head(Database& database) {
  TRY_ASSIGN(const Anchor anchor, read_anchor(database));
  TRY_ASSIGN(Statement last,
             database.prepare(std::string(kBatchColumns) + "ORDER BY batch DESC LIMIT 1"));
  TRY_ASSIGN(const bool row, last.step());
  StoredHead head;
  if (row) {
    const BatchHeader header = header_at(last);
    head.head.seq = Seq{header.first_seq + header.events + header.decisions - 1};
    head.head.batch = BatchNumber{header.batch};
    head.head.epoch = Epoch{header.epoch};
    head.head.at = Instant{header.at_us};
    head.chain = sha256_from(last.bytes(8));
  } else {
    head.head.seq = anchor.seq;
    head.head.batch = anchor.batch;
    head.chain = anchor.chain;
    // Retention keeps the last batch, so an anchor without batches is a loss.
    if (anchor.seq.value > 0) return damaged(anchor.seq.value + 1, "all batches are missing");
  }
  TRY_ASSIGN(const auto newest, database.number("SELECT max(seq) FROM records"));
  const auto stored =
      static_cast<std::uint64_t>(newest.value_or(static_cast<std::int64_t>(anchor.seq.value)));
  if (stored > head.head.seq.value) return damaged(stored, "it belongs to no batch");
  if (stored < head.head.seq.value) return damaged(stored + 1, "it is missing");
  head.head.chain_sha256 = head.head.seq ? hex_of(head.chain) : "";
  return head;
}

LogReader::LogReader(Database& database) : database_(database), links_(kRemedy) {}

Result<void> LogReader::read(Seq after, const std::function<bool(const Batch&)>& visit) {
  std::optional<Seq> end;
  for (std::uint64_t records = kFirstSlice;; records = std::min(records * 4, kSliceMax)) {
    std::vector<Batch> slice;
    const Result<void> filled = fill(slice, after, end, records);
    for (const Batch& batch : slice) {
      if (!visit(batch)) return {};
    }
    if (!filled.ok() || slice.empty() || links_.seq() >= *end) return filled;
    after = links_.seq();
  }
}

// The first slice says what the `end` is, and puts links_ where it begins.
Result<void> LogReader::fill(std::vector<Batch>& slice, Seq after, std::optional<Seq>& end,
                             std::uint64_t records_max) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(database_, Transaction::Kind::kRead));
  TRY_ASSIGN(const Anchor anchor,
             anchor_before(after, end ? " while those before them were read" : ""));
  if (end.has_value()) {
    TRY(check_goes_on(anchor));
  } else {
    TRY_ASSIGN(const StoredHead head, read_head(database_));
    end = head.head.seq;
    if (after < *end) TRY(seek_after(anchor, after));
  }
  if (after >= *end) return {};
  TRY(load_snapshot_chains());
  TRY_ASSIGN(Statement batches, batches_from(BatchNumber{links_.batch().value + 1}));
  TRY_ASSIGN(Statement records, records_after(links_.seq()));
  bytes_ = 0;
  std::uint64_t count = 0;
  while (count < records_max && bytes_ < kSliceBytesMax && links_.seq() < *end) {
    TRY_ASSIGN(const bool row, batches.step());
    if (!row) return damaged(links_.seq().value + 1, "it is missing");
    TRY_ASSIGN(Batch batch, next_batch(batches, records));
    count += batch.events.size() + batch.decisions.size();
    slice.push_back(std::move(batch));
  }
  return {};
}

// Nothing held the log since the last slice: it must still have what was read last.
Result<void> LogReader::check_goes_on(const Anchor& anchor) {
  if (anchor.seq == links_.seq() && anchor.chain == links_.chain()) return {};
  TRY_ASSIGN(Statement last, database_.prepare("SELECT chain FROM batches WHERE batch = ?"));
  last.bind(1, links_.batch().value);
  TRY_ASSIGN(const bool found, last.step());
  if (found && last.bytes(0) == bytes_of(links_.chain())) return {};
  return damaged(links_.seq().value, "it was changed or taken away while the log was read");
}

Result<Anchor> LogReader::anchor_before(Seq after, const char* meanwhile) {
  TRY_ASSIGN(const Anchor anchor, read_anchor(database_));
  if (anchor.seq <= after) return anchor;
  return Error{ErrorKind::kNotFound, "records_forgotten",
               fmt::format("records up to {} were dropped by retention{}; read after that",
                           anchor.seq.value, meanwhile),
               ""};
}

Result<LogPage> LogReader::page(Seq after, std::size_t bytes_max) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(database_, Transaction::Kind::kRead));
  TRY_ASSIGN(const Anchor anchor, anchor_before(after));
  TRY_ASSIGN(const StoredHead head, read_head(database_));
  BatchNumber first{after > anchor.seq ? head.head.batch.value + 1 : anchor.batch.value + 1};
  if (after > anchor.seq && after < head.head.seq) {
    TRY_ASSIGN(first, batch_of(Seq{after.value + 1}));
  }
  TRY(seek(anchor, first));
  LogPage page{head.head.seq, {links_.seq(), links_.batch(), links_.chain()}, {}, {}};
  TRY_ASSIGN(Statement batches, batches_from(first));
  TRY_ASSIGN(Statement records, records_after(links_.seq()));
  for (std::size_t bytes = 0; bytes < bytes_max;) {
    TRY_ASSIGN(const bool row, batches.step());
    if (!row) break;
    TRY_ASSIGN(PagedBatch batch, next_rows(batches, records));
    for (const PagedRecord& record : batch.records) bytes += record.body.size();
    page.batches.push_back(std::move(batch));
  }
  return page;
}

Result<PagedBatch> LogReader::next_rows(Statement& batches, Statement& records) {
  PagedBatch batch{header_at(batches), std::string(batches.bytes(8)), {}};
  for (std::uint64_t i = 0; i < batch.header.events + batch.header.decisions; ++i) {
    TRY_ASSIGN(const bool row, records.step());
    if (!row) return damaged(batch.header.first_seq + i, "it is missing");
    batch.records.push_back({std::string(records.bytes(3)), records.unsigned_integer(4),
                             records.unsigned_integer(5), std::string(records.bytes(6)),
                             std::string(records.bytes(7))});
  }
  return batch;
}

Result<Statement> LogReader::batches_from(BatchNumber first) {
  TRY_ASSIGN(Statement rows,
             database_.prepare(std::string(kBatchColumns) + "WHERE batch >= ? ORDER BY batch"));
  rows.bind(1, first.value);
  return rows;
}

Result<Statement> LogReader::records_after(Seq seq) {
  TRY_ASSIGN(Statement rows,
             database_.prepare("SELECT seq, batch, is_decision, kind, job, node, body, chain "
                               "FROM records WHERE seq > ? ORDER BY seq"));
  rows.bind(1, seq.value);
  return rows;
}

// Puts links_ before the batch that has the record behind `after`.
Result<void> LogReader::seek_after(const Anchor& anchor, Seq after) {
  BatchNumber first{anchor.batch.value + 1};
  if (after > anchor.seq) {
    TRY_ASSIGN(first, batch_of(Seq{after.value + 1}));
  }
  TRY(seek(anchor, first));
  if (links_.seq() > after) return damaged(after.value + 1, "a column of its row was changed");
  return {};
}

Result<BatchNumber> LogReader::batch_of(Seq seq) {
  TRY_ASSIGN(Statement row, database_.prepare("SELECT batch FROM records WHERE seq = ?"));
  row.bind(1, seq.value);
  TRY_ASSIGN(const bool found, row.step());
  if (!found) return damaged(seq.value, "it is missing");
  return BatchNumber{row.unsigned_integer(0)};
}

Result<void> LogReader::load_snapshot_chains() {
  TRY_ASSIGN(Statement rows, database_.prepare("SELECT seq, chain FROM snapshots"));
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) return {};
    snapshot_chains_[rows.unsigned_integer(0)] = sha256_from(rows.bytes(1));
  }
}

// Puts links_ where the row before batch `first` left it.
Result<void> LogReader::seek(const Anchor& anchor, BatchNumber first) {
  links_.begin(anchor);
  if (first.value <= anchor.batch.value + 1) return {};
  TRY_ASSIGN(Statement before, database_.prepare(std::string(kBatchColumns) + "WHERE batch = ?"));
  before.bind(1, first.value - 1);
  TRY_ASSIGN(const bool found, before.step());
  const BatchHeader header = found ? header_at(before) : BatchHeader{};
  if (!found) {
    return damaged(anchor.seq.value + 1, fmt::format("batch {} is missing", first.value - 1));
  }
  links_.begin({last_seq(header), BatchNumber{header.batch}, sha256_from(before.bytes(8))});
  return {};
}

Result<Batch> LogReader::next_batch(Statement& batches, Statement& records) {
  TRY(links_.begin_batch(header_at(batches)));
  while (links_.wants_record()) {
    TRY_ASSIGN(const bool row, records.step());
    if (!row) return links_.add(nullptr).error();
    RecordRow record;
    record.seq = records.unsigned_integer(0);
    record.batch = records.unsigned_integer(1);
    record.is_decision = records.integer(2) != 0;
    record.kind = records.bytes(3);
    record.job = records.unsigned_integer(4);
    record.node = records.unsigned_integer(5);
    record.body = records.bytes(6);
    record.chain = records.bytes(7);
    bytes_ += record.body.size();
    TRY(links_.add(&record));
  }
  TRY_ASSIGN(Batch batch, links_.end_batch(batches.bytes(8)));
  TRY(check_against_snapshots());
  return batch;
}

Result<void> LogReader::check_against_snapshots() {
  const auto anchor = snapshot_chains_.find(links_.seq().value);
  if (anchor == snapshot_chains_.end() || anchor->second == links_.chain()) return {};
  return damaged(links_.seq().value,
                 "the log up to here is not the one that the snapshot of it was made of");
}

}  // namespace dove::store
