// LogClient: reads the log of a running server for its follower.
//
// Calls block. One thread. Errors that another try may mend are kUnavailable or kTimeout.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "programs/follow/follow_settings.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/client.h"

namespace dove::programs {

class LogClient {
 public:
  LogClient(FollowSettings settings, const std::string& token);

  // What comes after `head`, as LogSource::page() says. `waits`: for a moment, when there is
  // nothing.
  Result<store::LogPage> page(const store::Head& head, bool waits);
  // Errors: kUnavailable, too, when there is none any more.
  Result<store::Snapshot> newest_snapshot();
  // One that the source does not keep is empty.
  Result<std::map<std::string, std::string>> blobs(std::set<std::string> digests);
  // Whose log it was that was read last; "": none yet.
  const std::string& cluster() const { return cluster_; }

 private:
  Result<std::string> get(const std::string& target);

  const FollowSettings settings_;
  wire::Client client_;
  std::string cluster_;
};

}  // namespace dove::programs
