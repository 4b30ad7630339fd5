#include "cli/terminal/table.h"

#include <algorithm>
#include <iterator>

namespace dove::cli {
namespace {

constexpr std::size_t kLastMin = 20;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The code point at text[at], which is moved behind it. What is no UTF-8 is taken byte by byte.
char32_t next_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  char32_t point = first < 0xC0   ? first
                   : first < 0xE0 ? first & 0x1FU
                   : first < 0xF0 ? first & 0x0FU
                                  : first & 0x07U;
  while (first >= 0xC0 && at < text.size() && continues(text[at])) {
    point = (point << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  }
  return point;
}

struct Range {
  char32_t first;
  char32_t last;
};
// East Asian wide and full-width characters, emoji (Unicode's EastAsianWidth, in coarse blocks).
constexpr Range kWide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97C}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
// Marks that stand on the character before them.
constexpr Range kNone[] = {
    {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

std::size_t columns_of(char32_t point) {
  const auto within = [&](const Range& range) {
    return point >= range.first && point <= range.last;
  };
  if (std::any_of(std::begin(kNone), std::end(kNone), within)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), within) ? 2 : 1;
}

// Bytes of the longest beginning that takes at most `width` columns.
std::size_t bytes_within(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    used += columns_of(next_point(text, at));
    if (used > width) return start;
  }
  return text.size();
}

void append_cell(std::string& out, const Cell& cell, std::size_t width, bool right, bool last,
                 bool colours) {
  const std::string text = printable(cell.text);
  const std::size_t missing = width - std::min(width, width_of(text));
  if (right) out.append(missing, ' ');
  const bool styled = colours && !cell.style.empty() && !text.empty();
  if (styled) out += "\x1b[" + cell.style + "m";
  out += text;
  if (styled) out += "\x1b[0m";
  if (!right && !last) out.append(missing, ' ');
}

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) width += columns_of(next_point(text, at));
  return width;
}

std::string fitted(std::string_view text, std::size_t width, bool right) {
  std::string out(text.substr(0, bytes_within(text, width)));
  const std::size_t missing = width - width_of(out);
  if (right) return std::string(missing, ' ') + out;
  return out + std::string(missing, ' ');
}

std::string clipped(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return "";
  return std::string(text.substr(0, bytes_within(text, width - 1))) + "\u2026";
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

std::string Table::text(bool colours, std::size_t room) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size() && i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(printable(row[i].text)));
    }
  }
  std::size_t rest = 0;  // for the last column; 0: all it wants
  if (room > 0 && !widths.empty()) {
    std::size_t before = 0;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i] + 2;
    rest = std::max(room > before ? room - before : 0, kLastMin);
  }
  std::string out;
  const auto line = [&](const std::vector<Cell>& cells) {
    for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
      if (i > 0) out += "  ";
      const bool last = i + 1 == columns_.size();
      const Cell cell = last && rest > 0
                            ? Cell{clipped(printable(cells[i].text), rest), cells[i].style}
                            : cells[i];
      append_cell(out, cell, widths[i], columns_[i].right, last, colours);
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  };
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title, "1"});
  line(titles);
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace dove::cli
