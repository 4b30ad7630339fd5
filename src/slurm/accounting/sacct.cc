#include "slurm/accounting/sacct.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace dove::slurm {

Result<std::string> ask_sacct(const RunCommand& run, const std::vector<std::string>& options,
                              std::chrono::seconds limit, std::size_t output_max) {
  CommandWanted wanted;
  wanted.words = {"sacct", "--allocations", "--noheader", "--parsable2"};
  wanted.words.insert(wanted.words.end(), options.begin(), options.end());
  wanted.limit = limit;
  wanted.output_max = output_max;
  wanted.environment = {"SLURM_TIME_FORMAT=%s"};
  Result<CommandEnd> end = run(wanted);
  const bool is_missing = !end.ok() && end.error().code == "cannot_start";
  const bool is_off = end.ok() && end->code != 0 &&
                      end->said.find("accounting storage is disabled") != std::string::npos;
  if (is_missing || is_off) {
    return Error{ErrorKind::kNotFound, kNoAccounting,
                 is_off ? std::string("Slurm has no accounting") : end.error().message, ""};
  }
  if (!end.ok()) return end.error();
  if (end->code != 0) {
    return Error{ErrorKind::kUnavailable, "slurm_command",
                 fmt::format("sacct exits with {}: {}", end->code, end->said), ""};
  }
  return std::move(end->output);
}

std::string_view next_word(std::string_view& rest, char separator) {
  const std::string_view word = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  return word;
}

std::optional<std::int64_t> read_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace dove::slurm
