// A further process of a container, for `dove exec`: a program beside what process 1 runs.
//
// Signals go to the program's process group. What it leaves behind comes to this process, and is
// ended with it: SIGTERM, and SIGKILL a second later.
#pragma once

namespace dove::contain {

// Runs argv[0], looked up in PATH; returns what the process should exit with.
int run_exec(char** argv, bool terminal);

}  // namespace dove::contain
