// ListWatches: lists that are answered once they may differ from the answer that the client has.
//
// GET /v1/jobs?since=LOG_HEAD, with the `log_head` of the previous answer, is held until a record
// touches what the list shows, at most `wait_s` seconds; then it is answered like any other. The
// model is the blocking query of Nomad and Consul, except that a change which the list does not
// show wakes nobody. Records that come together are answered together. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "base/result.h"
#include "listener/call.h"
#include "listener/open_access.h"
#include "listener/projection.h"
#include "server/job_select.h"
#include "wire/loop.h"

namespace dove::server {

// What a list shows. kUse: declared objects, with what runs and waits in them.
enum class ListOf { kJobs, kNodes, kObjects, kUse };

class ListWatches {
 public:
  ListWatches(wire::Loop& loop, const listener::Projection& projection,
              listener::OpenAccess& access);
  ~ListWatches();
  ListWatches(const ListWatches&) = delete;
  ListWatches& operator=(const ListWatches&) = delete;

  // Calls `answer` at once where the query has no `since`. `wanted`: of a list of jobs, which it
  // may show whatever their state. Errors: kInvalid bad_parameter.
  void answer(ListOf what, listener::CallPtr call, JobQuery wanted,
              std::function<void(listener::CallPtr)> answer);

  void published(const listener::RecentBatch& batch);
  void close_all();  // answers all that are held

 private:
  struct Held;
  using HeldPtr = std::shared_ptr<Held>;
  struct Touched;
  bool concerns(const Held& held, const Touched& touched) const;
  bool has_changed(const Held& held, Seq seen) const;
  void answer_soon(const HeldPtr& held);
  void let_go(const HeldPtr& held);

  wire::Loop& loop_;
  const listener::Projection& projection_;
  listener::OpenAccess& access_;
  std::set<HeldPtr> held_;
};

}  // namespace dove::server
