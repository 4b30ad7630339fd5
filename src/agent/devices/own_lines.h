// Lines that the agent kept on its disk (files/kept_lines.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dove::agent {

// Those that are whole. That others were damaged is logged. Blocks for as long as the disk does.
std::vector<std::string> read_own_lines(const std::string& path, std::size_t bytes_max);

}  // namespace dove::agent
