// LogClient: reads the log of a running server for its follower.
//
// Controllers that share a log give the same records, whether they lead or stand by. After one that
// did not answer the next call asks the next one. Calls block. One thread. Errors that another try
// may mend are kUnavailable or kTimeout.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "programs/follow/follow_settings.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/client.h"

namespace dove::programs {

// Whether another try may mend it.
bool may_pass(const Error& error);

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
  // Which one is asked now, and how many there are.
  const std::string& url() const { return sources_[at_].base_url(); }
  std::size_t count() const { return sources_.size(); }
  // The next one is asked from here on.
  void turn() { at_ = (at_ + 1) % sources_.size(); }

 private:
  Result<std::string> get(const std::string& target);
  Result<std::string> ask(const std::string& target);

  const FollowSettings settings_;
  std::vector<wire::Client> sources_;
  std::size_t at_ = 0;
  std::string cluster_;
};

}  // namespace dove::programs
