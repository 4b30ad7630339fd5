// A gang's network on this machine: a network namespace that its first container makes and the
// others join. It stays until what is mounted on FILE.ns is unmounted and the last process is gone.
#pragma once

#include <string>

namespace dove::contain {

// Makes or joins the network that the file describes (containers/network.h); the process is in it
// afterwards. "": done; else what could not be done, with errno.
std::string join_network(const std::string& file);

// A socket that listens on the port of all of the machine's addresses; -1 and errno.
int listen_on(int port);

}  // namespace dove::contain
