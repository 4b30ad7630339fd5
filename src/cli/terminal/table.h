// Tables for people: columns as wide as their widest cell, two spaces between, no trailing space.
//
// Pure; any thread. Widths count code points, so that names in UTF-8 stay aligned.
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
  // Each line with its '\n'; the title line first.
  std::string text(bool colours) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Code points of `text`.
std::size_t width_of(std::string_view text);
// Exactly `width` code points: cut, or filled with spaces on the left (`right`) or right.
std::string fitted(std::string_view text, std::size_t width, bool right);
// Control characters shown as '?', so that a job's name cannot drive the terminal.
std::string printable(std::string_view text);

}  // namespace dove::cli
