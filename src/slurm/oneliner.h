// The output of `scontrol show … --oneliner`.
#pragma once

#include <string_view>
#include <vector>

namespace dove::slurm {

// They point into the text.
std::vector<std::string_view> lines_of(std::string_view text);

// The value of "KEY=" in the line, up to the next space; "": there is none. `key`: with its "=".
std::string_view value_of(std::string_view line, std::string_view key);

}  // namespace dove::slurm
