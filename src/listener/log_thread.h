// LogThread: what is asked of a log's store that is across a network, beside the loop.
//
// Works run in order, on one thread, and may take as long as the store's deadline. Loop thread
// only.
#pragma once

#include <functional>
#include <memory>

#include "store/log_store.h"
#include "wire/loop.h"

namespace dove::listener {

class LogThread {
 public:
  // `aside` false: the store is on this machine, and works run within ask(). Both outlive it.
  LogThread(wire::Loop& loop, store::LogStore& log, bool aside);
  // Waits for the work that runs, and for no other; calls no `done` any more.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  // Calls `work`, which shares nothing with the loop until then, and after it `done` on the loop.
  void ask(std::function<void(store::LogStore&)> work, std::function<void()> done);

 private:
  class Thread;

  store::LogStore& log_;
  std::unique_ptr<Thread> thread_;  // none: works run at once
};

}  // namespace dove::listener
