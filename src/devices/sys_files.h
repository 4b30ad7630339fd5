// Files of /sys: small, of one line, and gone at any moment with what they are about.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dove::devices {

// "" when there is no such file.
std::string first_line(const std::filesystem::path& path);
// None when the file does not begin with a whole number.
std::optional<std::int64_t> first_number(const std::filesystem::path& path);
// Ascending, a thousand at most; none of a directory that cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& directory);

}  // namespace dove::devices
