#include "agent/aside/side_threads.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::chrono::seconds kIdle{10};

// As mountinfo writes a blank: "\040".
std::string plain(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

struct SideThreads::Pool : std::enable_shared_from_this<Pool> {
  struct Job {
    std::function<void()> work;
    std::uint64_t done = 0;  // its key in `dones`; 0: nobody is told
  };
  struct Lane {
    std::deque<Job> jobs;
    bool taken = false;  // by a thread
  };

  std::mutex mutex;
  std::condition_variable more;
  std::condition_variable too_few;
  std::map<std::string, Lane> lanes;
  std::deque<std::string> ready;  // lanes with a job that no thread has taken
  // They hold what is the loop's, such as timers. No thread calls or drops one, as the loop may be
  // gone before the threads are.
  std::map<std::uint64_t, std::function<void()>> dones;
  std::uint64_t last_done = 0;
  std::deque<std::uint64_t> finished;  // keys of `dones`
  std::size_t threads = 0;
  std::size_t wanted = 0;  // of them not begun yet
  std::size_t idle = 0;
  std::size_t threads_max = 0;
  int wake = -1;  // an eventfd: readable when something is finished
  bool has_first = false;
  bool open = true;  // false: the holder is gone

  void add(const std::string& name, std::function<void()> work, std::function<void()> done) {
    const std::lock_guard<std::mutex> lock(mutex);
    Job job{std::move(work)};
    if (done) {
      job.done = ++last_done;
      dones.emplace(job.done, std::move(done));
    }
    Lane& lane = lanes[name];
    lane.jobs.push_back(std::move(job));
    if (lane.taken || lane.jobs.size() > 1) return;
    ready.push_back(name);
    if (idle >= ready.size() || threads >= threads_max) return more.notify_one();
    ++threads;
    ++wanted;
    if (!has_first) has_first = begin_thread(&Pool::begin_others);
    too_few.notify_one();
  }

  bool begin_thread(void (Pool::*run)()) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the loop's
    bool began = true;
    try {
      std::thread([self = shared_from_this(), run] { (self.get()->*run)(); }).detach();
    } catch (const std::system_error& e) {
      telemetry::log(telemetry::Level::kError, "no_side_thread", {{"why", e.what()}});
      began = false;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return began;
  }

  // The first thread does no work: it leaves the loop's table of descriptors and begins the
  // others, as a thread shares the table of the one that began it. In the end it drops the works
  // that have not begun: a file that one holds is open in this table, not in the loop's.
  void begin_others() {
    leave_table();
    std::unique_lock<std::mutex> lock(mutex);
    while (open) {
      too_few.wait(lock, [this] { return wanted > 0 || !open; });
      if (!open) break;
      --wanted;
      if (!begin_thread(&Pool::serve)) --threads;
    }
    std::map<std::string, Lane> dropped;
    dropped.swap(lanes);
    lock.unlock();
  }

  // Keeps the standard streams and `wake`. On Linux before 5.9 the table stays shared, and so it
  // does under TSan, which knows one table a process: it would take one number in two tables for
  // one file.
  void leave_table() const {
#if !defined(__SANITIZE_THREAD__)
    const auto own = static_cast<unsigned>(wake);
    if (::close_range(own + 1, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) {
      telemetry::log(telemetry::Level::kWarning, "side_threads_share_files",
                     {{"why", std::strerror(errno)}});
      return;
    }
    if (own > 3) ::close_range(3, own - 1, 0);
#endif
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex);
    while (open) {
      ++idle;
      const bool found = more.wait_for(lock, kIdle, [this] { return !ready.empty() || !open; });
      --idle;
      if (!found || !open) break;
      const std::string name = std::move(ready.front());
      ready.pop_front();
      Lane& lane = lanes[name];
      lane.taken = true;
      Job job = std::move(lane.jobs.front());
      lane.jobs.pop_front();
      lock.unlock();
      job.work();
      job.work = nullptr;
      lock.lock();
      if (!open) break;  // the lane may be gone
      if (job.done != 0) tell(job.done);
      lane.taken = false;
      if (lane.jobs.empty()) {
        lanes.erase(name);
      } else {
        ready.push_back(name);
      }
    }
    --threads;
  }

  void tell(std::uint64_t done) {
    finished.push_back(done);
    const std::uint64_t one = 1;
    // It fails only where the counter is full, and then the loop has not looked yet.
    [[maybe_unused]] const ssize_t told = ::write(wake, &one, sizeof one);
  }
};

SideThreads::SideThreads(wire::Loop& loop, std::size_t threads_max) : loop_(loop) {
  if (loop.world() != nullptr) return;
  const int wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  pool_ = std::make_shared<Pool>();
  pool_->threads_max = threads_max;
  pool_->wake = wake;
  finished_ = loop.watch_readable(wake, [this] { tell_finished(); });
}

SideThreads::~SideThreads() {
  if (pool_ == nullptr) return;
  finished_.cancel();
  std::map<std::uint64_t, std::function<void()>> untold;  // gone here, without the lock
  const std::lock_guard<std::mutex> lock(pool_->mutex);
  untold.swap(pool_->dones);
  pool_->open = false;
  pool_->more.notify_all();
  pool_->too_few.notify_all();
  ::close(pool_->wake);
}

void SideThreads::tell_finished() {
  const std::shared_ptr<Pool> pool = pool_;  // a callback may end this object
  std::uint64_t times = 0;
  [[maybe_unused]] const ssize_t taken = ::read(pool->wake, &times, sizeof times);
  std::vector<std::function<void()>> now;
  {
    const std::lock_guard<std::mutex> lock(pool->mutex);
    for (const std::uint64_t key : pool->finished) {
      now.push_back(std::move(pool->dones.extract(key).mapped()));
    }
    pool->finished.clear();
  }
  for (const std::function<void()>& done : now) {
    done();
    if (!pool->open) return;
  }
}

void SideThreads::run(const std::string& lane, std::function<void()> work,
                      std::function<void()> done) {
  if (pool_ != nullptr) return pool_->add(lane, std::move(work), std::move(done));
  work();
  if (done) done();
}

void SideThreads::run(const std::string& lane, std::chrono::milliseconds limit,
                      std::function<void()> work, std::function<void(bool in_time)> done) {
  struct Waiting {
    std::function<void(bool)> done;
    wire::Timer timer;
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->done = std::move(done);
  const auto tell = [](const std::shared_ptr<Waiting>& of, bool in_time) {
    const auto call = std::exchange(of->done, nullptr);
    of->timer.cancel();
    if (call) call(in_time);
  };
  if (pool_ != nullptr) {
    waiting->timer = loop_.after(limit, [weak = std::weak_ptr<Waiting>(waiting), tell] {
      if (const auto held = weak.lock()) tell(held, false);
    });
  }
  run(lane, std::move(work), [waiting, tell] { tell(waiting, true); });
}

bool SideThreads::wait(const std::string& lane, std::chrono::milliseconds limit,
                       std::function<void()> work) {
  const auto told = std::make_shared<std::promise<void>>();
  const std::future<void> over = told->get_future();
  run(
      lane,
      [work = std::move(work), told] {
        work();
        told->set_value();
      },
      nullptr);
  return over.wait_for(limit) == std::future_status::ready;
}

std::string mount_of(const std::string& path) {
  const std::string wanted = std::filesystem::path(path).lexically_normal().string();
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  std::string best = "/";
  while (std::getline(mounts, line)) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    const std::string mount = plain(word);
    const bool lies_in = wanted == mount || wanted.starts_with(mount + "/");
    if (lies_in && mount.size() > best.size()) best = mount;
  }
  return best;
}

}  // namespace dove::agent
