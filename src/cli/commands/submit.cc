// dove submit: from any job file, a script, a directory or a command to a job.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/follow.h"
#include "cli/client/submission.h"
#include "cli/commands/job_options.h"
#include "cli/commands/side.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "codec/json.h"

namespace dove::cli {
namespace {

using nlohmann::json;

const std::vector<std::pair<const char*, jobfiles::Format>> kFormats = {
    {"auto", jobfiles::Format::kAuto},
    {"tuxiv", jobfiles::Format::kTuxiv},
    {"sbatch", jobfiles::Format::kSbatch},
    {"native", jobfiles::Format::kNative}};

Result<jobfiles::Format> input_format(const Invocation& invocation) {
  const std::string word = invocation.get("format", "auto");
  for (const auto& [name, format] : kFormats) {
    if (word == name) return format;
  }
  return usage_error(fmt::format("--format takes auto, tuxiv, sbatch or native, not '{}'", word));
}

Result<jobfiles::ParsedJob> parse_job(const Invocation& invocation) {
  const std::vector<std::string>& operands = invocation.operands;
  // `-- PROGRAM ARGS`: the program once per task, without a shell.
  const bool is_command = invocation.operands_before_dashes == 0 && !operands.empty();
  jobfiles::Source source;
  jobfiles::Context context = local_context();
  if (invocation.has("wrap")) {
    if (!operands.empty()) return usage_error("give either --wrap or a file, not both");
    source = {"--wrap", invocation.get("wrap"), jobfiles::Format::kWrap, {}};
  } else if (operands.empty()) {
    return usage_error(
        "nothing to run: give a file, a directory, - for stdin, --wrap='COMMAND', or -- PROGRAM "
        "ARGS");
  } else if (!is_command) {
    TRY_ASSIGN(source, read_source(operands[0]));
    TRY_ASSIGN(source.format, input_format(invocation));
    source.arguments.assign(operands.begin() + 1, operands.end());
    context = context_for(operands[0], source);
  }
  context.options = job_options(invocation);
  context.find_element = [&invocation](JobId array, std::int32_t index) {
    return find_element(invocation, array, index);
  };
  auto parsed = is_command
                    ? jobfiles::complete(jobfiles::command_job(operands), jobfiles::kTyped, context)
                    : jobfiles::parse(source, context);
  TRY_ASSIGN(jobfiles::ParsedJob job, std::move(parsed));
  TRY(set_fields(invocation, job));
  return job;
}

// For people without what is the same in every job's script; -o json and -o yaml give all of it.
void print_dry_run(const jobfiles::ParsedJob& job, Format format) {
  codec::Submission shown = job.submission;
  std::string& script = shown.exec.script;
  const std::size_t at = job.boilerplate.empty() ? std::string::npos : script.find(job.boilerplate);
  if (at != std::string::npos && format != Format::kJson && format != Format::kYaml) {
    const auto lines = std::count(job.boilerplate.begin(), job.boilerplate.end(), '\n');
    script.replace(at, job.boilerplate.size(),
                   fmt::format("# ... {} lines that make and enter the environment, the same in "
                               "every job: -o yaml prints them\n",
                               lines));
  }
  print_value(codec::write_submission(shown),
              format == Format::kJson ? Format::kJson : Format::kYaml);
}

Result<int> run_submit(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(const jobfiles::ParsedJob job, parse_job(invocation));
  if (!job.behaviour.quiet) print_warnings(job.warnings);
  if (invocation.has("dry-run") || job.behaviour.test_only) {
    print_dry_run(job, format);
    return kExitOk;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<SideApp> sides, side_apps(api, invocation, job));
  TRY_ASSIGN(const Submitted submitted, submit(api, job));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(json{{"id", std::atoll(submitted.id.c_str())}}, format);
  } else if (format == Format::kName || job.behaviour.parsable) {
    print(submitted.id + "\n");
  } else if (!job.behaviour.quiet) {
    print(fmt::format("Submitted job {}\n", submitted.id));
  }
  std::fflush(stdout);
  submit_sides(api, sides, job, submitted.id);
  if (!job.behaviour.wait) return kExitOk;
  std::fflush(stdout);
  return run_to_end(api, submitted.id, 0, false);
}

}  // namespace

std::vector<Command> submit_commands() {
  CommandSpec spec;
  spec.name = "submit";
  spec.summary = "Submit a job";
  spec.group = "Jobs";
  spec.operands = "FILE|DIRECTORY|- [ARGUMENT...] | -- PROGRAM [ARGUMENT...]";
  spec.completes = "file";
  spec.operands_max = -1;
  spec.description =
      "FILE is a tuxiv.conf, an sbatch script, or a job in YAML or JSON; a DIRECTORY holds one\n"
      "under a usual name; - reads stdin. `-- PROGRAM` runs a program once per task. The options\n"
      "of sbatch set any field and override the file.";
  spec.options = {{"dry-run", 0, "", "print the job that the file means, and submit nothing"},
                  {"format", 0, "FORMAT", "the file's format: auto, tuxiv, sbatch or native"},
                  set_option(),
                  output_option()};
  for (OptionSpec& option : side_options()) spec.options.push_back(std::move(option));
  for (OptionSpec& option : job_option_specs()) spec.options.push_back(std::move(option));
  return {{spec, guarded("submit", run_submit)}};
}

}  // namespace dove::cli
