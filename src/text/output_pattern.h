// The patterns of sbatch(1) in names of output files: %j, %4t, %%. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dove::text {

// `meaning`: what a letter stands for; "" leaves it as it is written. A number between (%4t) pads
// with zeros, to ten at most. "%%" is the sign itself.
std::string fill_pattern(const std::string& pattern,
                         const std::function<std::string(char letter)>& meaning);

// The pattern that stands for the text itself: folders, too, have a "%" in their names.
std::string as_pattern(std::string_view text);

// A part of a file name, which never brings in a slash.
std::string as_file_name(std::string text);

}  // namespace dove::text
