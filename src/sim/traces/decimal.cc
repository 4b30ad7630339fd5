#include "sim/traces/decimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace dove::sim {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<std::int64_t> decimal(const CsvTable& table, std::size_t row, std::size_t column,
                             std::int64_t per_unit, std::int64_t least, std::int64_t most) {
  const std::string_view text = table.field(row, column);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point < text.size() ? text.substr(point + 1) : "0";
  bool good = !whole.empty() && whole.size() <= 18 && !part.empty() &&
              std::all_of(whole.begin(), whole.end(), is_digit) &&
              std::all_of(part.begin(), part.end(), is_digit);
  std::int64_t value = 0;
  if (good) {
    for (const char digit : whole) value = value * 10 + (digit - '0');
    good = value >= least && value <= most;
  }
  if (!good) {
    return table.error(row, column,
                       fmt::format("{} is '{}'; write a number from {} to {}, as 66 or 66.5",
                                   table.heading()[column], text.substr(0, 40), least, most));
  }
  value *= per_unit;
  std::int64_t unit = per_unit;
  for (const char digit : part) {
    unit /= 10;
    value += (digit - '0') * unit;
  }
  return value;
}

}  // namespace dove::sim
