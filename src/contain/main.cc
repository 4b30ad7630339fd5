// dove-contain: the two ends of a task in a container that no OCI runtime has.
//
//     dove-contain enter --log FILE --ids UIDS GIDS --scratch BYTES --lower DIR
//                        [--owned-lower] [--kept DIR] [--network FILE] [--publish NODE_PORT]...
//                        [--bind ro|rw|owned|owned-ro ROOT PATH | --bind huge PAGE BYTES]... --
//                        RUNTIME...
//     dove-contain init PORTS PROGRAM ARGUMENT...
//     dove-contain exec [--terminal] PROGRAM ARGUMENT...
//     dove-contain drop DIR
//     dove-contain unsquash WHO PATH LINK
//     dove-contain save WHO ROOT PATH PART
//     dove-contain try-egress NFT RULES
//     dove-contain end-egress NFT TABLE DEVICE RULES
//
// `enter` runs under dove-shim. In a mount namespace of its own it makes the container's root
// directory and what is to be seen in it, then becomes the runtime. All of that vanishes with the
// last process of the namespace, whoever was killed. `init` is process 1 of the container: it
// passes signals on, collects what its program leaves behind and tells the shim how it ended.
// `exec` does the same for a program that somebody runs beside it.
// `drop` ends a root directory that was kept; `unsquash` and `save` read and write squash files
// (contain/squash.h). The others are for the agent: what the kernel offers networks of gangs, and
// the end of the machine's part in them (contain/egress.h). An agent that was started before an
// upgrade still calls them try-ways and end-ways.
#include <unistd.h>

#include <cstring>

#include "contain/egress.h"
#include "contain/enter.h"
#include "contain/exec.h"
#include "contain/init.h"
#include "contain/layers.h"
#include "contain/squash.h"
#include "containers/place.h"

namespace {

bool is_one_of(const char* word, const char* name, const char* old_name) {
  return std::strcmp(word, name) == 0 || std::strcmp(word, old_name) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "enter") == 0) return dove::contain::enter(argc, argv);
  if (argc > 3 && std::strcmp(argv[1], "init") == 0) {
    return dove::contain::run_init(argv[2], argv + 3);
  }
  if (argc > 2 && std::strcmp(argv[1], "exec") == 0) {
    const bool terminal = std::strcmp(argv[2], dove::containers::kTerminalWord) == 0;
    if (argc > (terminal ? 3 : 2)) {
      return dove::contain::run_exec(argv + (terminal ? 3 : 2), terminal);
    }
  }
  if (argc == 3 && std::strcmp(argv[1], "drop") == 0) return dove::contain::drop_root(argv[2]);
  if (argc == 5 && std::strcmp(argv[1], "unsquash") == 0) return dove::contain::unsquash(argv + 2);
  if (argc == 6 && std::strcmp(argv[1], "save") == 0) return dove::contain::save(argv + 2);
  if (argc == 4 && is_one_of(argv[1], "try-egress", "try-ways")) {
    return dove::contain::try_egress(argv + 2);
  }
  if (argc == 6 && is_one_of(argv[1], "end-egress", "end-ways")) {
    return dove::contain::end_egress(argv + 2);
  }
  constexpr const char kUsage[] = "dove-contain runs a task of dove's agent in a container\n";
  if (::write(2, kUsage, sizeof kUsage - 1) < 0) return 2;
  return 2;
}
