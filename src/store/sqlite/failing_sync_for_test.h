// A disk that fails to write: syncs of files whose path ends with a text end with an error that the
// test names.
//
// It takes the place of the C library's calls for the whole test program: include only from one
// *_test.cc of a program.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>

namespace dove::store {

struct FailingSync {
  std::mutex mutex;
  std::string path_end;  // "": none fails
  int error = 0;
  int failed = 0;
  int good_first = 0;  // the number of those that succeed before

  static FailingSync& instance() {
    static FailingSync one;
    return one;
  }
  void begin(const std::string& end, int with, int good = 0) {
    const std::lock_guard lock(mutex);
    path_end = end;
    error = with;
    failed = 0;
    good_first = good;
  }
  int end() {
    const std::lock_guard lock(mutex);
    path_end.clear();
    return failed;
  }
  int sync(int fd, long call) {
    char path[4096] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t size = ::readlink(link.c_str(), path, sizeof path - 1);
    {
      const std::lock_guard lock(mutex);
      if (!path_end.empty() && size > 0 && std::string(path).ends_with(path_end) &&
          good_first-- <= 0) {
        ++failed;
        errno = error;
        return -1;
      }
    }
    return static_cast<int>(::syscall(call, fd));
  }
};

}  // namespace dove::store

// Libraries call them, too, so they cannot be inline. NOLINTBEGIN(misc-definitions-in-headers)
extern "C" int fsync(int fd) { return dove::store::FailingSync::instance().sync(fd, SYS_fsync); }
extern "C" int fdatasync(int fd) {
  return dove::store::FailingSync::instance().sync(fd, SYS_fdatasync);
}
// NOLINTEND(misc-definitions-in-headers)
