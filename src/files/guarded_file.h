// Files that nobody but root and this user can change, or put another one in the place of: programs
// and libraries that an administrator names and a server runs.
//
// A look at one moment: whoever may change the file meanwhile is one of those two. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::files {

// The path of a regular file without links on the way to it, which others might turn elsewhere; a
// link in its own place is refused. In a folder further up than its own the sticky bit, as that of
// /tmp, is enough. REQUIRES: `path` is absolute. Errors, whose field is the path at fault:
// kNotFound file_unreachable; kInvalid file_unguarded.
Result<std::string> guarded_file(const std::string& path);

}  // namespace dove::files
