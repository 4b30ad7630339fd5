// Tables for people: columns as wide as their widest cell, two spaces between, no trailing space.
//
// Pure; any thread. Widths are columns of a terminal: East Asian wide characters take two, marks on
// other characters none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dove::cli {

struct Column {
  std::string title;
  bool right = false;  // aligned to the right: amounts
};

struct Cell {
  std::string text;
  std::string style;  // SGR parameters ("32"), used only when colours are on
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // Each line with its '\n'; the title line first. The last column is clipped to what `room`
  // columns leave it, but not below 20; 0 is without end.
  std::string text(bool colours, std::size_t room = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Columns of `text`.
std::size_t width_of(std::string_view text);
// Exactly `width` columns: cut, or filled with spaces on the left (`right`) or right.
std::string fitted(std::string_view text, std::size_t width, bool right);
// At most `width` columns, ending in the mark of an ellipsis where something was cut.
std::string clipped(std::string_view text, std::size_t width);
// Control characters shown as '?', so that a job's name cannot drive the terminal.
std::string printable(std::string_view text);

}  // namespace dove::cli
