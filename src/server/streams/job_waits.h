// JobWaits: clients that wait until jobs have reached a state (GET /v1/jobs/{id}/wait).
//
// There is no polling: the changes of a batch are compared with the clients that wait for its jobs,
// and each client is answered once, when the last of its jobs has reached the state. Loop thread
// only.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "listener/projection.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::server {

enum class WaitUntil {
  kStarted,  // its tasks run on all of its nodes, or it is over
  kSettled,  // no attempt of it goes on
  kEnded,
};
// "started", "settled", "ended"; nothing if it is none of them.
std::optional<WaitUntil> read_wait_until(std::string_view text);

class JobWaits {
 public:
  JobWaits(wire::Loop& loop, const listener::Projection& projection)
      : loop_(loop), projection_(projection) {}

  // Writes one line of JSON to `out`, and closes it, once all jobs that `name` names have come
  // there; blank lines before tell that the wait goes on. REQUIRES: `name` names some.
  void add(std::shared_ptr<wire::Outflow> out, std::string name, WaitUntil until);
  void published(const listener::RecentBatch& batch);
  void close_all();
  std::size_t waiting() const { return waiters_.size(); }

 private:
  struct Waiter;
  using WaiterPtr = std::shared_ptr<Waiter>;
  void look(const WaiterPtr& waiter);
  void touched(JobId job);
  void drop(const WaiterPtr& waiter);
  void keep_alive();

  wire::Loop& loop_;
  const listener::Projection& projection_;
  std::set<WaiterPtr> waiters_;
  std::map<JobId, std::vector<WaiterPtr>> by_job_;  // that have not come there yet
  wire::Timer keep_alive_timer_;
};

}  // namespace dove::server
