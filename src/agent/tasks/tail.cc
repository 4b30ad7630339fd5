#include "agent/tasks/tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "files/descriptor.h"

namespace dove::agent {
namespace {

Error failed(const char* doing, const std::string& path) {
  return {ErrorKind::kInternal, "output_file",
          fmt::format("cannot {} the output file {}: {}", doing, path, std::strerror(errno)), path};
}

}  // namespace

FileTail::FileTail(std::string path, std::int64_t offset, std::int64_t owner_uid)
    : path_(std::move(path)), offset_(offset), owner_uid_(owner_uid) {}

FileTail::FileTail(FileTail&& other) noexcept
    : path_(std::move(other.path_)),
      offset_(other.offset_),
      owner_uid_(other.owner_uid_),
      fd_(std::exchange(other.fd_, -1)),
      restarted_(other.restarted_) {}

FileTail::~FileTail() {
  if (fd_ >= 0) ::close(fd_);
}

// False: there is no such file (yet).
Result<bool> FileTail::open() {
  // A user chose the path: a device is not even opened, since that alone can do something to it.
  const files::Descriptor found(::open(path_.c_str(), O_PATH | O_CLOEXEC));
  struct stat facts {};
  if (found.get() < 0 || ::fstat(found.get(), &facts) != 0) {
    if (errno == ENOENT) return false;
    return failed("open", path_);
  }
  if (!S_ISREG(facts.st_mode)) {
    errno = EINVAL;
    return failed("follow", path_);
  }
  if (owner_uid_ >= 0 && static_cast<std::int64_t>(facts.st_uid) != owner_uid_) {
    errno = EACCES;
    return failed("follow", path_);
  }
  // This thread's: it may have descriptors of its own.
  const std::string same = fmt::format("/proc/thread-self/fd/{}", found.get());
  fd_ = ::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) return failed("open", path_);
  if (offset_ < 0) offset_ = std::max<std::int64_t>(0, facts.st_size + offset_);
  return true;
}

// At the end of the open file: whether there is another to go on in.
Result<bool> FileTail::next_file() {
  // The path first: if it is another file by now, the open one has all it will ever have.
  struct stat at_path {};
  struct stat open_now {};
  const bool there = ::stat(path_.c_str(), &at_path) == 0;
  if (::fstat(fd_, &open_now) != 0) return failed("read", path_);
  if (open_now.st_size < offset_) {
    offset_ = 0;
    restarted_ = true;
    return true;
  }
  if (open_now.st_size > offset_) return true;
  if (!there) return false;
  if (at_path.st_ino == open_now.st_ino && at_path.st_dev == open_now.st_dev) return false;
  ::close(std::exchange(fd_, -1));
  offset_ = 0;
  restarted_ = true;
  return open();
}

Result<FileTail::Chunk> FileTail::read(std::size_t most) {
  Chunk chunk;
  if (fd_ < 0) {
    TRY_ASSIGN(const bool opened, open());
    if (!opened) return chunk;
  }
  for (int files = 0; files < 3; ++files) {
    chunk.bytes.resize(most);
    const ssize_t got = ::pread(fd_, chunk.bytes.data(), most, offset_);
    if (got < 0) return failed("read", path_);
    chunk.bytes.resize(static_cast<std::size_t>(got));
    chunk.offset = offset_;
    offset_ += got;
    if (got > 0) {
      chunk.restarted = std::exchange(restarted_, false);
      return chunk;
    }
    TRY_ASSIGN(const bool more, next_file());
    if (!more) return chunk;
  }
  return chunk;
}

}  // namespace dove::agent
