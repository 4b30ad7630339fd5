#include "text/bash_functions.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace dove::text {
namespace {

constexpr std::string_view kFunction = "BASH_FUNC_";
constexpr std::string_view kPacked = "DOVE_FUNCTION_";  // NAME=value, by number
constexpr std::string_view kCount = "DOVE_FUNCTIONS";

}  // namespace

void pack_functions(std::map<std::string, std::string>& environment) {
  std::vector<std::string> entries;
  std::erase_if(environment, [&](const auto& entry) {
    const auto& [name, value] = entry;
    const bool is_function = name.starts_with(kFunction);
    if (is_function) entries.push_back(name + "=" + value);
    return is_function || name.starts_with(kPacked) || name == kCount;
  });
  if (entries.empty()) return;
  environment[std::string(kCount)] = std::to_string(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    environment[std::string(kPacked) + std::to_string(i)] = std::move(entries[i]);
  }
}

const char kUnpack_functions[] = R"sh(
if [ "${DOVE_FUNCTIONS:-0}" -gt 0 ]; then
  while [ "$DOVE_FUNCTIONS" -gt 0 ]; do
    DOVE_FUNCTIONS=$((DOVE_FUNCTIONS - 1))
    eval "set -- \"\$DOVE_FUNCTION_$DOVE_FUNCTIONS\" \"\$@\""
    unset "DOVE_FUNCTION_$DOVE_FUNCTIONS"
  done
  unset DOVE_FUNCTIONS
  set -- /usr/bin/env -- "$@"
fi
)sh";

}  // namespace dove::text
