// Reaping: what becomes of children that were killed and may be stuck in the kernel (a file system
// that hangs). Nobody waits for them. Any thread.
#pragma once

#include <sys/types.h>

namespace dove::containers {

// Whether the child, killed before, is gone by now; if not, a later call here reaps it.
bool reap_or_leave(pid_t child);

}  // namespace dove::containers
