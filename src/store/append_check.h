// What every store checks before it appends, so that all refuse alike. Pure.
#pragma once

#include "store/log_store.h"

namespace dove::store {

// The last record of `batch`; the one before it when it has none.
inline Seq last_seq(const Batch& batch) {
  return Seq{batch.first_seq.value + batch.events.size() + batch.decisions.size() - 1};
}

// kConflict as LogStore::append says; a batch that does not continue `head` ends the process.
Result<void> check_append(const Head& head, Epoch newest_epoch, Epoch epoch, Seq expected_head,
                          const Batch& batch);

}  // namespace dove::store
