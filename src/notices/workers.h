// Workers: threads for what blocks: a relay, a webhook, a disk. Work is begun in the order in which
// it is queued, as soon as a thread is free. Any thread may queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dove::notices {

class Workers {
 public:
  explicit Workers(std::size_t threads) : most_(threads) {}
  // Work that is begun is ended, the rest is forgotten.
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False: this machine lets us start no thread, and the work is not done.
  bool queue(std::function<void()> work);
  void stop();

 private:
  void serve();

  const std::size_t most_;
  std::mutex mutex_;  // of what follows but the threads
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dove::notices
