// Descriptor: an open file that is closed with it. Any thread.
#pragma once

#include <unistd.h>

#include <utility>

namespace dove::files {

class Descriptor {
 public:
  Descriptor() = default;
  // Owns `fd`; a negative one is none.
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
    return *this;
  }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  // Some file systems report a failed write here.
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_ = -1;
};

}  // namespace dove::files
