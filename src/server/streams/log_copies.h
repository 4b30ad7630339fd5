// LogCopies: what followers of the log read (GET /v1/log and below; docs/operate/follow.md).
//
// The store is read on a thread of its own, one call after another, and its bytes are sent
// unchanged. A page that would be empty can wait for new records. At most kCallsMax calls are in
// progress at once, including waiting ones; a further one is answered 503. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "listener/desk.h"
#include "listener/log_thread.h"
#include "listener/route.h"
#include "store/log_source.h"
#include "wire/loop.h"

namespace dove::server {

class LogCopies {
 public:
  static constexpr long kCallsMax = 8;

  // Where the store of the desk is no LogSource, each call is answered 409 `shared_log`.
  explicit LogCopies(listener::Desk& desk);
  ~LogCopies();
  LogCopies(const LogCopies&) = delete;
  LogCopies& operator=(const LogCopies&) = delete;

  // Each answers the call, now or later.
  void page(listener::CallPtr call);
  void snapshot(listener::CallPtr call);
  void blobs(listener::CallPtr call);
  void close_all();  // answers all that wait

 private:
  struct Held;
  using Read = std::function<Result<std::string>(store::LogStore&, store::LogSource&)>;
  bool admits(listener::Call& call) const;
  void hold(listener::CallPtr call, std::int64_t wait_s, Read read);
  void answer(listener::CallPtr call, Read read);
  void let_go(const std::shared_ptr<Held>& held);

  listener::Desk& desk_;
  store::LogSource* const source_;
  const std::shared_ptr<int> calls_ = std::make_shared<int>();  // held by each
  std::set<std::shared_ptr<Held>> held_;
  wire::Timer due_;          // of all that are held
  listener::LogThread log_;  // last: what it was asked for ends first
};

std::span<const listener::RouteOf<LogCopies>> log_routes();

}  // namespace dove::server
