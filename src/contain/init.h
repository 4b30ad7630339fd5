// Init: process 1 of a container.
//
// SIGTERM goes to every process of the container, any other signal to the program's process group.
// When the program has ended, what it left behind gets SIGTERM, and SIGKILL a second later.
#pragma once

namespace dove::contain {

// Runs argv[0], looked up in PATH; returns what the process should exit with. `ports` is "-", or
// ports with commas: connections that the sockets from kListenFd on accept are passed on to them.
int run_init(const char* ports, char** argv);

}  // namespace dove::contain
