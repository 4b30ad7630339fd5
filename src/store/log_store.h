// LogStore: the durable log, its snapshots and blobs. What is not in it has not happened.
//
// One writer thread; read() may run on another thread at the same time. Implementations:
// store/sqlite (the product) and store/memory (tests, simulation); both pass
// store/log_store_conformance.h.
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
  std::uint64_t decisions_digest = 0;                      // over the encoded decisions
  std::optional<std::uint64_t> state_hash;                 // after the batch; on some batches only
  std::vector<std::pair<std::string, std::string>> blobs;  // (SHA-256 hex, bytes), new ones only
};

struct Head {
  Seq seq;  // of the last record; none when the log is empty
  BatchNumber batch;
  Epoch epoch;
  Instant at;
  std::string chain_sha256;  // hash of the last record chained over all before it
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

  // Durable on return. Fails with kConflict when `epoch` is not the newest or `expected_head` is
  // not the head (another controller wrote), with kExhausted when the disk is full; then nothing
  // was written. Any other failure means that the caller must end.
  virtual Result<void> append(Epoch epoch, Seq expected_head, const Batch& batch) = 0;

  // Calls `visit` for every batch that ends after `after`, in order, until it returns false.
  // Verifies the hash chain on the way: kCorrupt names the seq of the first record that was
  // changed.
  virtual Result<void> read(Seq after, const std::function<bool(const Batch&)>& visit) = 0;

  virtual Result<std::optional<std::string>> blob(const std::string& sha256) = 0;
};

// Begins a new term: the returned epoch is larger than any before; others can append no more.
// Snapshots and retention are apart, since only the controller's housekeeping needs them.
class LogKeeper {
 public:
  virtual ~LogKeeper() = default;
  virtual Result<Epoch> begin_epoch(const std::string& holder) = 0;
  virtual Result<void> put_snapshot(const Snapshot& snapshot) = 0;
  virtual Result<std::optional<Snapshot>> latest_snapshot() = 0;
  // Drops records before `before`, all covered by a snapshot, and blobs that nothing refers to.
  virtual Result<void> forget_before(Seq before, const std::vector<std::string>& blobs_in_use) = 0;
};

}  // namespace dove::store
