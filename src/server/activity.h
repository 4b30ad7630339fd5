// Activity: when somebody last used a session: typed, clicked, or sent something that no program
// sends by itself. The carriers of sessions to people (the proxy, the gateway of SSH) report it.
//
// In memory only: after a restart nothing is known until it is reported anew. Loop thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>

#include "model/ids.h"
#include "model/time.h"

namespace dove::server {

class Activity {
 public:
  // An earlier instant than the last changes nothing.
  void saw_input(JobId job, Instant at) {
    Instant& last = last_[job];
    last = std::max(last, at);
  }
  // None: nobody was seen to use it.
  std::optional<Instant> last_input(JobId job) const {
    const auto found = last_.find(job);
    return found == last_.end() ? std::nullopt : std::optional<Instant>(found->second);
  }

  // Forgets the jobs that `goes_on` does not hold for.
  void keep(const std::function<bool(JobId)>& goes_on) {
    std::erase_if(last_, [&](const auto& entry) { return !goes_on(entry.first); });
  }
  std::size_t size() const { return last_.size(); }

 private:
  std::map<JobId, Instant> last_;
};

}  // namespace dove::server
