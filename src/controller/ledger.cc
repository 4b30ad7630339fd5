#include "controller/ledger.h"

#include <fmt/format.h>

#include <set>

#include "codec/bytes.h"
#include "codec/layouts.h"
#include "codec/state/snapshot.h"
#include "core/state/hash.h"

namespace dove::controller {
namespace {

constexpr std::size_t kMarksMax = 10'000;
constexpr std::uint64_t kSidesLayout = 2;  // from 2 on with the warnings of submissions

Error damaged() {
  return Error{ErrorKind::kCorrupt, "snapshot_damaged",
               "the snapshot cannot be read; restore the data directory from a backup, or remove "
               "the snapshot to fold the whole log",
               ""};
}

// The state's bytes come first, so that their length tells where the rest begins.
Result<std::pair<std::string, std::string>> split(const std::string& bytes) {
  codec::ByteReader ar(bytes);
  std::pair<std::string, std::string> parts;
  ar(parts.first, parts.second);
  if (ar.failed() || ar.left() != 0) return damaged();
  return parts;
}

}  // namespace

Result<core::State> snapshot_state(const store::Snapshot& snapshot) {
  TRY_ASSIGN(auto parts, split(snapshot.bytes));
  return codec::decode_snapshot(parts.first);
}

std::vector<std::string> blobs_in_use(const core::State& state) {
  std::set<std::string> used;
  for (const auto& [id, job] : state.jobs) used.insert(job.spec->exec_digest);
  return {used.begin(), used.end()};
}

Result<void> Ledger::load(const store::Snapshot& snapshot) {
  TRY_ASSIGN(auto parts, split(snapshot.bytes));
  TRY_ASSIGN(core::State decoded, codec::decode_snapshot(parts.first));
  brain_ = core::Scheduler(brain_.policies(), std::move(decoded));
  codec::ByteReader ar(parts.second);
  std::string keys;
  ar(keys);
  const std::uint64_t count = ar.varint();
  for (std::uint64_t i = 0; i < count && !ar.failed(); ++i) {
    Mark mark;
    ar(mark.seq, mark.at);
    marks_.push_back(mark);
  }
  std::string warnings;
  const bool has_warnings = !ar.failed() && ar.left() > 0;
  if (has_warnings) ar(warnings);
  if (ar.failed() || ar.left() != 0) return damaged();
  TRY(idempotency.decode(keys));
  if (has_warnings) TRY(idempotency.decode_warnings(warnings));
  if (!core::has_state_hash(state(), snapshot.state_hash) || state().head != snapshot.head.seq) {
    return damaged();
  }
  last_batch_ = snapshot.head.batch;
  snapshot_head_ = snapshot.head.seq;
  return {};
}

Result<void> Ledger::recover(store::LogStore& log, store::LogKeeper& keeper) {
  brain_ = core::Scheduler(brain_.policies());
  idempotency = Idempotency();
  marks_.clear();
  last_batch_ = BatchNumber();
  snapshot_head_ = Seq();
  TRY_ASSIGN(std::optional<store::Snapshot> snapshot, keeper.latest_snapshot());
  if (snapshot.has_value()) TRY(load(*snapshot));
  TRY(follow(log));
  return check_batch(log.head());
}

// The number beside a snapshot is in no chain, and counts where nothing follows it.
Result<void> Ledger::check_batch(const store::Head& head) const {
  if (state().head != head.seq || last_batch_ == head.batch) return {};
  return Error{ErrorKind::kCorrupt, "snapshot_damaged",
               fmt::format("the snapshot of record {} says that batch {} ends there, and the log "
                           "says batch {}: restore the log from a backup, or remove the snapshot "
                           "to fold the whole log",
                           head.seq.value, last_batch_.value, head.batch.value),
               ""};
}

Result<void> Ledger::follow(store::LogStore& log, const Observer& observer) {
  brain_.let_go();
  std::optional<Error> wrong;
  TRY(log.read(state().head, [&](const store::Batch& batch) {
    fold(batch);
    if (!batch.state_hash.has_value() || core::has_state_hash(state(), *batch.state_hash)) {
      if (observer) {
        observer(std::make_shared<CommittedBatch>(CommittedBatch{batch}));
      }
      return true;
    }
    wrong = Error{ErrorKind::kCorrupt, "state_hash_differs",
                  fmt::format("the state after batch {} (record {}) is not the one recorded; start "
                              "the version of dove that wrote this log, or find the difference "
                              "with `dove replay --verify`",
                              batch.number.value, state().head.value),
                  ""};
    return false;
  }));
  if (wrong.has_value()) return *wrong;
  return {};
}

Ledger::Submitted Ledger::apply(const StampedEvent& event) {
  const std::uint64_t before = state().next_job;
  brain_.apply(event);
  const Submitted submitted{JobId(before), static_cast<std::int32_t>(state().next_job - before)};
  if (submitted.jobs > 0 && !event.cause.idempotency_key.empty()) {
    idempotency.remember(
        event.cause, Idempotency::Entry{event.cause.body_sha256, submitted.first, submitted.jobs,
                                        state().now, std::nullopt});
  }
  return submitted;
}

void Ledger::fold(const store::Batch& batch) {
  brain_.begin_batch(batch.at, batch.epoch);
  for (const StampedEvent& event : batch.events) apply(event);
  for (const Decision& decision : batch.decisions) brain_.apply(decision);
  last_batch_ = batch.number;
}

Ledger::PendingSnapshot Ledger::snapshot(const store::Head& head) {
  snapshot_head_ = state().head;
  marks_.push_back(Mark{head.seq, head.at});
  if (marks_.size() > kMarksMax) marks_.pop_front();
  PendingSnapshot pending{head, state(), ""};
  std::string keys;
  idempotency.encode(keys);
  codec::ByteWriter ar(pending.sides);
  ar(keys);
  ar.varint(marks_.size());
  for (const Mark& mark : marks_) ar(mark.seq, mark.at);
  if (codec::layout_at(state().level, "what lies beside a snapshot", kSidesLayout) < 2) {
    return pending;
  }
  std::string warnings;
  idempotency.encode_warnings(warnings);
  ar(warnings);
  return pending;
}

store::Snapshot Ledger::PendingSnapshot::finish() const {
  store::Snapshot made;
  made.head = head;
  made.state_hash = core::state_hash(state, core::hash_level_of(state.level));
  codec::ByteWriter ar(made.bytes);
  ar(codec::encode_snapshot(state), sides);
  return made;
}

Seq Ledger::keep_from(std::uint64_t records_kept, Span age_max) const {
  Seq from;
  if (snapshot_head_.value > records_kept) from = Seq(snapshot_head_.value - records_kept);
  for (const Mark& mark : marks_) {
    if (state().now - mark.at > age_max && mark.seq > from) from = mark.seq;
  }
  return from;
}

}  // namespace dove::controller
