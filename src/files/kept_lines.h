// Lines of a small text file of which each says by itself whether it is whole: a bit that flipped
// on a disk is no other device's name.
//
// Blocks for as long as the disk does: not for paths that users choose. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dove::files {

struct KeptLines {
  std::vector<std::string> whole;
  std::size_t damaged = 0;  // left out
};

// The line with its digest before it and its end behind. REQUIRES: there is no end of a line in it.
std::string kept_line(std::string_view line);

// None where the file is missing, unreadable or larger than that. A file without any digest is of a
// former version, and its lines are taken as they are.
KeptLines read_kept_lines(const std::string& path, std::size_t bytes_max);

}  // namespace dove::files
