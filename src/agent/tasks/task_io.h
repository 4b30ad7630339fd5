// TaskIo: where a task reads and writes. It is part of both the task's plan and its shim's
// configuration.
//
// Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace dove::agent {

struct TaskIo {
  // Not "": stdin, stdout and stderr are this terminal, which controls the task.
  std::string terminal;
  // Absolute; "" is /dev/null. Parents exist, but for output_dir. Files are opened with the rights
  // of the task's user. Equal stdout and stderr share one open file.
  std::string stdin_path;
  std::string stdout_path;
  std::string stderr_path;
  // stdin_path is a FIFO that the shim keeps open for writing until end_input() (RunningTask,
  // ShimHandle), so that the task does not take the end of another writer for the end of its input.
  bool holds_input = false;
  // Made for the task's user, within a directory that no task can write to, as soon as a file in it
  // is opened: at the start, or if rotated at the first byte. "": none.
  std::string output_dir;
  bool append = false;            // else truncated at start
  std::int64_t rotate_bytes = 0;  // > 0: at most this per file, older ones as .1 … .rotate_keep
};

}  // namespace dove::agent
