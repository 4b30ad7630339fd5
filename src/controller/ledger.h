// Ledger: the controller's memory, which is a fold of its log: the state, the idempotency keys, and
// where the log may be cut.
//
// Recovery folds a snapshot and what follows; it never decides. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/idempotency.h"
#include "controller/input.h"
#include "core/cycle/scheduler.h"
#include "core/state/state.h"
#include "store/log_store.h"

namespace dove::controller {

class Ledger {
 public:
  // What `policies` names lives as long as the program; empty ones will do where nobody decides.
  explicit Ledger(const core::Policies& policies = {}) : brain_(policies) {}

  const core::State& state() const { return brain_.state(); }
  Idempotency idempotency;

  // Reads everything back from the log. Verifies the state hashes that were recorded: kCorrupt
  // `state_hash_differs` names the batch and the remedy.
  Result<void> recover(store::LogStore& log, store::LogKeeper& keeper);
  // Folds what came since, as recover(), and gives each batch to `observer`, if any. Errors: also
  // kNotFound `records_forgotten`.
  using Observer = std::function<void(std::shared_ptr<const CommittedBatch>)>;
  Result<void> follow(store::LogStore& log, const Observer& observer = {});

  // Whether the last batch is the one that the log ends with. A standby's store may know the log's
  // end of an earlier moment only, so it asks once more when it leads: kCorrupt `snapshot_damaged`.
  Result<void> check_batch(const store::Head& head) const;

  // Folds one event and the idempotency key that it came under.
  struct Submitted {
    JobId first;
    std::int32_t jobs = 0;
  };
  Submitted apply(const StampedEvent& event);
  void begin_batch(Instant at, Epoch epoch) { brain_.begin_batch(at, epoch); }
  // Nothing was folded since begin_batch: it is as if it had not begun.
  void abandon_batch(Instant now, Epoch epoch) { brain_.abandon_batch(now, epoch); }
  // What must be done now, folded already.
  std::vector<Decision> decide() { return brain_.decide(); }
  // When time alone may give decide something to say.
  Instant wake_at() const { return brain_.wake_at(); }
  // Folds a whole batch as it stands in the log.
  void fold(const store::Batch& batch);

  BatchNumber last_batch() const { return last_batch_; }
  std::uint64_t records_since_snapshot() const { return state().head.value - snapshot_head_.value; }

  // A snapshot of this moment; what is slow (encoding) is done by `finish` on any thread.
  struct PendingSnapshot {
    store::Head head;
    core::State state;
    std::string sides;  // idempotency keys, marks, and warnings
    store::Snapshot finish() const;
  };
  PendingSnapshot snapshot(const store::Head& head);
  // The first record to keep, by age and count; none when nothing may go.
  Seq keep_from(std::uint64_t records_kept, Span age_max) const;
  void appended(const store::Batch& batch) { last_batch_ = batch.number; }

 private:
  struct Mark {
    Seq seq;
    Instant at;
  };
  Result<void> load(const store::Snapshot& snapshot);

  core::Scheduler brain_;
  BatchNumber last_batch_;
  Seq snapshot_head_;
  std::deque<Mark> marks_;  // the heads of former snapshots, for retention by age
};

// The state in a snapshot's bytes, without what the controller keeps beside it.
Result<core::State> snapshot_state(const store::Snapshot& snapshot);

// SHA-256 digests of the ExecSpecs that jobs in `state` still need, each once.
std::vector<std::string> blobs_in_use(const core::State& state);

}  // namespace dove::controller
