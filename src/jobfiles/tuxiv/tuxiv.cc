#include "jobfiles/tuxiv/tuxiv.h"

#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/options.h"
#include "jobfiles/sbatch.h"
#include "jobfiles/tuxiv/environment.h"
#include "jobfiles/tuxiv/environment_shell.h"
#include "jobfiles/tuxiv/tuxiv_script.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

// An argument of execve() holds 128 KiB; quotes take some.
constexpr std::size_t kTaskScriptMax = 100 << 10;
constexpr std::size_t kGeneralMax = 1000;

// One item of job.general, as the #SBATCH line tcloud makes of it.
Result<void> apply_general(Draft& draft, const TuxivItem& item);

// What no option of sbatch is called: upstream hands it to sbatch, which refuses the whole job.
// Here the job runs: a number for a name with one likely meaning is taken, anything else is left
// out.
Result<void> apply_unknown(Draft& draft, const TuxivItem& item, std::string_view text,
                           const Error& error) {
  std::size_t end = text.find_first_of("= ");
  std::string_view name = trimmed(text.substr(0, end));
  std::string value(end == std::string_view::npos ? std::string_view()
                                                  : trimmed(text.substr(end + 1)));
  auto meant = suggested_option(name);
  bool ambiguous = error.code == "ambiguous_option";
  if (!meant) {
    draft.warn(item.place, "unknown_option",
               fmt::format("{} option `{}` has no effect: see docs/guide/sbatch.md for the options "
                           "there are",
                           ambiguous ? "ambiguous" : "unknown", shown(text)));
    return {};
  }
  // A yes-or-no such as use_gpu=1 says nothing about how many.
  if (!to_number(value) || *meant == "gres") {
    std::string example = *meant == "gres" ? "gpu:1" : value.empty() ? "VALUE" : value;
    draft.warn(item.place, "unknown_option",
               fmt::format("unknown option `{}` has no effect: did you mean `{}={}`?", shown(text),
                           *meant, shown(example)));
    return {};
  }
  draft.warn(item.place, "read_as",
             fmt::format("unknown option `{}`: did you mean `{}={}`? It is read as that",
                         shown(text), *meant, value));
  return apply_sbatch_option(draft, *meant, value, item.place);
}

Result<void> apply_general(Draft& draft, const TuxivItem& item) {
  std::string text = substituted(item.text, *draft.context);
  std::string_view option = trimmed(text);
  if (option.empty()) {
    draft.warn(item.place, "no_effect", "this item of job.general is empty");
    return {};
  }
  if (std::size_t newline = option.find('\n'); newline != std::string_view::npos) {
    draft.warn(item.place, "no_effect",
               "only the first line of this item of job.general has an effect: one option an item");
    option = trimmed(option.substr(0, newline));
  }
  if (option[0] == '-') {
    option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
    draft.warn(item.place, "read_as",
               fmt::format("options are written without dashes here: read as `{}`", shown(option)));
  }
  TRY_ASSIGN(DirectiveWords line, split_directive("--" + std::string(option), item.place));
  // All of an item stands at its own place: quotes of YAML make columns inside it meaningless.
  for (Place& place : line.places) place = item.place;
  if (line.words.empty() || line.words[0] == "--") return {};
  std::size_t used = 0;
  auto options = read_options(line.words, line.places, used);
  if (!options.ok()) {
    const std::string& code = options.error().code;
    if (code != "unknown_option" && code != "ambiguous_option") return options.error();
    return apply_unknown(draft, item, option, options.error());
  }
  for (const Option& each : *options) {
    TRY(apply_sbatch_option(draft, each.name, each.value, each.place));
  }
  if (used < line.words.size()) {
    draft.warn(item.place, "no_effect",
               fmt::format("\"{}\" in this item of job.general has no effect: write NAME=VALUE",
                           shown(line.words[used])));
  }
  return {};
}

bool ends_open(std::string_view item) {
  item = trimmed(item);
  for (std::string_view end : {";", "&&", "||", "|", "&", "\\", "(", "{", "then", "do", "else"}) {
    if (item.ends_with(end)) return true;
  }
  return false;
}

// All items are one command line; who meant several is told.
void warn_about_joining(const TuxivFile& file, Draft& draft) {
  const std::vector<TuxivItem>& items = file.entrypoint;
  if (items.size() < 2) return;
  for (std::size_t i = 1; i < items.size(); ++i) {
    std::string_view item = trimmed(items[i].text);
    std::string_view first = item.substr(0, item.find_first_of(" \t="));
    bool argument = item.empty() || item[0] == '-' || item[0] == '$' || item[0] == '"' ||
                    item[0] == '\'' || item[0] == '|' || item[0] == '&' || item[0] == '>' ||
                    item[0] == '<' || first.find('/') != std::string_view::npos ||
                    trimmed(items[i - 1].text).starts_with("-");
    if (argument || ends_open(items[i - 1].text)) continue;
    draft.warn(items[i].place, "joined_commands",
               fmt::format("\"{}\" looks like a command of its own, but all items are one command "
                           "line: put && at the end of the item before",
                           shown(item)));
    return;
  }
  draft.warn(
      items[1].place, "joined",
      fmt::format("the {} items of entrypoint are joined into one command line", items.size()));
}

bool sets_devices(std::string_view text) {
  constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES=";
  std::size_t at = text.find(kName);
  if (at == std::string_view::npos) return false;
  return at == 0 || text[at - 1] == ' ' || text[at - 1] == '\t' || text[at - 1] == ';';
}

