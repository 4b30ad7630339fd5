// LogAuditor: looks at everything that a store holds, beside its use. For stores that last.
//
// Any thread. Once `stops` is true a call ends early.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::store {

class LogAuditor {
 public:
  virtual ~LogAuditor() = default;
  // Reads every record kept and the snapshot that counts; the first damage found.
  virtual Result<void> verify(const std::atomic<bool>* stops) = 0;
  // Every snapshot and blob that is not what was written, each an error with the remedy, whose
  // `field` is "blob SHA-256" or "snapshot SEQ".
  virtual Result<std::vector<Error>> damages(const std::atomic<bool>* stops) = 0;
  // Keeps what is left of a damaged blob under another name, so that it is not read any more. One
  // that was stored anew since stays.
  virtual Result<void> set_aside(const std::string& sha256) = 0;
};

}  // namespace dove::store
