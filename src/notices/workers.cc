#include "notices/workers.h"

#include <system_error>
#include <utility>

namespace dove::notices {

bool Workers::queue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  waiting_.push_back(std::move(work));
  try {
    if (threads_.size() < most_) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) {
      waiting_.pop_back();
      return false;
    }
  }
  changed_.notify_one();
  return true;
}

void Workers::stop() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (over_) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace dove::notices
