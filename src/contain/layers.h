// The layers of a container's root directory: its image below, what it writes above.
//
// Where a container has a name, its root directory is mounted in the agent's own mount namespace,
// for all tasks of its job that name it; else in the container's. REQUIRES of all: root. A
// function that gives text gives "", or what it could not do, with errno.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace dove::contain {

struct RootFrom {
  std::string lower;  // root directory of the image
  std::string uids;   // as containers::id_map_text writes them
  std::string gids;
  std::string scratch_bytes;
  bool lower_is_owned = false;  // the image's files belong to its owner, and mean root's
};

// A user namespace with these maps, for mounts; -1 and errno.
int user_namespace(const std::string& uids, const std::string& gids);
// Mounts what `from` is open on at `target`, which exists; `ids`: a user namespace, or -1.
bool attach(int from, const std::string& target, std::uint64_t restrictions = 0, int ids = -1);
// The first of the container's ids outside: its root's.
std::string outside_root(const std::string& map);
// What belongs to the directory's owner belongs to root inside. -1: to the machine's root.
int ids_of_owner(const struct stat& facts, const std::string& uids, const std::string& gids);

// Mounts them at BASE/root. REQUIRES: `base` is an empty file system.
std::string make_layers(const RootFrom& from, const std::string& base);
// Likewise, unless they are there: of several callers one makes them. Errors: they were made, and
// are gone with a former agent's mount namespace.
std::string keep_root(const RootFrom& from, const std::string& base);
// The end of what keep_root() made.
int drop_root(const std::string& base);

}  // namespace dove::contain
