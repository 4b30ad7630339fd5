// SessionApps: the apps for which people use running jobs. They are part of a job's program, which
// is kept as a blob: read once, and remembered. Loop thread only.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "core/state/state.h"
#include "listener/blobs.h"
#include "model/exec.h"

namespace dove::server {

class SessionApps {
 public:
  // `blobs` outlives it.
  explicit SessionApps(listener::Blobs& blobs) : blobs_(blobs) {}

  // Valid until the next call. An app without a name: the job is no session. Errors: kUnavailable
  // while the blob is being read.
  Result<const AppSpec*> of(const core::Job& job);

 private:
  listener::Blobs& blobs_;
  std::map<std::string, AppSpec> apps_;  // by the digest of what they are part of
};

}  // namespace dove::server
