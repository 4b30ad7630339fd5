#include "store/append_check.h"

#include <fmt/format.h>

#include "base/check.h"

namespace dove::store {

Result<void> check_append(const Head& head, Epoch newest_epoch, Epoch epoch, Seq expected_head,
                          const Batch& batch) {
  if (epoch != newest_epoch) {
    return Error{ErrorKind::kConflict, "epoch_stale",
                 fmt::format("this controller's epoch is {}, the log is at epoch {}: another "
                             "controller has taken over; end this one",
                             epoch.value, newest_epoch.value),
                 ""};
  }
  if (expected_head != head.seq) {
    return Error{ErrorKind::kConflict, "head_moved",
                 fmt::format("this controller expects the log to end at {}, it ends at {}: another "
                             "controller wrote; end this one",
                             expected_head.value, head.seq.value),
                 ""};
  }
  CHECK(batch.epoch == epoch, "a batch carries the epoch it is appended under");
  CHECK(batch.number.value == head.batch.value + 1, "batches are numbered without a gap");
  CHECK(batch.first_seq.value == head.seq.value + 1, "records are numbered without a gap");
  CHECK(batch.at >= head.at, "instants never decrease in a log");
  return {};
}

}  // namespace dove::store
