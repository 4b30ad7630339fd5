#include "store/sqlite/log_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace dove::store {

LogReserve::LogReserve(LogReserve&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), reserved_to_(other.reserved_to_) {}

LogReserve& LogReserve::operator=(LogReserve&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(reserved_to_, other.reserved_to_);
  return *this;
}

LogReserve::~LogReserve() {
  if (fd_ >= 0) ::close(fd_);
}

void LogReserve::open(const std::string& database_path) {
  // SQLite's locks are on other files, which closing this one does not touch.
  fd_ = ::open((database_path + "-wal").c_str(), O_RDWR | O_CLOEXEC);
  keep();
}

// Half of it may be used up before more is asked for, so few batches ask.
void LogReserve::keep() {
  struct stat facts {};
  if (fd_ < 0 || ::fstat(fd_, &facts) != 0) return;
  const std::int64_t size = facts.st_size;
  // A log that was cut off (journal_size_limit) has lost what was behind its end.
  if (facts.st_blocks * 512 < reserved_to_) reserved_to_ = 0;
  if (reserved_to_ - size >= kBytes / 2) return;
  if (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, size, kBytes) == 0) reserved_to_ = size + kBytes;
}

}  // namespace dove::store
