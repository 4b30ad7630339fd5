#include "listener/log_thread.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace dove::listener {

class LogThread::Thread {
 public:
  Thread(wire::Loop& loop, store::LogStore& log)
      : loop_(loop), log_(log), thread_([this] { run(); }) {}
  ~Thread() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void ask(std::function<void(store::LogStore&)> work, std::function<void()> done) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({std::move(work), std::move(done)});
    }
    wake_.notify_one();
  }

 private:
  struct Asked {
    std::function<void(store::LogStore&)> work;
    std::function<void()> done;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      if (over_) return;
      Asked asked = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      asked.work(log_);
      asked.work = nullptr;  // what it holds goes here, what `done` holds on the loop
      loop_.post([alive = std::weak_ptr<int>(alive_), done = std::move(asked.done)] {
        if (!alive.expired()) done();
      });
      lock.lock();
    }
  }

  wire::Loop& loop_;
  store::LogStore& log_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Asked> waiting_;
  bool over_ = false;
  std::thread thread_;
};

LogThread::LogThread(wire::Loop& loop, store::LogStore& log, bool aside)
    : loop_(loop), log_(log), aside_(aside) {}

LogThread::~LogThread() = default;

void LogThread::ask(std::function<void(store::LogStore&)> work, std::function<void()> done) {
  if (!aside_) {
    work(log_);
    return done();
  }
  if (thread_ == nullptr) thread_ = std::make_unique<Thread>(loop_, log_);
  thread_->ask(std::move(work), std::move(done));
}

}  // namespace dove::listener
