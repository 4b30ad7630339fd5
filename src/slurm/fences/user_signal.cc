#include "slurm/fences/user_signal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>

namespace dove::slurm {
namespace {

constexpr std::string_view kOption = "--signal";
constexpr std::int64_t kBeforeMax_s = 65'535;  // as sbatch takes it
constexpr std::size_t kNameMax = 16;

// Options of sbatch without a value: the word that follows is not theirs.
constexpr std::array<std::string_view, 17> kFlags{
    "--contiguous", "--exclusive",  "--get-user-env",  "--hold",    "--ignore-pbs", "--no-kill",
    "--no-requeue", "--overcommit", "--parsable",      "--quiet",   "--reboot",     "--requeue",
    "--spread-job", "--test-only",  "--use-min-nodes", "--verbose", "--wait"};
constexpr std::string_view kShort_flags = "hHIkOQsvW";

// Cuts off the first word, without its quotes.
std::string next_word_of(std::string_view& rest) {
  constexpr std::string_view kBlanks = " \t\r";
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  std::string word;
  char quote = 0;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    const char c = rest[at];
    if (quote == 0 && kBlanks.find(c) != std::string_view::npos) break;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      word += c;
    }
  }
  rest.remove_prefix(at);
  return word;
}

// What the option's word says; none: it is another one. `next` is taken if the value stands there.
std::optional<std::string> value_of(const std::string& word, std::string_view& next) {
  if (word == kOption) return next_word_of(next);
  const bool has_value =
      word.starts_with(kOption) && word.size() > kOption.size() && word[kOption.size()] == '=';
  return has_value ? std::optional(word.substr(kOption.size() + 1)) : std::nullopt;
}

// Whether the word after this option could be its value.
bool may_take_next(const std::string& word) {
  if (word.starts_with("--")) {
    const bool is_flag = std::find(kFlags.begin(), kFlags.end(), word) != kFlags.end();
    return !is_flag && word.find('=') == std::string::npos;
  }
  return word.size() == 2 && kShort_flags.find(word[1]) == std::string_view::npos;
}

}  // namespace

std::optional<UserSignal> read_user_signal(std::string_view value) {
  UserSignal read;
  if (const std::size_t colon = value.find(':'); colon != std::string_view::npos) {
    for (const char letter : value.substr(0, colon)) {
      const bool is_b = letter == 'B' || letter == 'b';
      // R lets it come within a reservation's time, and says nothing of who gets it.
      if (!is_b && letter != 'R' && letter != 'r') return std::nullopt;
      read.is_of_script = read.is_of_script || is_b;
    }
    value.remove_prefix(colon + 1);
  }
  if (const std::size_t at = value.find('@'); at != std::string_view::npos) {
    const std::string_view digits = value.substr(at + 1);
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), read.before_s);
    const bool is_number = end.ec == std::errc() && end.ptr == digits.data() + digits.size();
    if (!is_number || read.before_s < 0 || read.before_s > kBeforeMax_s) return std::nullopt;
    value = value.substr(0, at);
  }
  const bool is_name =
      !value.empty() && value.size() <= kNameMax &&
      std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  if (!is_name) return std::nullopt;
  std::transform(value.begin(), value.end(), std::back_inserter(read.name),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (read.name.starts_with("SIG")) read.name.erase(0, 3);
  if (read.name == "KILL" || read.name == "9" || read.name == "0") return std::nullopt;
  return read;
}

std::optional<UserSignal> signal_of_script(std::string_view script) {
  constexpr std::string_view kMark = "#SBATCH";
  std::optional<UserSignal> found;
  while (!script.empty()) {
    std::string_view line = script.substr(0, script.find('\n'));
    script.remove_prefix(std::min(line.size() + 1, script.size()));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line[first] != '#') return found;
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(kMark.size());
    while (!line.empty()) {
      const std::string word = next_word_of(line);
      if (word.starts_with('#')) break;  // a comment
      const auto value = value_of(word, line);
      if (value) found = read_user_signal(*value);
    }
  }
  return found;
}

std::optional<UserSignal> signal_of_command(std::string_view line) {
  next_word_of(line);  // sbatch
  bool may_be_value = false;
  while (!line.empty()) {
    const std::string word = next_word_of(line);
    if (!word.starts_with('-')) {
      if (!may_be_value) return std::nullopt;  // the script
      may_be_value = false;
      continue;
    }
    if (word == "--" || word.starts_with("--wrap")) return std::nullopt;
    if (const auto value = value_of(word, line)) return read_user_signal(*value);
    may_be_value = may_take_next(word);
  }
  return std::nullopt;
}

}  // namespace dove::slurm
