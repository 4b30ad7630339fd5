// Which system calls a container is refused, as the seccomp section of an OCI config.json.
//
// Refused is what reaches past the container's own processes and files: mounts, namespaces, kernel
// modules, tracing of the kernel, keys, clocks, raw and exotic sockets, I/O rings, and every call
// of another architecture. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace dove::containers {

nlohmann::json system_calls_json();

}  // namespace dove::containers
