#include "agent/attempts/finished.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr int kEntriesPerTurn = 200;
constexpr std::chrono::seconds kWatchEvery{5};
constexpr std::int64_t kReserve = std::int64_t{96} << 20;

}  // namespace

// Goes through one tree below an open directory, by descriptors, so that nobody can lead it astray
// by a link; measures it, or removes it.
class FinishedAttempts::TreeWalk {
 public:
  TreeWalk(int parent_fd, const std::string& name, bool removes) : removes_(removes), name_(name) {
    enter(parent_fd, name);
  }
  ~TreeWalk() {
    while (!open_.empty()) leave();
  }

  // Whether all is done; else call again.
  bool step(int entries) {
    while (!open_.empty() && entries-- > 0) {
      Level& level = open_.back();
      errno = 0;
      const dirent* entry = ::readdir(level.stream);
      if (entry == nullptr) {
        leave();
        continue;
      }
      const std::string name = entry->d_name;
      if (name != "." && name != "..") visit(::dirfd(level.stream), name);
    }
    return open_.empty();
  }
  std::int64_t bytes() const { return bytes_; }
  bool removes() const { return removes_; }
  const std::string& name() const { return name_; }

 private:
  struct Level {
    DIR* stream;
    int parent_fd;
    std::string name;
  };

  void enter(int parent_fd, std::string name) {
    const int fd = ::openat(parent_fd, name.c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
      if (fd >= 0) ::close(fd);
      if (removes_) ::unlinkat(parent_fd, name.c_str(), 0);
      return;
    }
    open_.push_back(Level{stream, parent_fd, std::move(name)});
  }
  void leave() {
    const Level level = std::move(open_.back());
    open_.pop_back();
    ::closedir(level.stream);
    if (removes_) ::unlinkat(level.parent_fd, level.name.c_str(), AT_REMOVEDIR);
  }
  void visit(int fd, const std::string& name) {
    struct stat facts {};
    if (::fstatat(fd, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return;
    bytes_ += static_cast<std::int64_t>(facts.st_blocks) * 512;
    if (S_ISDIR(facts.st_mode)) {
      enter(fd, name);
    } else if (removes_) {
      ::unlinkat(fd, name.c_str(), 0);
    }
  }

  const bool removes_;
  const std::string name_;
  std::int64_t bytes_ = 0;
  std::vector<Level> open_;
};

FinishedAttempts::FinishedAttempts(wire::Loop& loop, std::string directory, FinishedLimits limits)
    : loop_(loop), directory_(std::move(directory)), limits_(limits) {}

FinishedAttempts::~FinishedAttempts() {
  walk_.reset();
  if (directory_fd_ >= 0) ::close(directory_fd_);
}

void FinishedAttempts::start() {
  bytes_allowed_ = limits_.bytes_max;
  timer_ = loop_.after(std::chrono::microseconds(0), [this] { look(); });
  if (limits_.free_least > 0) watch_timer_ = loop_.after(kWatchEvery, [this] { watch(); });
}

// Between two looks others may fill the disk.
void FinishedAttempts::watch() {
  watch_timer_ = loop_.after(kWatchEvery, [this] { watch(); });
  if (!looking() && missing_bytes() > 0) look();
}

std::int64_t FinishedAttempts::missing_bytes() const {
  if (limits_.free_least == 0) return 0;
  const int fd = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct statvfs disk {};
  std::int64_t free_bytes = limits_.free_least;
  std::int64_t least = limits_.free_least;
  if (limits_.free_bytes) {
    free_bytes = limits_.free_bytes(fd);
  } else if (::fstatvfs(fd, &disk) == 0) {
    const auto block = static_cast<std::int64_t>(disk.f_frsize);
    free_bytes = static_cast<std::int64_t>(disk.f_bavail) * block;
    // A tenth of a small disk will do, but it is more than what closes the node (health.cc).
    const std::int64_t tenth = static_cast<std::int64_t>(disk.f_blocks) * block / 10;
    least = std::max(std::min(least, tenth), kReserve);
  }
  ::close(fd);
  return std::max<std::int64_t>(least - free_bytes, 0);
}

void FinishedAttempts::look() {
  timer_ = loop_.after(std::chrono::seconds(limits_.look_every_s), [this] { look(); });
  directory_fd_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = directory_fd_ < 0 ? nullptr : ::opendir(directory_.c_str());
  if (stream == nullptr) {
    telemetry::log(telemetry::Level::kWarning, "finished_unreadable",
                   {{"directory", directory_}, {"why", std::strerror(errno)}});
    if (directory_fd_ >= 0) ::close(std::exchange(directory_fd_, -1));
    return;
  }
  while (const dirent* entry = ::readdir(stream)) {
    struct stat facts {};
    if (entry->d_name[0] == '.') continue;
    if (::fstatat(directory_fd_, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    entries_.push_back(Entry{entry->d_name, facts.st_mtim.tv_sec});
  }
  ::closedir(stream);
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return a.changed_at_s != b.changed_at_s ? a.changed_at_s > b.changed_at_s : a.name > b.name;
  });
  oldest_kept_s_ = telemetry::now_us() / 1'000'000 - limits_.age_max_s;
  kept_bytes_ = 0;
  no_room_ = false;
  step();
}

void FinishedAttempts::step() {
  if (walk_ != nullptr && walk_->step(kEntriesPerTurn)) walked();
  if (walk_ == nullptr && !entries_.empty()) {
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    // What is older than the first that has no room has none either.
    const bool goes = entry.changed_at_s < oldest_kept_s_ || no_room_;
    walk_ = std::make_unique<TreeWalk>(directory_fd_, entry.name, goes);
  }
  if (walk_ != nullptr) {
    timer_ = loop_.after(std::chrono::microseconds(0), [this] { step(); });
    return;
  }
  ::close(std::exchange(directory_fd_, -1));
  // What there is was measured now, and that much less may stay.
  const std::int64_t missing = missing_bytes();
  bytes_allowed_ =
      missing > 0 ? std::max<std::int64_t>(kept_bytes_ - missing, 0) : limits_.bytes_max;
  const bool again = missing > 0 && kept_bytes_ > 0;
  timer_ = loop_.after(std::chrono::seconds(again ? 0 : limits_.look_every_s), [this] { look(); });
}

void FinishedAttempts::walked() {
  const std::unique_ptr<TreeWalk> walk = std::move(walk_);
  if (walk->removes()) {
    ++removed_;
    return;
  }
  no_room_ = kept_bytes_ + walk->bytes() > bytes_allowed_;
  if (!no_room_) {
    kept_bytes_ += walk->bytes();
  } else {
    walk_ = std::make_unique<TreeWalk>(directory_fd_, walk->name(), /*removes=*/true);
  }
}

}  // namespace dove::agent
