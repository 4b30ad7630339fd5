// Directories that belong to this program alone.
//
// Blocks for as long as the disk does: not for paths that users choose. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::files {

// Makes it, with all on the way to it, for this user alone (mode 0700); one that is there is closed
// to others. Error kInvalid own_directory when it is somebody else's, or when others may write in
// it, as in /tmp: such a directory stays as it is. Error::field is the path.
Result<void> make_own_directory(const std::string& path);

}  // namespace dove::files
