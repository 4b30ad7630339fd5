// LogStore: the durable log, its snapshots and blobs. What is not in it has not happened.
//
// One writer thread; head(), read() and blob() may run on other threads at the same time, and a
// visitor may append. Implementations: store/sqlite (one controller), store/postgres (several) and
// store/memory (tests, simulation); all pass store/log_store_conformance.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "model/ids.h"
#include "model/level.h"
#include "model/time.h"

namespace dove::store {

// What a step produced, stored in one transaction.
struct Batch {
  BatchNumber number;
  Epoch epoch;
  Instant at;
  Seq first_seq;  // of the first event; decisions follow the events without a gap
  std::vector<StampedEvent> events;
  std::vector<Decision> decisions;
  std::int32_t level = kNewestLevel;   // at which its records are written; read() does not say it
  std::uint64_t decisions_digest = 0;  // over the encoded decisions
  std::optional<std::uint64_t> state_hash;                 // after the batch; on some batches only
  std::vector<std::pair<std::string, std::string>> blobs;  // (SHA-256 hex, bytes), new ones only
};                                                         // as read() gives it, `blobs` is empty

struct Head {
  Seq seq;  // of the last record; none when the log is empty
  BatchNumber batch;
  Epoch epoch;  // of the last batch
  Instant at;
  std::string chain_sha256;  // hex, the last record chained over all before it; memory: empty
};

struct Snapshot {
  Head head;  // the snapshot holds everything up to and including this
  std::uint64_t state_hash = 0;
  std::string bytes;  // codec/snapshot.h
};

class LogStore {
 public:
  virtual ~LogStore() = default;

  virtual Head head() const = 0;

  // Durable on return. Fails with kConflict when `epoch` is not the newest (`epoch_stale`) or
  // `expected_head` is not the head (`head_moved`: another controller wrote), with kExhausted
  // (`disk_full`) when the disk is full; then nothing was written and the store can go on. Any
  // other failure means that the caller must end. REQUIRES: batch.epoch == epoch, its number and
  // first_seq follow the head, its instant is not before the head's. Blobs known already are fine.
  virtual Result<void> append(Epoch epoch, Seq expected_head, const Batch& batch) = 0;

  // Calls `visit` for every batch that ends after `after`, in order, until it returns false.
  // Verifies the hash chain on the way: kCorrupt names the seq of the first record that was
  // changed. Fails with kNotFound (`records_forgotten`) when records after `after` are gone.
  virtual Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit) = 0;

  // By SHA-256 in hex; none when it is not stored.
  virtual Result<std::optional<std::string>> blob(const std::string& sha256) = 0;

  // The chain up to that record, in hex. None: there is no such record, retention has dropped it,
  // or the store keeps no chain.
  virtual Result<std::optional<std::string>> chain_at(Seq) { return std::optional<std::string>(); }
};

// Terms, snapshots and retention: apart, since only the controller's housekeeping needs them. Calls
// may come from a thread other than the writer's.
class LogKeeper {
 public:
  virtual ~LogKeeper() = default;
  // Begins a new term: the returned epoch is larger than any before; others can append no more.
  virtual Result<Epoch> begin_epoch(const std::string& holder) = 0;
  // Keeps the newest two. kConflict when the log does not have snapshot.head.
  virtual Result<void> put_snapshot(const Snapshot& snapshot) = 0;
  virtual Result<std::optional<Snapshot>> latest_snapshot() = 0;
  // Drops the batches that end before `before`, and the blobs stored with them that are not in
  // `blobs_in_use`. kConflict (`not_covered`) unless the newest snapshot covers what goes. What
  // stays is still verified against the chain of what went.
  virtual Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) = 0;
};

}  // namespace dove::store
