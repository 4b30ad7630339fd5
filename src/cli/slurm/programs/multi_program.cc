#include "cli/slurm/programs/multi_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/client/endpoint.h"
#include "cli/slurm/programs/program_path.h"
#include "cli/slurm/step_sizes.h"
#include "cli/terminal/output.h"
#include "files/text_file.h"
#include "text/words.h"

namespace dove::cli {
namespace {

constexpr std::size_t kProgramsBytesMax = 1 << 20;
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

  Result<MultiProgram> read() {
    program_.command = {"/bin/sh", "-c", kFind, "dove-programs"};
    while (!text_.empty()) TRY(read_line());
    return std::move(program_);
  }

  // Each task below `tasks` has a program, and there are no others.
  Result<void> check(std::int64_t tasks) {
    std::sort(ranges_.begin(), ranges_.end());
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

  const MultiProgram& program() const { return program_; }

 private:
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
    for (const std::string& argument : arguments_) words.push_back(escaped(argument));
    TRY_ASSIGN(const std::vector<RankRange> ranges, ranges_of(ranks));
    for (const RankRange& range : ranges) {
      for (const std::int64_t number :
           {range.first, range.last, range.place, static_cast<std::int64_t>(words.size())}) {
        program_.command.push_back(std::to_string(number));
      }
      program_.command.insert(program_.command.end(), words.begin(), words.end());
    }
    return {};
  }

  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '%' ? std::string("%%") : std::string(1, c);
    return out;
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
        word = word.value_or("") + escaped(text_.substr(0, 1));
        text_.remove_prefix(1);
      } else if (c == '\'') {
        const std::size_t end = text_.substr(0, text_.find('\n')).find('\'');
        if (end == std::string_view::npos) return wrong("a quote has no end");
        word = word.value_or("") + escaped(text_.substr(0, end));
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
      for (const auto& [first, last] : ranges_) {
        if (range.last < first || range.first > last) continue;
        return wrong(fmt::format("task {} has a program already", std::max(first, range.first)));
      }
      ranges_.emplace_back(range.first, range.last);
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
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;
  MultiProgram program_;
};

}  // namespace

Result<MultiProgram> multi_program(std::string_view text, const std::string& name,
                                   std::int64_t tasks, const std::vector<std::string>& arguments) {
  Reader reader(text, name, arguments);
  TRY_ASSIGN(MultiProgram program, reader.read());
  if (program.tasks == 0 && !program.names_rest) {
    return usage_error(fmt::format("{}: it names no programs", name));
  }
  if (tasks > 0) TRY(reader.check(tasks));
  return program;
}

Result<Invocation> join_programs(const Invocation& given) {
  if (!given.has("multi-prog")) return given;
  if (given.has("bcast")) return usage_error("--multi-prog and --bcast exclude each other");
  Invocation invocation = given;
  const std::string file = given.operands.front();
  TRY_ASSIGN(const std::string text, files::read_text(file, kProgramsBytesMax));
  TRY_ASSIGN(const nlohmann::json sizes, step_sizes(given));
  std::int64_t tasks = sizes.value("tasks", std::int64_t{0});
  const bool is_jobs = tasks == 0 && !sizes.contains("tasks_per_node") && !sizes.contains("nodes");
  if (is_jobs) {
    const std::string of_job = environment_value("SLURM_NTASKS");
    std::from_chars(of_job.data(), of_job.data() + of_job.size(), tasks);
  }
  const std::vector<std::string> arguments(given.operands.begin() + 1, given.operands.end());
  TRY_ASSIGN(MultiProgram program, multi_program(text, file, tasks, arguments));
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
