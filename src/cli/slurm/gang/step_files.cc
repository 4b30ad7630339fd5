#include "cli/slurm/gang/step_files.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>

#include "cli/client/step.h"
#include "cli/terminal/output.h"
#include "text/output_pattern.h"

namespace dove::cli {
namespace {

// What the letters stand for that are the same in all of the step.
std::map<char, std::string> numbers_of(const GangContext& context) {
  const auto variable = [&](const char* name) {
    const auto found = context.environment.find(name);
    return text::as_file_name(found == context.environment.end() ? "" : found->second);
  };
  std::map<char, std::string> numbers{{'j', context.job.id},
                                      {'A', context.job.array},
                                      {'a', context.job.index},
                                      {'u', variable("USER")},
                                      {'x', variable("DOVE_JOB_NAME")}};
  if (context.step >= 0) {
    numbers['s'] = std::to_string(context.step);
    numbers['J'] = fmt::format("{}.{}", context.job.id, context.step);
  }
  return numbers;
}

std::string filled(const std::string& pattern, const std::map<char, std::string>& meanings) {
  return text::fill_pattern(pattern, [&](char letter) {
    const auto found = meanings.find(letter);
    return found == meanings.end() ? "" : found->second;
  });
}

Result<StepFile> read_file(const std::string& option, const std::string& given,
                           const GangContext& context, std::int32_t tasks) {
  StepFile file;
  if (given.empty() || given == "all") return file;
  if (given == "none") {
    file.pattern = "/dev/null";
    return file;
  }
  if (given.find_first_not_of("0123456789") == std::string::npos) {
    file.of = StepFile::Of::kTask;
    const auto read = std::from_chars(given.data(), given.data() + given.size(), file.only_rank);
    if (read.ec == std::errc() && file.only_rank < tasks) return file;
    return no_such_task(option, given, tasks);
  }
  std::set<char> letters;
  text::fill_pattern(given, [&](char letter) {
    letters.insert(letter);
    return std::string();
  });
  if (context.step < 0 && (letters.contains('s') || letters.contains('J'))) {
    return usage_error(
        fmt::format("--{}={}: only the srun on the job's first node knows which step this is; use "
                    "%j and %t in place of %s and %J",
                    option, given));
  }
  if (letters.contains('N') || letters.contains('n')) file.of = StepFile::Of::kNode;
  if (letters.contains('t')) file.of = StepFile::Of::kTask;
  file.pattern = given.front() == '/' ? given : text::as_pattern(context.workdir) + "/" + given;
  return file;
}

std::string name_of(const StepFiles& files, const StepFile& file, const std::string& node,
                    std::int32_t node_rank, std::int32_t rank) {
  std::map<char, std::string> meanings = files.numbers;
  meanings['N'] = node;
  meanings['n'] = std::to_string(node_rank);
  meanings['t'] = std::to_string(rank);
  return filled(file.pattern, meanings);
}

}  // namespace

bool names_a_file(std::string_view option) {
  return option == "output" || option == "error" || option == "input";
}

Result<StepFiles> step_files(const Invocation& invocation, const GangContext& context,
                             std::int32_t tasks) {
  StepFiles files;
  files.numbers = numbers_of(context);
  files.append = invocation.get("open-mode").starts_with('a');
  TRY_ASSIGN(files.output, read_file("output", invocation.get("output"), context, tasks));
  TRY_ASSIGN(files.error, read_file("error", invocation.get("error"), context, tasks));
  if (!invocation.has("error")) {
    files.error = files.output;
    files.error.joins_output = true;
  }
  return files;
}

StepStream stream_of_node(const StepFiles& files, const StepFile& file, const std::string& node,
                          std::int32_t node_rank) {
  if (file.of == StepFile::Of::kTask) return {};
  return {name_of(files, file, node, node_rank, 0), files.append};
}

std::pair<std::string, std::string> files_of_task(const StepFiles& files, const std::string& node,
                                                  std::int32_t node_rank, std::int32_t rank) {
  const auto name = [&](const StepFile& file) -> std::string {
    if (file.of != StepFile::Of::kTask) return "";
    if (file.only_rank >= 0) return rank == file.only_rank ? "" : "/dev/null";
    return file.joins_output ? "&1" : name_of(files, file, node, node_rank, rank);
  };
  return {name(files.output), name(files.error)};
}

}  // namespace dove::cli
