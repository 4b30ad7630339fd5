// Hostlists: names in a row, as Slurm writes them: "gpu-[001-004,7],login".
//
// A range counts with the width of its first number: [001-004] is 001 to 004, [1-10] is 1 to 10.
// A name may have several brackets ("r[1-2]n[01-16]"). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dove::text {

constexpr std::size_t kHostlistNamesMax = 100'000;

// Whether a pattern names it; "*" is every name. Malformed patterns match nothing.
bool hostlist_holds(std::string_view pattern, std::string_view name);
bool any_hostlist_holds(const std::vector<std::string>& patterns, std::string_view name);

// At commas outside brackets. None when the brackets do not match.
std::optional<std::vector<std::string_view>> split_hostlist(std::string_view list);

// The names of one word ("n[1-3]"). None when it is malformed, or more than `most`.
std::optional<std::vector<std::string>> expand_host(std::string_view word, std::size_t most);

// The names of a list, in its order; what is malformed stays as it is written.
std::vector<std::string> expand_hostlist(std::string_view list);

// "n1", "n2", "n3", "n5", "login" -> "n[1-3,5],login". The order is kept.
std::string fold_hostlist(const std::vector<std::string>& names);

// The same, ordered by name first; numbers count as such: n9 comes before n10.
std::string fold_sorted_hostlist(std::vector<std::string> names);

}  // namespace dove::text
