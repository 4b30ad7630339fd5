#include "shim/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shim/launch.h"
#include "shim/text.h"

namespace dove::shim {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr int kBuffersAtATime = 4;
constexpr int kMostBuffersLeft = 1024;  // a pipe holds at most 1 MiB for others than root

char buffer[kBufferBytes];

// "path.N", or the path itself for 0. False: too long.
bool numbered(const char* path, int number, char (&name)[4200]) {
  const std::size_t length = std::strlen(path);
  if (length > 4100) return false;
  std::memcpy(name, path, length + 1);
  if (number == 0) return true;
  char digits[12];
  int count = 0;
  for (int rest = number; rest > 0; rest /= 10)
    digits[count++] = static_cast<char>('0' + rest % 10);
  char* at = name + length;
  *at++ = '.';
  while (count > 0) *at++ = digits[--count];
  *at = '\0';
  return true;
}

}  // namespace

bool RotatedOutput::open(const Config& config, const char* path) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_fd_ = ends[0];
  write_fd_ = ends[1];
  ::fcntl(read_fd_, F_SETFL, O_NONBLOCK);
  config_ = &config;
  path_ = path;
  return in_output_dir(config, path) || open_file();
}

bool RotatedOutput::open_file() {
  file_fd_ = open_output(*config_, path_, !config_->append);
  if (file_fd_ < 0) return false;
  struct stat facts;
  if (::fstat(file_fd_, &facts) == 0) size_ = facts.st_size;
  return true;
}

void RotatedOutput::close_write_end() {
  if (write_fd_ >= 0) ::close(write_fd_);
  write_fd_ = -1;
}

bool RotatedOutput::copy() {
  for (int i = 0; i < kBuffersAtATime; ++i) {
    const ssize_t got = ::read(read_fd_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      ::close(read_fd_);
      read_fd_ = -1;
      return false;
    }
    put(buffer, got);
  }
  return true;
}

void RotatedOutput::drain() {
  for (int i = 0; read_fd_ >= 0 && i < kMostBuffersLeft; ++i) {
    if (!copy()) return;
  }
}

void RotatedOutput::put(const char* bytes, std::int64_t count) {
  if (file_fd_ < 0 && !open_file()) {
    dropped_ = true;
    return;
  }
  while (count > 0) {
    const std::int64_t room = config_->rotate_bytes - size_;
    std::int64_t now = count;
    if (count > room) {
      // Between lines where that is possible.
      now = room > 0 ? room : 0;
      const char* const line = last_in(bytes, static_cast<std::size_t>(now), '\n');
      if (line != nullptr) now = line - bytes + 1;
      if (line == nullptr && size_ > 0 && count <= config_->rotate_bytes) now = 0;
    }
    if (now > 0) {
      const ssize_t written = ::write(file_fd_, bytes, static_cast<std::size_t>(now));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        dropped_ = true;
        return;
      }
      size_ += written;
      bytes += written;
      count -= written;
      if (written < now) continue;
    }
    if (count > 0) rotate();
  }
}

void RotatedOutput::rotate() {
  char from[4200];
  char to[4200];
  bool moved = false;
  {
    const AsTaskUser as_user(*config_);
    for (int number = config_->rotate_keep - 1; number >= 0; --number) {
      if (!numbered(path_, number, from) || !numbered(path_, number + 1, to)) break;
      moved = ::rename(from, to) == 0;
    }
  }
  const int fresh = open_output(*config_, path_, true);
  if (fresh >= 0) {
    ::close(file_fd_);
    file_fd_ = fresh;
  } else if (!moved || ::ftruncate(file_fd_, 0) != 0) {
    dropped_ = true;
  }
  size_ = 0;
}

}  // namespace dove::shim
