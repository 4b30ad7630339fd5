// The processes of a task: all that descend from the shim, which adopts the orphans among them.
#pragma once

#include <sys/types.h>

namespace dove::shim {

// Sends `signal` to every process below the shim that is not a zombie, except those of process
// group `except_group` (0: none). Returns to how many, or -1 if /proc cannot be read.
int signal_descendants(int signal, pid_t except_group);

// Makes the kernel end the whole cgroup; `path` is its cgroup.kill, nullptr does nothing.
void kill_cgroup(const char* path);

// Whether `path` (nullptr: false) has a line `oom_kill N` with N > 0.
bool counted_oom_kill(const char* path);

}  // namespace dove::shim
