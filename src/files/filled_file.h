// Text files that may not be empty (text_file.h), as those that say whom to trust: an empty one
// would be taken for a missing one.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace dove::files {

// Errors: those of read_text(); kCorrupt file_empty.
Result<std::string> read_filled(const std::string& path, std::size_t bytes_max);

}  // namespace dove::files
