#include "cli/slurm/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "text/spelling.h"

namespace dove::cli {
namespace {

constexpr int kWidthMax = 10'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "[.][width]" at `at`, which moves behind it.
void read_width(const std::string& text, std::size_t& at, FormatPiece& piece) {
  if (at < text.size() && text[at] == '.') {
    piece.right = true;
    ++at;
  }
  while (at < text.size() && is_digit(text[at]) && piece.width < kWidthMax) {
    piece.width = piece.width * 10 + (text[at++] - '0');
  }
}

}  // namespace

Result<std::vector<FormatPiece>> parse_percent_format(const std::string& format) {
  std::vector<FormatPiece> pieces;
  std::string literal;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      literal += format[at++];
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == '%') {
      literal += '%';
      at += 2;
      continue;
    }
    FormatPiece piece;
    piece.literal = literal;
    literal.clear();
    read_width(format, ++at, piece);
    if (at >= format.size() || std::isalpha(static_cast<unsigned char>(format[at])) == 0) {
      return usage_error(fmt::format(
          "Invalid job format specification: a letter is missing after '%' in '{}'", format));
    }
    piece.field = format[at++];
    pieces.push_back(std::move(piece));
  }
  if (!literal.empty()) {
    FormatPiece piece;
    piece.literal = literal;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

Result<std::vector<FormatPiece>> parse_long_format(const std::string& format,
                                                   const std::vector<LongName>& names) {
  std::vector<FormatPiece> pieces;
  for (const std::string& word : comma_list(format)) {
    const std::size_t colon = word.find(':');
    const std::string name = lower(word.substr(0, colon));
    FormatPiece piece;
    piece.width = 20;
    if (colon != std::string::npos) {
      piece.width = 0;
      std::size_t at = colon + 1;
      read_width(word, at, piece);
      piece.suffix = word.substr(at);
    }
    std::vector<std::string> known;
    for (const LongName& candidate : names) {
      known.emplace_back(candidate.name);
      if (lower(candidate.name) == name) piece.field = candidate.field;
    }
    if (piece.field == 0) {
      const std::string_view near = text::nearest(word.substr(0, colon), known);
      return usage_error(fmt::format("Invalid job format specification: {}{}", word,
                                     near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

std::string with_all_fields(const std::string& format, const std::string& letters) {
  const std::size_t at = format.find("%all");
  if (at == std::string::npos) return format;
  std::string all;
  for (const char letter : letters) all += fmt::format("{}%{}", all.empty() ? "" : "|", letter);
  return format.substr(0, at) + all + format.substr(at + 4);
}

bool has_field(const std::vector<FormatPiece>& pieces, std::string_view fields) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const FormatPiece& piece) {
    return piece.field != 0 && fields.find(piece.field) != std::string_view::npos;
  });
}

std::string format_line(const std::vector<FormatPiece>& pieces,
                        const std::function<std::string(char)>& value) {
  std::string line;
  for (const FormatPiece& piece : pieces) {
    line += piece.literal;
    if (piece.field == 0) continue;
    const std::string text = printable(value(piece.field));
    line +=
        piece.width == 0 ? text : fitted(text, static_cast<std::size_t>(piece.width), piece.right);
    line += piece.suffix;
  }
  return line;
}

}  // namespace dove::cli
