#include "store/sqlite/log_reader.h"

#include <fmt/format.h>

#include "codec/record.h"
#include "store/sqlite/record_columns.h"

namespace dove::store {
namespace {

Error damaged(std::uint64_t seq, std::string_view what) {
  return Error{ErrorKind::kCorrupt, "log_corrupt",
               fmt::format("record {} of the log: {}; nothing was dropped: restore the data "
                           "directory from a backup, see docs/operate/recovery.md, and compare "
                           "with `dove replay --verify`",
                           seq, what),
               fmt::format("seq {}", seq)};
}

// Nothing is wrong with it but that it is read by an older program.
Error unreadable(std::uint64_t seq, const Error& error) {
  if (error.code != "record_newer") return damaged(seq, error.message);
  return Error{ErrorKind::kConflict, error.code,
               fmt::format("record {} of the log: {}", seq, error.message),
               fmt::format("seq {}", seq)};
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

Result<void> LogReader::read(Seq after, const std::function<bool(const Batch&)>& visit) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(database_, Transaction::Kind::kRead));
  TRY_ASSIGN(const Anchor anchor, read_anchor(database_));
  if (after < anchor.seq) {
    return Error{ErrorKind::kNotFound, "records_forgotten",
                 fmt::format("records up to {} were dropped by retention; read after that",
                             anchor.seq.value),
                 ""};
  }
  return run(anchor, after, visit);
}

Result<void> LogReader::read_all(const std::function<bool(const Batch&)>& visit) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(database_, Transaction::Kind::kRead));
  TRY_ASSIGN(const Anchor anchor, read_anchor(database_));
  return run(anchor, anchor.seq, visit);
}

Result<void> LogReader::run(const Anchor& anchor, Seq after,
                            const std::function<bool(const Batch&)>& visit) {
  TRY_ASSIGN(const StoredHead head, read_head(database_));
  TRY(load_snapshot_chains());
  if (after >= head.head.seq) return {};
  BatchNumber first{anchor.batch.value + 1};
  if (after > anchor.seq) {
    TRY_ASSIGN(first, batch_of(Seq{after.value + 1}));
  }
  TRY(seek(anchor, first));
  if (seq_ > after.value) return damaged(after.value + 1, "a column of its row was changed");
  TRY_ASSIGN(Statement batches,
             database_.prepare(std::string(kBatchColumns) + "WHERE batch >= ? ORDER BY batch"));
  batches.bind(1, first.value);
  TRY_ASSIGN(Statement records,
             database_.prepare("SELECT seq, batch, is_decision, kind, job, node, body, chain "
                               "FROM records WHERE seq > ? ORDER BY seq"));
  records.bind(1, seq_);
  for (;;) {
    TRY_ASSIGN(const bool row, batches.step());
    if (!row) break;
    TRY_ASSIGN(const Batch batch, next_batch(batches, records));
    if (!visit(batch)) return {};
  }
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

// Puts chain_, seq_ and batch_ where the row before batch `first` left them.
Result<void> LogReader::seek(const Anchor& anchor, BatchNumber first) {
  chain_ = anchor.chain;
  seq_ = anchor.seq.value;
  batch_ = anchor.batch.value;
  if (first.value <= anchor.batch.value + 1) return {};
  TRY_ASSIGN(Statement before, database_.prepare(std::string(kBatchColumns) + "WHERE batch = ?"));
  before.bind(1, first.value - 1);
  TRY_ASSIGN(const bool found, before.step());
  const BatchHeader header = found ? header_at(before) : BatchHeader{};
  if (!found) return damaged(seq_ + 1, fmt::format("batch {} is missing", first.value - 1));
  chain_ = sha256_from(before.bytes(8));
  seq_ = header.first_seq + header.events + header.decisions - 1;
  batch_ = header.batch;
  return {};
}

Result<Batch> LogReader::next_batch(Statement& batches, Statement& records) {
  const BatchHeader header = header_at(batches);
  if (header.batch != batch_ + 1) {
    return damaged(seq_ + 1, fmt::format("batch {} is missing", batch_ + 1));
  }
  if (header.first_seq != seq_ + 1) {
    return damaged(seq_ + 1, fmt::format("batch {} does not begin with it", header.batch));
  }
  Batch batch;
  batch.number = BatchNumber{header.batch};
  batch.epoch = Epoch{header.epoch};
  batch.at = Instant{header.at_us};
  batch.first_seq = Seq{header.first_seq};
  batch.decisions_digest = header.decisions_digest;
  batch.state_hash = header.state_hash;
  chain_ = hasher_.link(chain_, header);
  batch_ = header.batch;
  for (std::uint64_t i = 0; i < header.events; ++i) TRY(next_record(records, batch, false));
  for (std::uint64_t i = 0; i < header.decisions; ++i) TRY(next_record(records, batch, true));
  if (bytes_of(chain_) != batches.bytes(8)) {
    return damaged(seq_, fmt::format("the row of its batch {} was changed", header.batch));
  }
  TRY(check_against_snapshots());
  return batch;
}

Result<void> LogReader::next_record(Statement& records, Batch& batch, bool is_decision) {
  TRY_ASSIGN(const bool row, records.step());
  const std::uint64_t seq = seq_ + 1;
  if (!row || records.unsigned_integer(0) != seq) return damaged(seq, "it is missing");
  const std::string_view body = records.bytes(6);
  chain_ = hasher_.link(chain_, seq, is_decision, body);
  seq_ = seq;
  if (bytes_of(chain_) != records.bytes(7)) {
    return damaged(seq, fmt::format("it, or the row of its batch {}, was changed", batch_));
  }
  RecordColumns columns;
  if (is_decision) {
    auto decision = codec::decode_decision(body);
    if (!decision.ok()) return unreadable(seq, decision.error());
    columns = columns_of(*decision);
    batch.decisions.push_back(std::move(decision).value());
  } else {
    auto event = codec::decode_event(body);
    if (!event.ok()) return unreadable(seq, event.error());
    columns = columns_of(event->event);
    batch.events.push_back(std::move(event).value());
  }
  const bool same =
      records.unsigned_integer(1) == batch_ && records.integer(2) == (is_decision ? 1 : 0) &&
      records.bytes(3) == columns.kind && records.unsigned_integer(4) == columns.job.value_or(0) &&
      records.unsigned_integer(5) == columns.node.value_or(0);
  if (!same) return damaged(seq, "a column of its row was changed");
  return {};
}

Result<void> LogReader::check_against_snapshots() {
  const auto anchor = snapshot_chains_.find(seq_);
  if (anchor == snapshot_chains_.end() || anchor->second == chain_) return {};
  return damaged(seq_, "the log up to here is not the one that the snapshot of it was made of");
}

}  // namespace dove::store
