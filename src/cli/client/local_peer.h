// LocalPeer: the owner of the process at the other end of a connection over loopback.
//
// A port of loopback is open to every user of the machine. A program that listens for one user
// alone asks the kernel: by sock_diag(7), or by /proc/net/tcp where the kernel does not answer
// that.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace dove::cli {

// Whose socket it is that has these ends ("0100007F:1F90"), in the text of /proc/net/tcp or tcp6.
// Nothing: there is none, or nobody holds it any more.
std::optional<uid_t> find_owner(std::string_view table, const std::string& local,
                                const std::string& remote);

// Whose socket the accepted connection comes from. Nothing: it is not over loopback, or nobody
// knows.
std::optional<uid_t> owner_of_peer(int fd);

}  // namespace dove::cli
