// Input and Committed: what is submitted to the controller, and what became of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/event.h"
#include "store/log_store.h"

namespace dove::controller {

// What an input is to a disk that fills up.
enum class InputKind {
  kNewWork,  // refused once there is less than the floor
  kRequest,  // refused once nothing can be written
  kRelief,   // as kRequest, but on a full disk too that keeps room: it ends what fills it
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
// kUnavailable stopping or busy, or what refuse() said.
using Completion = std::function<void(Result<Committed>)>;

// A batch as it stands in the log.
struct CommittedBatch {
  store::Batch batch;      // without blobs
  std::string chain = {};  // of the log up to its last record, in hex; "": not known
  Seq last() const {
    return Seq{batch.first_seq.value + batch.events.size() + batch.decisions.size() - 1};
  }
};

}  // namespace dove::controller