// What bash's export takes: NAME=value, or the name of a variable that is already there.
bool exports(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('='));
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void warn_about_the_rest(const TuxivFile& file, Draft& draft, const Place& top) {
  if (file.entrypoint.empty()) {
    draft.warn(top, "empty", "there is no entrypoint: the job runs no command");
  }
  warn_about_joining(file, draft);
  for (const std::vector<TuxivItem>* items : {&file.entrypoint, &file.env}) {
    for (const TuxivItem& item : *items) {
      if (!sets_devices(item.text)) continue;
      draft.warn(item.place, "devices_overridden",
                 "CUDA_VISIBLE_DEVICES is set by hand: it replaces the devices that the job was "
                 "given; leave it out");
    }
  }
  for (const TuxivItem& item : file.env) {
    if (exports(item.text)) continue;
    draft.warn(item.place, "no_effect",
               fmt::format("`{}` sets nothing: write NAME=value", shown(item.text)));
  }
  for (const TuxivItem& item : file.datasets) {
    draft.warn(item.place, "no_effect",
               fmt::format("datasets are not fetched: put \"{}\" below {} before the job runs",
                           shown(item.text), tuxiv_userdir(*draft.context)));
  }
}

// Options of job.general, then tcloud's default for the output.
Result<void> apply_job(const TuxivFile& file, Draft& draft) {
  JobSpec& spec = draft.submission.spec;
  ExecSpec& exec = draft.submission.exec;
  bool output = false;
  if (file.general.size() > kGeneralMax) {
    return at_place(invalid(fmt::format("job.general has more than {} items", kGeneralMax)),
                    file.general[kGeneralMax].place);
  }
  for (const TuxivItem& item : file.general) {
    TRY(apply_general(draft, item));
    output = output || item.text.find("output=") != std::string::npos;
  }
  if (!output || exec.output.stdout_path.empty()) {
    exec.output.stdout_path = output ? "slurm-%j.out" : default_output(*draft.context);
    draft.output.reset();
  }
  if (!file.job_name.empty()) {
    TRY(apply_sbatch_option(draft, "job-name", file.job_name, file.job_name_place));
    draft.warn(file.job_name_place, "honoured",
               fmt::format("job.name is the job's name here (\"{}\"); tcloud ignores it",
                           shown(spec.name)));
  }
  return {};
}

// Our run.sh: the environment, then the entrypoint, joined as tcloud joins it. The environment is
// entered once before the tasks start, so what cannot be had is reported once.
Result<std::string> task_script(const TuxivFile& file, ParsedJob& job, Draft& draft) {
  TRY_ASSIGN(job.environment, environment_script(file, draft.context->home, draft));
  std::string text = "\n";
  for (const TuxivItem& item : file.entrypoint) text += item.text + " \\\n";
  if (job.environment.size() + text.size() > kTaskScriptMax) {
    Place place = file.entrypoint.empty() ? file.environment_place : file.entrypoint[0].place;
    return at_place(invalid(fmt::format("entrypoint and environment have more than {} bytes: put "
                                        "the commands into a script and start that",
                                        kTaskScriptMax)),
                    place);
  }
  const std::string entrypoint = shell_quoted(text);
  if (job.environment.empty()) return "srun /bin/bash -c " + entrypoint;
  const std::string quoted = shell_quoted(kEnvironmentShell);
  job.boilerplate = quoted.substr(1, quoted.size() - 2);
  return fmt::format(
      "dove_environment={}\n/bin/bash -c \"$dove_environment\" || exit 1\n"
      "srun /bin/bash -c \"$dove_environment\"{}",
      shell_quoted(job.environment), entrypoint);
}

std::string directory_name(const Context& context) {
  std::string name = context.workdir.substr(context.workdir.rfind('/') + 1);
  return name.empty() ? "run.slurm" : name;
}

}  // namespace

std::string tuxiv_userdir(const Context& context) {
  return context.userdir.empty() ? context.home + "/USERDIR" : context.userdir;
}

std::string default_output(const Context& context) {
  return tuxiv_userdir(context) + "/slurm_log/slurm-%j.out";
}

Result<ParsedJob> parse_tuxiv(const Source& source, const Context& context) {
  if (source.text.find('\0') != std::string::npos) {
    return at_place(invalid("the file has a zero byte: it must be text"), Place{source.name, 1, 1});
  }
  // Keys that nobody asks for have no effect, whatever their aliases multiply.
  TRY_ASSIGN(yaml::ValueRef root,
             yaml::read(source.name, source.text, {.counts_aliases = false}, "job"));
  Draft draft;
  draft.context = &context;
  TRY_ASSIGN(TuxivFile file, read_tuxiv(root, draft));
  JobSpec& spec = draft.submission.spec;
  ExecSpec& exec = draft.submission.exec;
  spec.name = directory_name(context);
  spec.launch = LaunchMode::kBatch;
  exec.workdir = context.workdir;
  exec.source_name = source.name;
  TRY(apply_job(file, draft));
  warn_about_the_rest(file, draft, Place{source.name, 1, 1});
  ParsedJob job;
  TRY_ASSIGN(std::string tasks, task_script(file, job, draft));
  exec.script =
      slurm_head(file, context) + tasks + " " + shell_quoted(context.workdir + "/run.sh") + "\n";
  // README of tcloud promises this one, tcloud forgets it.
  exec.environment["TACC_SLURM_USERLOG"] = tuxiv_userdir(context) + "/slurm_log";
  TRY(apply_overrides(draft, false));
  TRY(finish_sizes(draft));
  TRY(finish_environment(draft, false));
  finish_output_paths(draft);
  job.submission = std::move(draft.submission);
  job.warnings = std::move(draft.warnings);
  job.generated = tcloud_files(file, context);
  job.behaviour = draft.behaviour;
  return job;
}

}  // namespace dove::jobfiles
