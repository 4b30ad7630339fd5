// SideThreads: where the server waits for others without its loop: for sign-in services, PAM, the
// site's hook, and hashes of passwords. Each has threads of its own, so that one that hangs blocks
// only itself.
//
// Made and called on the loop thread. Its destructor waits for work in progress, which is bounded
// in time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "wire/loop.h"

namespace dove::server {

class SideThreads {
 public:
  SideThreads(wire::Loop& loop, std::size_t threads) : loop_(loop), most_(threads) {}
  ~SideThreads();
  SideThreads(const SideThreads&) = delete;
  SideThreads& operator=(const SideThreads&) = delete;

  // Does `work` in one of its threads, then `done` with its result on the loop. Error: kUnavailable
  // sign_in_busy, when very many wait; neither is done.
  template <class Work, class Done>
  Result<void> call(Work work, Done done) {
    // `done` moves on: what it holds is the loop's, and must not end in the other thread.
    return queue([&loop = loop_, work = std::move(work),
                  done = std::make_shared<Done>(std::move(done))]() mutable {
      auto result = work();
      loop.post([done = std::move(done), result = std::move(result)]() mutable {
        (*done)(std::move(result));
      });
    });
  }

 private:
  Result<void> queue(std::function<void()> work);
  void serve();

  wire::Loop& loop_;
  const std::size_t most_;
  std::mutex mutex_;  // of what follows but the threads
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dove::server
