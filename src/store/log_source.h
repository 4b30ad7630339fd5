// LogSource: a log as it is stored, for whoever keeps a copy of it. For stores that can be
// followed.
//
// The bytes are of one piece each, and known to the store that takes them (store/chain/log_page.h).
// Any thread. Calls block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/ids.h"

namespace dove::store {

class LogSource {
 public:
  virtual ~LogSource() = default;
  // The batches from the one that ends after `after` on, one at least and about `bytes_max`, with
  // the chain before them, and the terms after `term`. At the end of the log there are none; the
  // chain is then that of the end. Errors: kNotFound `records_forgotten`.
  virtual Result<std::string> page(Seq after, Epoch term, std::size_t bytes_max) = 0;
  // A piece of the newest snapshot, or of the one at `of`, from that byte on. Errors: kNotFound
  // `snapshot_gone`.
  virtual Result<std::string> snapshot_piece(Seq of, std::uint64_t offset,
                                             std::size_t bytes_max) = 0;
};

}  // namespace dove::store
