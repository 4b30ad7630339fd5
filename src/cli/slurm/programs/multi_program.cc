#include "cli/slurm/programs/multi_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/client/endpoint.h"
#include "cli/slurm/programs/program_path.h"
#include "cli/slurm/step_sizes.h"
#include "cli/terminal/output.h"
#include "files/text_file.h"
#include "text/output_pattern.h"
#include "text/words.h"

namespace dove::cli {
namespace {

constexpr std::size_t kProgramsBytesMax = 64 << 10;
// The command repeats a line's words for each of its ranges. Linux takes two MiB with the
// environment.
constexpr std::size_t kCommandBytesMax = 512 << 10;
constexpr std::int64_t kRankMax = 99'999;
constexpr std::string_view kBlanks = " \t\r\v\f";

// For each range of ranks: its first and last one, the place of the first in its line, the number
// of words; the words. In them "%t" and "%o" are numbers, and "%%" is "%".
constexpr const char kFind[] = R"sh(
rank=$SLURM_PROCID
while [ $# -gt 0 ]; do
  first=$1 last=$2 place=$3 words=$4
  shift 4
  if [ "$rank" -lt "$first" ] || [ "$rank" -gt "$last" ]; then
    shift "$words"
    continue
  fi
  place=$((rank - first + place)) others=$(($# - words))
  while [ "$words" -gt 0 ]; do
    word=$1 done=
    shift
    while :; do
      case $word in
        *%t*|*%o*|*%%*) ;;
        *) break ;;
      esac
      done=$done${word%%\%*} word=${word#*%}
      case $word in
        t*) done=$done$rank ;;
        o*) done=$done$place ;;
        *) done=$done% ;;
      esac
      word=${word#?}
    done
    set -- "$@" "$done$word"
    words=$((words - 1))
  done
  shift "$others"
  exec "$@"
done
echo "srun: error: No executable program specified for this task" >&2
exit 2
)sh";

struct RankRange {
  std::int64_t first = 0, last = 0, place = 0;
};

bool parts_words(char c) { return kBlanks.find(c) != std::string_view::npos; }

class Reader {
 public:
  Reader(std::string_view text, const std::string& name, const std::vector<std::string>& arguments)
      : text_(text), name_(name), arguments_(arguments) {}

  // `tasks`: 0, or each below it has a program, and there are no others.
  Result<MultiProgram> read(std::int64_t tasks) {
    program_.command = {"/bin/sh", "-c", kFind, "dove-programs"};
    while (!text_.empty()) TRY(read_line());
    if (program_.tasks == 0 && !program_.names_rest) {
      return usage_error(fmt::format("{}: it names no programs", name_));
    }
    if (tasks > 0) TRY(check(tasks));
    return std::move(program_);
  }

 private:
  Result<void> check(std::int64_t tasks) const {
    std::int64_t next = 0;
    for (const auto& [first, last] : ranges_) {
      if (first > next) break;
      next = last + 1;
    }
    if (!program_.names_rest && next < tasks) {
      return usage_error(fmt::format("{}: no line is for task {} of {}", name_, next, tasks));
    }
    if (program_.tasks <= tasks) return {};
    return usage_error(fmt::format("{}: it names task {}, and the step has {} tasks: see --ntasks",
                                   name_, program_.tasks - 1, tasks));
  }

  Error wrong(const std::string& why) const {
    return usage_error(fmt::format("{}:{}: {}", name_, line_, why));
  }

  Result<void> read_line() {
    ++line_;
    const std::size_t first = std::min(text_.find_first_not_of(kBlanks), text_.size());
    text_.remove_prefix(first);
    if (text_.empty()) return {};
    if (text_.front() == '#') {
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
    }
    if (text_.empty() || text_.front() == '\n') {
      if (!text_.empty()) text_.remove_prefix(1);
      return {};
    }
    TRY_ASSIGN(std::vector<std::string> words, words_of_line());
    const std::string ranks = std::exchange(words.front(), "");
    if (words.size() < 2) return wrong("a line is the ranks of tasks, their program and arguments");
    words.erase(words.begin());
    for (const std::string& argument : arguments_) words.push_back(text::as_pattern(argument));
    TRY_ASSIGN(const std::vector<RankRange> ranges, ranges_of(ranks));
    TRY(check_size(ranges.size(), words));
    for (const RankRange& range : ranges) {
      for (const std::int64_t number :
           {range.first, range.last, range.place, static_cast<std::int64_t>(words.size())}) {
        program_.command.push_back(std::to_string(number));
      }
      program_.command.insert(program_.command.end(), words.begin(), words.end());
    }
    return {};
  }

  // Before it is made: it may be many times the file.
  Result<void> check_size(std::size_t ranges, const std::vector<std::string>& words) {
    std::size_t bytes = 4 * (sizeof(char*) + std::to_string(kRankMax).size() + 1);
    for (const std::string& word : words) bytes += sizeof(char*) + word.size() + 1;
    bytes_ += ranges * bytes;
    if (bytes_ <= kCommandBytesMax) return {};
    return wrong(fmt::format(
        "the words of all ranges of ranks have more than {} bytes: say ranges as 4-6, and long "
        "arguments in a script",
        kCommandBytesMax));
  }

