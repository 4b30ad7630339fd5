// Whose files are: root's commands work on directories of programs that run as other users.
//
// Blocks for as long as the disk does. Any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace dove::files {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
};

// None where nothing is there, or it cannot be seen.
std::optional<Owner> owner_of(const std::string& path);
// The same of the directory that the path is in.
std::optional<Owner> owner_beside(const std::string& path);
// Root gives the directory, and what is in it, to that user, as far as it is root's own. Nothing is
// done where another user calls. Error kInternal file_unwritable.
Result<void> give_tree(const std::string& directory, const Owner& owner);

}  // namespace dove::files
