#include "sim/traces/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "files/text_file.h"

namespace dove::sim {

Error error_at(const std::string& path, std::size_t line, std::size_t column, std::string message) {
  std::string place = fmt::format("{}:{}:{}", path, line, column);
  std::string text = fmt::format("{}: {}", place, message);
  return {ErrorKind::kInvalid, "bad_file", std::move(text), std::move(place)};
}

Result<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most,
                                  std::string_view what, const std::string& path, std::size_t line,
                                  std::size_t column) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return error_at(path, line, column,
                    fmt::format("{} is '{}'; write a whole number from {} to {}", what,
                                text.substr(0, 40), least, most));
  }
  return value;
}

Result<CsvTable> CsvTable::read(const std::string& path) {
  TRY_ASSIGN(std::string text, files::read_text(path, kTraceBytesMax));
  return parse(path, std::move(text));
}

Result<CsvTable> CsvTable::parse(const std::string& path, std::string text) {
  CsvTable table;
  table.path_ = path;
  table.text_ = std::move(text);
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < table.text_.size();) {
    ++line;
    const std::size_t stop = std::min(table.text_.find('\n', begin), table.text_.size());
    std::size_t end = stop;
    if (end > begin && table.text_[end - 1] == '\r') --end;
    const bool is_remark = end > begin && table.text_[begin] == '#';
    const bool is_rest = table.text_.find_first_not_of("\r\n", begin) == std::string::npos;
    if (!is_remark && !is_rest) TRY(table.split(line, begin, end));
    begin = stop + 1;
  }
  if (table.heading_.empty()) {
    return error_at(path, 1, 1, "the file is empty; its first line names the columns");
  }
  return table;
}

// The first line becomes the heading.
Result<void> CsvTable::split(std::size_t line, std::size_t begin, std::size_t end) {
  const std::string_view row = std::string_view(text_).substr(begin, end - begin);
  if (row.empty()) return error_at(path_, line, 1, "the line is empty; remove it");
  if (const std::size_t quote = row.find_first_of("\"'"); quote != std::string_view::npos) {
    return error_at(path_, line, quote + 1,
                    "a quote; fields are written without, and have no comma");
  }
  std::vector<Field> found;
  for (std::size_t at = 0; at <= row.size();) {
    const std::size_t comma = std::min(row.find(',', at), row.size());
    found.push_back({begin + at, comma - at});
    at = comma + 1;
  }
  if (heading_.empty()) {
    for (const Field& field : found) heading_.push_back(text_.substr(field.begin, field.length));
    return {};
  }
  if (found.size() != heading_.size()) {
    const bool more = found.size() > heading_.size();
    const std::size_t column = more ? found[heading_.size()].begin - begin + 1 : row.size() + 1;
    return error_at(path_, line, column,
                    fmt::format("{} fields where the heading has {}; give one for each column",
                                found.size(), heading_.size()));
  }
  lines_.push_back(line);
  starts_.push_back(begin);
  fields_.insert(fields_.end(), found.begin(), found.end());
  return {};
}

bool CsvTable::has(std::string_view name) const {
  return std::find(heading_.begin(), heading_.end(), name) != heading_.end();
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
  const auto at = std::find(heading_.begin(), heading_.end(), name);
  if (at != heading_.end()) return static_cast<std::size_t>(at - heading_.begin());
  return error_at(path_, 1, 1,
                  fmt::format("there is no column '{}', only {}; is it the right file?", name,
                              fmt::join(heading_, ", ")));
}

std::string_view CsvTable::field(std::size_t row, std::size_t column) const {
  const Field& field = fields_[row * heading_.size() + column];
  return std::string_view(text_).substr(field.begin, field.length);
}

Result<std::string_view> CsvTable::name(std::size_t row, std::size_t column) const {
  const std::string_view text = field(row, column);
  if (text.empty()) {
    return error(row, column, fmt::format("{} is empty; give one", heading_[column]));
  }
  return text;
}

Result<std::int64_t> CsvTable::number(std::size_t row, std::size_t column, std::int64_t least,
                                      std::int64_t most) const {
  const std::size_t at = fields_[row * heading_.size() + column].begin - starts_[row] + 1;
  return whole_number(field(row, column), least, most, heading_[column], path_, lines_[row], at);
}

Error CsvTable::error(std::size_t row, std::size_t column, std::string message) const {
  const std::size_t at = fields_[row * heading_.size() + column].begin - starts_[row] + 1;
  return error_at(path_, lines_[row], at, std::move(message));
}

}  // namespace dove::sim
