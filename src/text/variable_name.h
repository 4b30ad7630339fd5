// Names of environment variables. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace dove::text {

inline constexpr std::string_view kVariableNameRule =
    "is not a variable's name: printable ASCII without spaces and =, at most 256 bytes";

// Wider than a shell's variables, as in Kubernetes: bash keeps exported functions, such as
// `module`, under BASH_FUNC_module%%, and Slurm carries them into jobs.
inline bool is_variable_name(std::string_view name) {
  return !name.empty() && name.size() <= 256 && std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '=';
  });
}

}  // namespace dove::text
