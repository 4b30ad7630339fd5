// dove-contain: the two ends of a task in a container that no OCI runtime has.
//
//     dove-contain enter --log FILE --ids UIDS GIDS --scratch BYTES --lower DIR
//                        [--network FILE] [--publish NODE_PORT]...
//                        [--bind ro|rw|owned ROOT PATH]... -- RUNTIME...
//     dove-contain init PORTS PROGRAM ARGUMENT...
//
// `enter` runs under dove-shim. In a mount namespace of its own it makes the container's root
// directory and what is to be seen in it, then becomes the runtime. All of that vanishes with the
// last process of the namespace, whoever was killed. `init` is process 1 of the container: it
// passes signals on, collects what its program leaves behind and tells the shim how it ended.
#include <unistd.h>

#include <cstring>

#include "programs/dove_contain_enter.h"
#include "programs/dove_contain_init.h"

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "enter") == 0) return dove::contain::enter(argc, argv);
  if (argc > 3 && std::strcmp(argv[1], "init") == 0) {
    return dove::contain::run_init(argv[2], argv + 3);
  }
  constexpr const char kUsage[] = "dove-contain runs a task of dove's agent in a container\n";
  if (::write(2, kUsage, sizeof kUsage - 1) < 0) return 2;
  return 2;
}
