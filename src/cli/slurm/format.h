// The output formats of squeue and sinfo: "%.18i %.9P", "JobID:12,Name:20".
//
// Pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::cli {

struct FormatPiece {
  std::string literal;  // printed as it is, before the field
  char field = 0;       // 0: only a literal
  int width = 0;        // 0: as wide as the value
  bool right = false;
  std::string suffix;
};

// "%[.][width]x": '.' aligns to the right. kInvalid names an unknown place. "%%" is a percent sign.
Result<std::vector<FormatPiece>> parse_percent_format(const std::string& format);

// "Name[:[.]width],..." with the long names of `names` (any case), 20 wide without a width.
struct LongName {
  const char* name;
  char field;
};
Result<std::vector<FormatPiece>> parse_long_format(const std::string& format,
                                                   const std::vector<LongName>& names);

// "%all" in `format` becomes all of `letters`, with "|" between: as squeue and sinfo show it.
std::string with_all_fields(const std::string& format, const std::string& letters);

// Whether it has any of these.
bool has_field(const std::vector<FormatPiece>& pieces, std::string_view fields);

// One line without its end. `value` gives a field's text.
std::string format_line(const std::vector<FormatPiece>& pieces,
                        const std::function<std::string(char field)>& value);

}  // namespace dove::cli
