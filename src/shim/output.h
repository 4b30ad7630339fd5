// RotatedOutput: a pipe the task writes to, and the bounded files its bytes end up in.
//
// Used only when rotation is on; otherwise the task writes its file itself and nothing is copied.
// A file that cannot be written loses bytes and is noted; the task is never held up by it.
#pragma once

#include <cstdint>

#include "shim/config.h"

namespace dove::shim {

class RotatedOutput {
 public:
  // Makes the pipe and opens `path`, which in the output directory waits for the first byte. False
  // and errno if it cannot.
  bool open(const Config& config, const char* path);
  // The task's end; call close_write_end() once the task has it.
  int write_end() const { return write_fd_; }
  void close_write_end();

  // To be polled; -1 when there is nothing (more) to copy.
  int read_end() const { return read_fd_; }
  // Copies what the pipe holds, at most a few buffers of it at a time. True: perhaps there is more.
  bool copy();
  // Copies all that is left.
  void drain();

  bool dropped() const { return dropped_; }

 private:
  bool open_file();
  void put(const char* bytes, std::int64_t count);
  void rotate();

  const Config* config_ = nullptr;
  const char* path_ = nullptr;
  int read_fd_ = -1;
  int write_fd_ = -1;
  int file_fd_ = -1;
  std::int64_t size_ = 0;
  bool dropped_ = false;
};

}  // namespace dove::shim
