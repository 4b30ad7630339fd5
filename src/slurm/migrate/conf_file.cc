#include "slurm/migrate/conf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace dove::slurm {
namespace {

constexpr int kDepthMax = 8;
constexpr std::size_t kLinesMax = 200'000;

// At '#', unless it is escaped.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '#' && (at == 0 || line[at - 1] != '\\')) return line.substr(0, at);
  }
  return line;
}

// Words at white space outside quotes; the quotes are taken off.
std::vector<std::string> words_in(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool inside = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      inside = true;
    } else if (!quoted && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

ConfLine line_of(const std::string& file, int number, std::string_view text) {
  ConfLine line{file, number, {}};
  const std::vector<std::string> words = words_in(text);
  if (words.size() >= 2 && same_word(words[0], "include")) {
    line.pairs.push_back({"Include", words[1], true});
    return line;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    // "Name = value" is one pair.
    if (i + 1 < words.size() && words[i + 1].starts_with('=') &&
        word.find('=') == std::string::npos) {
      word += words[++i];
    }
    if (word.ends_with('=') && i + 1 < words.size() &&
        words[i + 1].find('=') == std::string::npos) {
      word += words[++i];
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      line.pairs.push_back({word, "", false});
    } else {
      std::string name = word.substr(0, equals);
      while (!name.empty() && (name.back() == '+' || name.back() == '-')) name.pop_back();
      line.pairs.push_back({name, word.substr(equals + 1), true});
    }
  }
  return line;
}

Result<void> load(const std::string& path,
                  const std::function<Result<std::string>(const std::string&)>& read, int depth,
                  std::vector<ConfLine>& lines) {
  if (depth > kDepthMax) {
    return Error{ErrorKind::kInvalid, "include",
                 fmt::format("{}: files include each other more than {} deep", path, kDepthMax),
                 path};
  }
  TRY_ASSIGN(const std::string text, read(path));
  for (ConfLine& line : read_conf(path, text)) {
    if (lines.size() > kLinesMax) {
      return Error{ErrorKind::kTooLarge, "conf", path + ": too many lines", path};
    }
    if (line.pairs.size() != 1 || line.pairs[0].name != "Include") {
      lines.push_back(std::move(line));
      continue;
    }
    std::string next = line.pairs[0].value;
    if (!next.starts_with('/')) next = path.substr(0, path.rfind('/') + 1) + next;
    TRY(load(next, read, depth + 1, lines));
  }
  return {};
}

}  // namespace

std::string ConfLine::place() const {
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), number);
}

const std::string* ConfLine::find(std::string_view name) const {
  for (const ConfPair& pair : pairs) {
    if (same_word(pair.name, name)) return &pair.value;
  }
  return nullptr;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::vector<ConfLine> read_conf(const std::string& file, std::string_view text) {
  std::vector<ConfLine> lines;
  std::string joined;
  int number = 0;
  int first = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (joined.empty()) first = number;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    joined += line;
    if (goes_on && !text.empty()) continue;
    ConfLine read = line_of(file, first, joined);
    joined.clear();
    if (!read.pairs.empty()) lines.push_back(std::move(read));
  }
  return lines;
}

Result<std::vector<ConfLine>> load_conf(
    const std::string& path, const std::function<Result<std::string>(const std::string&)>& read) {
  std::vector<ConfLine> lines;
  TRY(load(path, read, 0, lines));
  return lines;
}

std::int64_t slurm_time_s(std::string_view text) {
  if (same_word(text, "INFINITE") || same_word(text, "UNLIMITED")) return 0;
  std::vector<std::int64_t> numbers;
  std::int64_t days = -1;
  std::string_view rest = text;
  while (!rest.empty() || numbers.empty()) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0 || value > 10'000'000) return -1;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.starts_with('-') && days < 0 && numbers.empty()) {
      days = value;
    } else {
      numbers.push_back(value);
      if (!rest.empty() && !rest.starts_with(':')) return -1;
    }
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (rest.empty()) return -1;
  }
  if (numbers.size() > 3) return -1;
  if (days >= 0) {
    numbers.resize(3, 0);
    return ((days * 24 + numbers[0]) * 60 + numbers[1]) * 60 + numbers[2];
  }
  if (numbers.size() == 1) return numbers[0] * 60;
  if (numbers.size() == 2) return numbers[0] * 60 + numbers[1];
  return (numbers[0] * 60 + numbers[1]) * 60 + numbers[2];
}

}  // namespace dove::slurm
