#include "cli/slurm/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

namespace dove::cli {
namespace {

constexpr int kWidthMax = 10'000;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const SlurmColumn* find(const std::string& name, const std::vector<SlurmColumn>& known) {
  const std::string wanted = lower(name);
  for (const SlurmColumn& column : known) {
    if (lower(column.name) == wanted) return &column;
  }
  for (const SlurmColumn& column : known) {
    if (!wanted.empty() && lower(column.name).starts_with(wanted)) return &column;
  }
  return nullptr;
}

// "%20", "%-20".
Result<void> set_width(const std::string& text, SlurmColumn& column) {
  const bool left = text.starts_with('-');
  const std::string digits = text.substr(left ? 1 : 0);
  const bool is_number = !digits.empty() && digits.size() <= 5 &&
                         digits.find_first_not_of("0123456789") == std::string::npos;
  const int width = is_number ? std::atoi(digits.c_str()) : 0;
  if (width < 1 || width > kWidthMax) {
    return usage_error(fmt::format("Invalid width of field {}: \"{}\"", column.name, text));
  }
  column.width = width;
  column.left = left;
  return {};
}

std::string cut(const std::string& text, const SlurmColumn& column) {
  const auto width = static_cast<std::size_t>(column.width);
  if (width_of(text) <= width) return fitted(text, width, !column.left);
  return fitted(text, width - 1, false) + "+";
}

}  // namespace

SlurmListing slurm_listing(const Invocation& invocation) {
  SlurmListing listing;
  listing.header = !invocation.has("noheader");
  if (invocation.has("parsable")) listing.kind = SlurmListing::Kind::kEndedBars;
  if (invocation.has("parsable2")) listing.kind = SlurmListing::Kind::kBars;
  listing.bar = invocation.get("delimiter", "|");
  return listing;
}

std::vector<OptionSpec> slurm_listing_options() {
  return {{"noheader", 'n', "", "no titles"},
          {"parsable", 'p', "", "values with | behind each"},
          {"parsable2", 'P', "", "values with | between them"},
          {"delimiter", 0, "TEXT", "instead of | with -p and -P"}};
}

Result<std::vector<SlurmColumn>> parse_columns(const std::string& format,
                                               const std::vector<SlurmColumn>& known) {
  std::vector<SlurmColumn> columns;
  for (const std::string& word : comma_list(format)) {
    const std::size_t percent = word.find('%');
    const std::string name = word.substr(0, percent);
    const SlurmColumn* column = find(name, known);
    if (column == nullptr && lower(name) == "all") {
      columns.insert(columns.end(), known.begin(), known.end());
      continue;
    }
    if (column == nullptr) {
      return usage_error(fmt::format("Invalid field requested: \"{}\"", printable(name)));
    }
    columns.push_back(*column);
    if (percent != std::string::npos) TRY(set_width(word.substr(percent + 1), columns.back()));
  }
  return columns;
}

std::string header_text(const SlurmListing& listing, const std::vector<SlurmColumn>& columns) {
  if (!listing.header) return "";
  const auto title_of = [](const SlurmColumn& column) {
    return column.title.empty() ? column.name : column.title;
  };
  if (listing.kind != SlurmListing::Kind::kAligned) {
    std::vector<SlurmColumn> titled = columns;
    for (SlurmColumn& column : titled) column.name = title_of(column);
    return row_text(listing, titled, [](const std::string& name) { return name; });
  }
  std::string titles, lines;
  for (const SlurmColumn& column : columns) {
    const auto width = static_cast<std::size_t>(column.width);
    titles += fitted(title_of(column), width, !column.left) + " ";
    lines += std::string(width, '-') + " ";
  }
  return titles + "\n" + lines + "\n";
}

std::string row_text(const SlurmListing& listing, const std::vector<SlurmColumn>& columns,
                     const std::function<std::string(const std::string&)>& value) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string text = printable(value(columns[i].name));
    switch (listing.kind) {
      case SlurmListing::Kind::kAligned:
        line += cut(text, columns[i]) + " ";
        break;
      case SlurmListing::Kind::kEndedBars:
        line += text + listing.bar;
        break;
      case SlurmListing::Kind::kBars:
        line += (i == 0 ? "" : listing.bar) + text;
        break;
    }
  }
  return line + "\n";
}

std::string names_text(const std::vector<SlurmColumn>& known) {
  std::string text;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const bool last_of_line = i % 4 == 3 || i + 1 == known.size();
    text += fmt::format("{:<19}{}", known[i].name, last_of_line ? "\n" : " ");
  }
  return text;
}

}  // namespace dove::cli
