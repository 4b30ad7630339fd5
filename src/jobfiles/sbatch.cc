#include "jobfiles/sbatch.h"

#include <fmt/core.h>

#include "jobfiles/options.h"
#include "jobfiles/script_steps.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

constexpr std::string_view kMark = "#SBATCH";
constexpr std::size_t kLineMax = 64 << 10;
constexpr std::size_t kOptionsMax = 200;  // in a script

bool blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

// The last part of a path.
std::string base_name(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// One word from line[at]; moves `at` behind it.
Result<std::string> read_word(std::string_view line, std::size_t& at, const Place& place) {
  std::string word;
  char quote = 0;
  for (; at < line.size(); ++at) {
    char c = line[at];
    if (quote == 0 && (blank(c) || c == '#')) break;
    if (c == '\\' && at + 1 < line.size()) {
      word += line[++at];
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      word += c;
    }
  }
  if (quote != 0) {
    return at_place(invalid(fmt::format("the quote {} is never closed on this line", quote)),
                    place);
  }
  return word;
}

}  // namespace

Result<DirectiveWords> split_directive(std::string_view line, const Place& first) {
  DirectiveWords result;
  if (line.size() > kLineMax) {
    return at_place(invalid(fmt::format("the line is longer than {} bytes", kLineMax)), first);
  }
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && blank(line[at])) ++at;
    if (at >= line.size() || line[at] == '#') break;
    Place place = first;
    place.column += static_cast<int>(at);
    TRY_ASSIGN(std::string word, read_word(line, at, place));
    result.words.push_back(std::move(word));
    result.places.push_back(std::move(place));
  }
  return result;
}

namespace {

// `count` is how many options the script had before; it may have kOptionsMax.
Result<void> apply_directive(Draft& draft, std::string_view line, const Place& first,
                             std::size_t& count) {
  TRY_ASSIGN(DirectiveWords split, split_directive(line, first));
  std::size_t used = 0;
  TRY_ASSIGN(std::vector<Option> options, read_options(split.words, split.places, used));
  for (const Option& option : options) {
    if (++count > kOptionsMax) {
      return at_place(invalid(fmt::format("more than {} options in a script", kOptionsMax)),
                      option.place);
    }
    TRY(apply_sbatch_option(draft, option.name, option.value, option.place));
  }
  if (used < split.words.size() &&
      (split.words[used] == "hetjob" || split.words[used] == "packjob")) {
    return at_place(
        invalid("heterogeneous jobs are not read from #SBATCH lines: write the job in YAML "
                "with one of `groups:` for each part",
                "unsupported"),
        split.places[used]);
  }
  if (used < split.words.size()) {
    return at_place(invalid(fmt::format("\"{}\" is not an option: options begin with - or --, and "
                                        "values with blanks need quotes",
                                        shown(split.words[used])),
                            "invalid_directive"),
                    split.places[used]);
  }
  return {};
}

// Directives of other schedulers.
void warn_about_others(Draft& draft, std::string_view line, const Place& place) {
  if (!line.starts_with("#")) return;
  for (std::string_view other : {"PBS", "BSUB", "COBALT", "$", "OAR", "PJM"}) {
    if (line.substr(1).starts_with(other) && line.size() > other.size() + 1 &&
        blank(line[other.size() + 1])) {
      draft.warn(place, "no_effect",
                 fmt::format("#{} lines have no effect: write them as #SBATCH", other));
    }
  }
}

// Comments that look like directives of somebody.
void warn_about_comment(Draft& draft, std::string_view line, const Place& place) {
  std::string_view words = trimmed(line.substr(line.find_first_not_of("# \t")));
  if (words.starts_with("SBATCH ") || words.starts_with("SBATCH\t")) {
    // "##SBATCH" and "# #SBATCH" are how people switch a directive off, "# SBATCH" how they mistype
    // it.
    if (line.find('#', line.find('#') + 1) < line.find("SBATCH")) return;
    draft.warn(place, "not_a_directive",
               "this line is a comment and has no effect: a directive begins with #SBATCH, without "
               "blanks before or after the #");
    return;
  }
  warn_about_others(draft, line, place);
}

}  // namespace

