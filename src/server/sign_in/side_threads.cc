#include "server/sign_in/side_threads.h"

#include <system_error>

namespace dove::server {
namespace {

constexpr std::size_t kWaitingMax = 256;

}  // namespace

SideThreads::~SideThreads() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<void> SideThreads::queue(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kWaitingMax) {
    return Error{
        ErrorKind::kUnavailable, "sign_in_busy",
        "too many sign-ins are in progress, or the sign-in service is slow; try again in a "
        "minute, or sign in with a token",
        ""};
  }
  waiting_.push_back(std::move(work));
  try {
    if (threads_.size() < most_) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) {
      waiting_.pop_back();
      return Error{ErrorKind::kUnavailable, "sign_in_busy",
                   "the server could not start a thread on its machine; try again in a minute", ""};
    }
  }
  changed_.notify_one();
  return {};
}

void SideThreads::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (over_) return;
    {
      const std::function<void()> work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
    }
    lock.lock();
  }
}

}  // namespace dove::server
