// Config: what dove-shim was told, as pointers into the one block of memory it read.
//
// The shim uses neither exceptions nor the standard library's containers: it must start in
// microseconds. Lives as long as the process.
#pragma once

#include <cstdint>

namespace dove::shim {

template <class T>
struct Array {
  T* items = nullptr;
  int count = 0;
  T* begin() const { return items; }
  T* end() const { return items + count; }
};

struct Rlimit {
  int resource;
  std::int64_t soft;
  std::int64_t hard;
};

struct Config {
  Array<char*> argv;  // items[count] is nullptr, as execve wants it
  Array<char*> environment;
  const char* secrets = nullptr;  // file of more of the environment; nullptr: none
  const char* cwd = "/";
  bool change_user = false;
  unsigned uid = 0;
  unsigned gid = 0;
  Array<unsigned> groups;
  unsigned umask = 022;
  const char* terminal = nullptr;    // in place of the three files
  const char* stdin_path = nullptr;  // nullptr: /dev/null
  bool holds_input = false;          // it is a FIFO to be kept open for writing
  const char* stdout_path = nullptr;
  const char* stderr_path = nullptr;
  const char* output_dir = nullptr;  // made when a file in it is
  bool append = false;
  std::int64_t rotate_bytes = 0;
  int rotate_keep = 0;
  Array<int> cpus;
  Array<Rlimit> rlimits;
  std::int64_t kill_grace_us = 0;
  const char* lease = nullptr;
  std::int64_t lease_allowance_us = 0;
  std::int64_t fence_grace_us = 0;
  Array<const char*> cgroup_procs;
  const char* cgroup_kill = nullptr;
  const char* cgroup_oom = nullptr;
  const char* pid_file = nullptr;  // the task runs in a container
  const char* program = "";        // its program
  bool joins = false;              // of another task
  bool hold = false;
  std::int64_t report_at = -1;  // where in the file the report goes
};

// Reads the configuration from the task's file. False: it is not whole, or not one.
bool read_config(int fd, Config& config);

// Adds what the file of secrets says to the environment, in place of what has its names. False:
// errno says why it cannot be read.
bool take_secrets(Config& config);

}  // namespace dove::shim
