// Place: where an office keeps what it must know after a restart: a file, or a store that several
// controllers have in common.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace dove::notices {

// Both block. From the loop's thread before the first notice and after the last, else from one of
// the office's own.
struct Place {
  // Error: kNotFound when nothing was ever kept.
  std::function<Result<std::string>()> read;
  std::function<Result<void>(const std::string&)> write;  // all of it, or nothing
};

Place file_place(const std::string& path);

}  // namespace dove::notices
