// The id of this machine. It distinguishes two machines with copies of one disk, or of one agent's
// directory.
#pragma once

#include <string>

namespace dove::agent {

// 32 hexadecimal digits: a digest of what the hardware (or the hypervisor) says of itself, or of
// /etc/machine-id where it says nothing. "" when neither can be read. DOVE_MACHINE_ID of the
// environment is taken in its place: emulated nodes share a machine. `root`: for tests.
std::string machine_id(const std::string& root = "");

}  // namespace dove::agent
