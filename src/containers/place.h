// Where dove-contain puts a container together, in a mount namespace of the container's own: one
// path for all, as the runtime needs one that every user may look into. Also the descriptors that
// process 1 is born with.
#pragma once

#include <cstdint>

namespace dove::containers {

inline constexpr const char kPlace[] = "/run/dove";          // on the machine: a directory
inline constexpr const char kRoot[] = "/run/dove/root";      // on the machine: empty, if anything
inline constexpr const char kSys[] = "/run/dove/sys";        // to become /sys
inline constexpr const char kInit[] = "/dev/.dove-contain";  // inside: dove-contain itself
inline constexpr const char kSftp[] =
    "/dev/.dove-sftp";  // inside: dove-sftp, for the word kSftpWord
inline constexpr const char kSftpWord[] = "dove-sftp";
inline constexpr const char kAuthority[] = "/dev/.dove-ca.pem";  // inside: DOVE_CA_FILE
inline constexpr const char kPython[] = "/dev/.dove-python";  // inside: the package `dove` is in it
inline constexpr const char kShares[] = "/dev/.dove-share.so";  // inside: libdove-share.so
// Inside: NAME=VALUE, each with a NUL behind it, for the environment of what is started there.
inline constexpr const char kSecrets[] = "/dev/.dove-secrets";
inline constexpr int kInitWords = 3;  // before the program: it, "init", and ports or "-"
inline constexpr const char kTerminalWord[] = "--terminal";  // behind "exec": descriptor 0 is one

// What `try-egress` finds, as a sum: its exit status.
inline constexpr int kEgress = 1;
inline constexpr int kVxlans = 2;

// What `init` and `exec` write, whole, to descriptor 3.
inline constexpr int kTellFd = 3;
// From here on it finds sockets that listen on ports of the node.
inline constexpr int kListenFd = 4;
enum TellKind : std::int32_t {
  kTellRunning = 1,  // the program is executed
  kTellFailed = 2,   // it cannot be: value is errno
  kTellEnded = 3,    // value is its wait status
};
struct Tell {
  std::int32_t kind = 0;
  std::int32_t value = 0;
};

}  // namespace dove::containers