Result<void> apply_directives(Draft& draft, const std::string& name, std::string_view script) {
  int number = 0;
  std::size_t options = 0;
  bool commands = false;
  for (std::string_view line : split(script, '\n')) {
    ++number;
    Place place{name, number, 1};
    bool directive =
        line.starts_with(kMark) &&
        (line.size() == kMark.size() || blank(line[kMark.size()]) || line[kMark.size()] == '-');
    if (commands) {
      if (directive) {
        draft.warn(place, "no_effect",
                   "this #SBATCH line has no effect: it comes after the first command; move it up");
      } else if (line.starts_with("#PBS")) {
        warn_about_others(draft, line, place);  // sbatch reads these anywhere
      }
      continue;
    }
    std::size_t start = line.find_first_not_of(" \t\v\f");
    if (start == std::string_view::npos) continue;
    if (directive) {
      place.column += static_cast<int>(kMark.size());
      TRY(apply_directive(draft, line.substr(kMark.size()), place, options));
    } else if (line[start] != '#') {
      commands = true;
    } else if (line.starts_with(kMark)) {
      return at_place(
          invalid("#SBATCH must be followed by a blank and options", "invalid_directive"), place);
    } else if (line.find_first_not_of("# \t") != std::string_view::npos) {
      warn_about_comment(draft, line, place);
    }
  }
  return {};
}

Result<void> apply_overrides(Draft& draft, bool with_environment) {
  if (with_environment) {
    draft.level = Level::kEnvironment;
    TRY(apply_environment(draft));
  }
  draft.level = Level::kCommandLine;
  for (const Option& option : draft.context->options) {
    TRY(apply_sbatch_option(draft, option.name, option.value, option.place));
  }
  return {};
}

namespace {

Result<void> check_script(const Source& source) {
  const std::string& text = source.text;
  Place top{source.name, 1, 1};
  if (trimmed(text).empty()) {
    return at_place(invalid("the batch script is empty: write #!/bin/sh and commands"), top);
  }
  if (!text.starts_with("#!")) {
    return at_place(invalid("this does not look like a batch script: the first line must be #! and "
                            "the path of an interpreter, such as #!/bin/bash"),
                    top);
  }
  int line = 1;
  int column = 1;
  for (std::size_t i = 0; i < text.size(); ++i, ++column) {
    if (text[i] == '\0') {
      return at_place(invalid("the script has a zero byte: scripts are text"),
                      Place{source.name, line, column});
    }
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      return at_place(invalid("the line ends like on DOS (\\r\\n), which the interpreter cannot "
                              "run: convert the script, for instance with dos2unix"),
                      Place{source.name, line, column});
    }
    if (text[i] == '\n') {
      ++line;
      column = 0;
    }
  }
  return {};
}

// An empty --job-name stands for the name that the job has without one.
Result<void> finish_batch(Draft& draft, const std::string& own_name) {
  JobSpec& spec = draft.submission.spec;
  ExecSpec& exec = draft.submission.exec;
  TRY(apply_overrides(draft, true));
  if (spec.name.empty()) spec.name = own_name;
  spec.launch = LaunchMode::kBatch;
  TRY(finish_sizes(draft));
  finish_affinity(draft);
  TRY(finish_environment(draft, true));
  finish_output_paths(draft);
  if (exec.workdir.empty()) exec.workdir = draft.context->workdir;
  if (exec.output.stdout_path.empty()) {
    exec.output.stdout_path = spec.array.indices.empty() ? "slurm-%j.out" : "slurm-%A_%a.out";
  }
  return {};
}

ParsedJob result_of(Draft draft) {
  return ParsedJob{std::move(draft.submission), std::move(draft.warnings), {}, draft.behaviour};
}

}  // namespace

Result<ParsedJob> parse_sbatch(const Source& source, const Context& context) {
  TRY(check_script(source));
  Draft draft;
  draft.context = &context;
  draft.submission.spec.name = base_name(source.name).empty() ? "sbatch" : base_name(source.name);
  draft.submission.exec.script = source.text;
  draft.submission.exec.script_arguments = source.arguments;
  draft.submission.exec.source_name = source.name;
  const std::string own_name = draft.submission.spec.name;
  TRY(apply_directives(draft, source.name, source.text));
  TRY(finish_batch(draft, own_name));
  warn_of_steps(draft, source.name, source.text);
  return result_of(std::move(draft));
}

Result<ParsedJob> parse_wrap(const Source& source, const Context& context) {
  Place place{source.name, 1, 1};
  if (trimmed(source.text).empty()) {
    return at_place(invalid("--wrap: the command is empty"), place);
  }
  if (source.text.find('\0') != std::string::npos) {
    return at_place(invalid("--wrap: the command has a zero byte"), place);
  }
  if (!source.arguments.empty()) {
    return at_place(invalid("--wrap takes no script and no arguments: put them into the command"),
                    place);
  }
  Draft draft;
  draft.context = &context;
  draft.submission.spec.name = "wrap";
  draft.submission.exec.script =
      "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n" + source.text + "\n";
  draft.submission.exec.source_name = source.name;
  TRY(finish_batch(draft, "wrap"));
  return result_of(std::move(draft));
}

}  // namespace dove::jobfiles
