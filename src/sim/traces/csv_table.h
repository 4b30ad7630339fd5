// CsvTable: a small comma-separated file with a heading, read strictly.
//
// Every row has as many fields as the heading. There is no quoting: a quote is an error. Lines that
// begin with # and empty lines at the end are passed over. Errors (kInvalid) name the place as
// FILE:LINE:COLUMN, counted from 1, and say what to do. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::sim {

constexpr std::size_t kTraceBytesMax = std::size_t{256} << 20;  // of a file

Error error_at(const std::string& path, std::size_t line, std::size_t column, std::string message);

// `text` as a whole number within the bounds; `what` names it in the error, which is at the place.
Result<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most,
                                  std::string_view what, const std::string& path, std::size_t line,
                                  std::size_t column);

class CsvTable {
 public:
  static Result<CsvTable> read(const std::string& path);
  static Result<CsvTable> parse(const std::string& path, std::string text);

  std::size_t rows() const { return lines_.size(); }
  // The place of a column in the heading: an error naming the columns there are when it is missing.
  Result<std::size_t> column(std::string_view name) const;
  bool has(std::string_view name) const;
  const std::vector<std::string>& heading() const { return heading_; }

  std::string_view field(std::size_t row, std::size_t column) const;
  // A field that must not be empty.
  Result<std::string_view> name(std::size_t row, std::size_t column) const;
  Result<std::int64_t> number(std::size_t row, std::size_t column, std::int64_t least,
                              std::int64_t most) const;
  Error error(std::size_t row, std::size_t column, std::string message) const;

 private:
  struct Field {
    std::size_t begin = 0;
    std::size_t length = 0;
  };

  Result<void> split(std::size_t line, std::size_t begin, std::size_t end);

  std::string path_;
  std::string text_;
  std::vector<std::string> heading_;
  std::vector<std::size_t> lines_;   // line number of each row
  std::vector<std::size_t> starts_;  // where each row begins in text_
  std::vector<Field> fields_;        // row by row
};

}  // namespace dove::sim
