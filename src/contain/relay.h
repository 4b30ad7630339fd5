// Relay: connections to ports of the node are passed on to ports inside a container.
//
// A child of process 1, in the container and as its user: what it uses counts as the container's.
// Its listening sockets were made outside. At most kConnections_max at once; others wait in the
// kernel's queue.
#pragma once

#include <sys/types.h>

namespace dove::contain {

// `ports`: "-", or ports with commas, one for each socket from containers::kListenFd on. Its pid;
// 0: there is nothing to relay; -1: errno. The caller's copies of the sockets are closed.
pid_t start_relay(const char* ports);

}  // namespace dove::contain
