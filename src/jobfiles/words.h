// Small things every reader of job files needs: numbers without surprises and pieces of text. All
// pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/shown.h"

namespace dove::jobfiles {

// A kInvalid error without a place; who knows the place adds it.
Error invalid(std::string message, std::string code = "invalid_value");

// Decimal digits only (no sign, no space), at most `max`.
std::optional<std::int64_t> to_number(std::string_view digits,
                                      std::int64_t max = INT64_C(0x7fffffff));

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
std::string lower(std::string_view text);
bool equal_without_case(std::string_view a, std::string_view b);

using text::shown;

// 'text' quoted for a POSIX shell.
std::string shell_quoted(std::string_view text);

}  // namespace dove::jobfiles
