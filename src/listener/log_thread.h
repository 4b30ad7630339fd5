// LogThread: what is asked of a log's store that may take long, across a network or from a slow
// disk, beside the loop.
//
// Works run in order, on one thread, which the first one begins. Loop thread only.
#pragma once

#include <functional>
#include <memory>

#include "store/log_store.h"
#include "wire/loop.h"

namespace dove::listener {

class LogThread {
 public:
  // `aside` false: works run within ask(). Both outlive it.
  LogThread(wire::Loop& loop, store::LogStore& log, bool aside);
  // Waits for the work that runs, and for no other; calls no `done` any more.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  // Calls `work`, which shares nothing with the loop until then, and after it `done` on the loop.
  void ask(std::function<void(store::LogStore&)> work, std::function<void()> done);

 private:
  class Thread;

  wire::Loop& loop_;
  store::LogStore& log_;
  const bool aside_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace dove::listener
