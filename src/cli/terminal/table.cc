#include "cli/terminal/table.h"

#include <algorithm>

namespace dove::cli {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

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
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string fitted(std::string_view text, std::size_t width, bool right) {
  std::size_t points = 0;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    if (!continues(text[bytes]) && points++ == width) break;
    ++bytes;
  }
  std::string out(text.substr(0, bytes));
  const std::size_t missing = width - width_of(out);
  if (right) return std::string(missing, ' ') + out;
  return out + std::string(missing, ' ');
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return out;
}

std::string Table::text(bool colours) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size() && i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(printable(row[i].text)));
    }
  }
  std::string out;
  const auto line = [&](const std::vector<Cell>& cells) {
    for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
      if (i > 0) out += "  ";
      append_cell(out, cells[i], widths[i], columns_[i].right, i + 1 == columns_.size(), colours);
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