  // Up to the end of the line, or of the one that it goes on with.
  Result<std::vector<std::string>> words_of_line() {
    std::vector<std::string> words;
    std::optional<std::string> word;
    const auto end_word = [&] {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    };
    while (!text_.empty()) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == '\n') break;
      if (parts_words(c)) {
        end_word();
      } else if (c == '\\' && text_.starts_with('\n')) {
        end_word();
        text_.remove_prefix(1);
        ++line_;
      } else if (c == '\\' && !text_.empty()) {
        word = word.value_or("") + text::as_pattern(text_.substr(0, 1));
        text_.remove_prefix(1);
      } else if (c == '\'') {
        const std::size_t end = text_.substr(0, text_.find('\n')).find('\'');
        if (end == std::string_view::npos) return wrong("a quote has no end");
        word = word.value_or("") + text::as_pattern(text_.substr(0, end));
        text_.remove_prefix(end + 1);
      } else if (c == '%' && (text_.starts_with('t') || text_.starts_with('o'))) {
        word = word.value_or("") + "%" + text_.front();
        text_.remove_prefix(1);
      } else {
        word = word.value_or("") + (c == '%' ? "%%" : std::string(1, c));
      }
    }
    end_word();
    return words;
  }

  // "4-6", "1,7", "*".
  Result<std::vector<RankRange>> ranges_of(const std::string& ranks) {
    if (program_.names_rest) return wrong("the line for \"*\" must be the last one");
    if (ranks == "*") {
      program_.names_rest = true;
      return std::vector<RankRange>{{0, std::numeric_limits<std::int32_t>::max(), 0}};
    }
    std::vector<RankRange> ranges;
    std::int64_t place = 0;
    for (const std::string& part : text::split(ranks, ",")) {
      RankRange range;
      const char* const end = part.data() + part.size();
      auto read = std::from_chars(part.data(), end, range.first);
      range.last = range.first;
      if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
        read = std::from_chars(read.ptr + 1, end, range.last);
      }
      const bool is_range = read.ec == std::errc() && read.ptr == end && range.first >= 0 &&
                            range.first <= range.last && range.last <= kRankMax;
      if (!is_range) return wrong(fmt::format("\"{}\" names no tasks", part));
      auto other = ranges_.upper_bound(range.first);
      if (other != ranges_.begin() && std::prev(other)->second >= range.first) --other;
      if (other != ranges_.end() && other->first <= range.last) {
        return wrong(
            fmt::format("task {} has a program already", std::max(other->first, range.first)));
      }
      ranges_.emplace(range.first, range.last);
      program_.tasks = std::max(program_.tasks, range.last + 1);
      range.place = place;
      place += range.last - range.first + 1;
      ranges.push_back(range);
    }
    if (ranges.empty()) return wrong(fmt::format("\"{}\" names no tasks", ranks));
    return ranges;
  }

  std::string_view text_;
  const std::string& name_;
  const std::vector<std::string>& arguments_;
  int line_ = 0;
  std::map<std::int64_t, std::int64_t> ranges_;  // the first rank of each, and its last
  std::size_t bytes_ = 0;
  MultiProgram program_;
};

}  // namespace

Result<MultiProgram> multi_program(std::string_view text, const std::string& name,
                                   std::int64_t tasks, const std::vector<std::string>& arguments) {
  return Reader(text, name, arguments).read(tasks);
}

Result<Invocation> join_programs(const Invocation& given) {
  if (!given.has("multi-prog")) return given;
  if (given.has("bcast")) return usage_error("--multi-prog and --bcast exclude each other");
  Invocation invocation = given;
  const std::string file = given.operands.front();
  const Result<std::string> text = files::read_text(file, kProgramsBytesMax);
  if (!text.ok()) {
    const bool is_too_large = text.error().kind == ErrorKind::kTooLarge;
    return is_too_large ? usage_error(text.error().message) : text.error();
  }
  TRY_ASSIGN(const nlohmann::json sizes, step_sizes(given));
  std::int64_t tasks = sizes.value("tasks", std::int64_t{0});
  const bool is_jobs = tasks == 0 && !sizes.contains("tasks_per_node") && !sizes.contains("nodes");
  if (is_jobs) {
    const std::string of_job = environment_value("SLURM_NTASKS");
    std::from_chars(of_job.data(), of_job.data() + of_job.size(), tasks);
  }
  const std::vector<std::string> arguments(given.operands.begin() + 1, given.operands.end());
  TRY_ASSIGN(MultiProgram program, multi_program(*text, file, tasks, arguments));
  invocation.operands = std::move(program.command);
  // As Slurm counts where nobody says how many there are.
  if (is_jobs && tasks == 0 && program.tasks > 0) {
    invocation.values["ntasks"] = {std::to_string(program.tasks)};
  }
  if (!given.has("job-name")) invocation.values["job-name"] = {program_name(file)};
  invocation.values.erase("multi-prog");
  return invocation;
}

}  // namespace dove::cli
