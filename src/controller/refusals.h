// What those are told whose input is not taken. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dove::controller {

Error stopping_error();
Error busy_error();
// What the disk must have free, and what it has.
Error disk_full_error(std::int64_t floor_bytes, std::int64_t free_bytes);
// For a disk that cannot be looked at. It names no machine: /readyz shows it to anybody.
Error database_full_error();
std::string megabytes(std::int64_t bytes);  // "64 MB"
// To those whose batch was not written, or may not have been, by the error of that.
Error refusal_of(const Error& error);

}  // namespace dove::controller
