// Controller: stamps events, steps the core, makes both durable, then has decisions carried out.
//
// One batch at a time on a thread of its own: drain what was submitted, stamp, admit, apply,
// decide, append in one transaction; only then publish, carry out, and complete. What arrives
// during an append is the next batch (group commit). It sleeps until somebody submits or the core's
// wake_at comes; there is no delay on the way of a single submission but the append itself.
//
// A full disk (kExhausted) undoes the batch: the state is read back from the log, everybody who
// waited is refused with `disk_full`, and work is taken again once there is room, when every node
// that is not connected gets a grace anew. What makes room (kRelief) is taken all the same, as the
// log keeps some for it. Any other failure
// to append ends the process through ControllerOptions::on_fatal: memory must never be ahead of the
// log.
//
// Life: construct, open(), subscribe(), start(), ..., stop(). open() to start() belong to one
// thread; submit(), refuse() and fatal_error() are thread-safe. A caller that controls time itself
// calls start_by_hand() in place of start(), and then work(): no thread, the same batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/result.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"
#include "store/log_store.h"

namespace dove::core {
struct Policies;
}

namespace dove::controller {

struct ControllerOptions {
  const core::Policies* policies = nullptr;    // outlives the controller; nullptr: none is called
  std::string policy_digest;                   // as logged: what replay must run with
  std::string build;                           // as logged: version and digest of the program
  std::string holder;                          // who opens the log: "host:pid", for people
  std::function<std::int64_t()> clock;         // microseconds UTC; empty: the real one (instants.h)
  std::function<std::int64_t()> monotonic;     // microseconds, for retries; empty: the real one
  std::function<std::int64_t()> free_bytes;    // of the log's disk; empty: not watched
  std::int64_t free_floor_bytes = 64LL << 20;  // below it new work is refused
  std::int64_t full_floor_bytes = 2LL << 20;   // below it everything is but kRelief
  std::int64_t full_retry_us = 1'000'000;  // after a full disk, writing is tried again this often
  // The state hash is recorded this often at most, and more rarely the more jobs there are.
  std::uint64_t hash_every_batches = 256;
  std::uint64_t snapshot_every_records = 100'000;
  std::uint64_t records_kept = 5'000'000;  // retention of the log by size, and by age:
  Span records_age_max = seconds(30 * 24 * 3600);
  std::function<void(const Error&)> on_fatal;  // controller thread; empty: aborts the process
};

// What an input is to a disk that fills up.
enum class InputKind {
  kNewWork,  // refused once there is less than the floor
  kRequest,  // refused once nothing can be written
  kRelief,   // as kRequest, but on a full disk too: it ends what fills it
  kReport,   // has happened, so it is admitted; as kRequest when full: its agent says it again
  kFact,     // as kReport, but waits until there is room: nobody would say it a second time
};

// What happens together: all events of an input are in one batch, next to each other.
struct Input {
  std::vector<StampedEvent> events;
  std::vector<std::pair<std::string, std::string>> blobs;  // (SHA-256 hex, bytes)
  InputKind kind = InputKind::kRequest;
  bool skips_refused = false;  // an event that cannot be admitted is left out, not the whole input
};

struct Committed {
  Seq head;  // everything of the input stands at or before this
  Instant at;
  // The id of the first JobSubmitted: `jobs` consecutive ids (an array has many).
  JobId first_job;
  std::int32_t jobs = 0;
  std::vector<std::string> warnings;
  std::int32_t admitted = 0;           // events
  std::optional<Error> first_refusal;  // with skips_refused
  bool replayed = false;               // the same idempotency key and body came before
};

// Called once, on the controller's thread, after the batch was published (on the caller's thread
// when the controller is not running): post on, do not work.
// Errors: those of core::admit; kConflict idempotency_key_reused; kExhausted disk_full;
// kUnavailable stopping, or what refuse() said.
using Completion = std::function<void(Result<Committed>)>;

// A batch as it stands in the log.
struct CommittedBatch {
  store::Batch batch;  // without blobs
  Seq last() const {
    return Seq{batch.first_seq.value + batch.events.size() + batch.decisions.size() - 1};
  }
};

class Controller {
 public:
  // All outlive the controller.
  Controller(store::LogStore& log, store::LogKeeper& keeper, backends::Backend& backend,
             ControllerOptions options);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Begins an epoch, folds snapshot and log, verifies recorded state hashes, logs
  // ControllerStarted. Errors: kCorrupt names the place and the remedy.
  Result<void> open();
  // Thread-safe, as they never change.
  const core::Policies& policies() const;
  // As of open(), or after stop(). REQUIRES: not running.
  const core::State& state() const;
  // `observer` gets each batch in order, before its completions, on the controller's thread.
  // REQUIRES: not running.
  void subscribe(std::function<void(std::shared_ptr<const CommittedBatch>)> observer);

  void start();
  // In place of start(): `wake` is called when there is something for work() to do at once, maybe
  // from within submit(). Everything then belongs to one thread, state() may be called at any time,
  // and to destroy the controller is to kill it: nobody is answered, nothing is written.
  void start_by_hand(std::function<void()> wake);
  // Makes one batch of what waits and is due, if anything. In how many microseconds time alone will
  // give it work. REQUIRES: start_by_hand(), not from within a callback of the controller.
  std::int64_t work();
  // Finishes the present batch, refuses what waits, writes a snapshot, joins the thread. Once.
  void stop();

  void submit(Input input, Completion done);

  // From now on every input is refused with `why`: this log must not go on.
  void refuse(Error why);
  std::optional<Error> refusal() const;
  // What the log's disk lacks, and what is refused for it; none: nothing. Thread-safe.
  std::optional<Error> shortage() const;
  // That the machine's clock leapt, and by how much; none: it runs evenly. Thread-safe.
  std::optional<Error> leap() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dove::controller
