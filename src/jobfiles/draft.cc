#include "jobfiles/draft.h"

#include <fmt/core.h>

#include "jobfiles/slurm_variables.h"
#include "jobfiles/words.h"
#include "text/utf8.h"
#include "text/variable_name.h"

namespace dove::jobfiles {

namespace {

constexpr std::size_t kEnvironmentBytesMax = 1 << 20;

// Another allocation's variables and our own never travel into a job.
bool travels(std::string_view name) {
  return !name.starts_with("DOVE_") && !name.starts_with("SLURM_") && !name.starts_with("SBATCH_");
}

}  // namespace

std::string to_text(const Warning& warning) {
  return fmt::format("{}: warning: {}", to_text(warning.place), warning.message);
}

void Draft::warn(const Place& place, std::string code, std::string message) {
  if (warnings.size() < kWarningsMax) {
    warnings.push_back(Warning{place, std::move(code), std::move(message)});
  } else if (warnings.size() == kWarningsMax) {
    warnings.push_back(Warning{place, "more_warnings", "further warnings are left out"});
  }
}

namespace {

// One item of --export: "NAME" (the submitter's value) or "NAME=value", which wins over ALL.
Result<void> export_item(Draft& draft, std::string_view item) {
  std::size_t equals = item.find('=');
  std::string name(item.substr(0, equals));
  if (!text::is_variable_name(name)) {
    return at_place(invalid(fmt::format("--export: \"{}\" is not a variable: write ALL, NONE, NAME "
                                        "or NAME=value, joined by commas",
                                        shown(item))),
                    draft.export_list->place);
  }
  std::map<std::string, std::string>& environment = draft.submission.exec.environment;
  if (equals != std::string_view::npos) {
    environment.insert_or_assign(name, std::string(item.substr(equals + 1)));
    return {};
  }
  auto found = draft.context->environment.find(name);
  if (found == draft.context->environment.end()) {
    draft.warn(draft.export_list->place, "no_effect",
               fmt::format("--export: {} is not set where the job is submitted", name));
  } else {
    environment.emplace(name, found->second);
  }
  return {};
}

// Commas separate items but for those inside quotes.
std::vector<std::string> export_items(std::string_view list) {
  std::vector<std::string> items(1);
  char quote = 0;
  for (char c : list) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
    } else if (c == ',' && quote == 0) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

Result<void> read_export_file(Draft& draft) {
  const Option& option = *draft.export_file;
  if (!draft.context->read_file) {
    return at_place(invalid("--export-file: files cannot be read here: use --export"),
                    option.place);
  }
  auto text = draft.context->read_file(option.value);
  if (!text.ok()) return at_place(text.error(), option.place);
  if (text->size() > kEnvironmentBytesMax) {
    return at_place(invalid("--export-file: the file is larger than 1 MiB"), option.place);
  }
  for (std::string_view item : split(*text, '\0')) {
    if (trimmed(item).empty()) continue;
    std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || !text::is_variable_name(item.substr(0, equals)) ||
        !text::is_utf8(item)) {
      return at_place(invalid(fmt::format("--export-file: \"{}\" is not NAME=value in UTF-8, ended "
                                          "by a zero byte",
                                          shown(item))),
                      option.place);
    }
    draft.submission.exec.environment[std::string(item.substr(0, equals))] =
        item.substr(equals + 1);
  }
  return {};
}

}  // namespace

Result<void> finish_environment(Draft& draft, bool export_by_default) {
  bool all = export_by_default;
  std::vector<std::string> items;
  if (draft.export_list) {
    all = false;
    for (std::string& item : export_items(draft.export_list->value)) {
      if (equal_without_case(item, "all")) {
        all = true;
      } else if (!item.empty() && !equal_without_case(item, "none") &&
                 !equal_without_case(item, "nil")) {
        items.push_back(std::move(item));
      }
    }
  }
  std::map<std::string, std::string>& environment = draft.submission.exec.environment;
  if (all) {
    for (const auto& [name, value] : draft.context->environment) {
      if (!travels(name) || !text::is_variable_name(name) || !text::is_utf8(value)) continue;
      environment.emplace(name, value);
    }
  }
  if (draft.export_file) TRY(read_export_file(draft));
  for (const std::string& item : items) TRY(export_item(draft, item));
  add_slurm_variables(draft, environment);
  std::size_t bytes = 0;
  for (const auto& [name, value] : environment) bytes += name.size() + value.size() + 2;
  if (bytes > kEnvironmentBytesMax) {
    Place place = draft.export_list ? draft.export_list->place : Place{"environment", 0, 0};
    return at_place(invalid("the environment of the job is larger than 1 MiB: name the variables "
                            "it needs with --export=NAME,NAME"),
                    place);
  }
  return {};
}

namespace {

// A path without its "..", from the working directory as it lies on the disk.
std::string without_climbs(const Draft& draft, std::string path) {
  const Context& context = *draft.context;
  const std::string& workdir = draft.submission.exec.workdir;
  if (path[0] != '/') {
    const bool submitters = workdir.empty() || workdir == context.workdir;
    const std::string& base = !submitters                        ? workdir
                              : context.physical_workdir.empty() ? context.workdir
                                                                 : context.physical_workdir;
    path = base + "/" + path;
  }
  std::vector<std::string_view> steps;
  for (std::string_view step : split(path, '/')) {
    if (step == ".." && !steps.empty()) steps.pop_back();
    if (step != ".." && step != "." && !step.empty()) steps.push_back(step);
  }
  std::string result;
  for (std::string_view step : steps) result += "/" + std::string(step);
  return result.empty() ? "/" : result;
}

// What agents put in for each letter; a name with slashes is a path, as sbatch has it.
void check_letters(Draft& draft, const Option& option, std::string& path) {
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i] != '%') continue;
    std::size_t end = path.find_first_not_of("0123456789", i + 1);
    if (end == std::string::npos) break;
    const std::string& name = draft.submission.spec.name;
    if (path[end] == 'x' && name.find('/') != std::string::npos) {
      path.replace(i, end + 1 - i, name);
      i += name.size() - 1;
      continue;
    }
    if (std::string_view("%jJAaxuNnts").find(path[end]) == std::string_view::npos) {
      draft.warn(option.place, "no_effect",
                 fmt::format("--{}: %{} has no meaning in a file's name here: %j %J %A %a %x %u %N "
                             "%n %t %s do",
                             option.name, shown(path.substr(end, 1))));
    }
    i = end;
  }
}

void check_path(Draft& draft, const Option& option, std::string& path) {
  if (path.empty()) return;
  check_letters(draft, option, path);
  for (std::string_view step : split(path, '/')) {
    if (step != "..") continue;
    path = without_climbs(draft, path);
    return;
  }
}

}  // namespace

void finish_output_paths(Draft& draft) {
  if (draft.output) check_path(draft, *draft.output, draft.submission.exec.output.stdout_path);
  if (draft.input) check_path(draft, *draft.input, draft.submission.exec.output.stdin_path);
  if (draft.error) check_path(draft, *draft.error, draft.submission.exec.output.stderr_path);
}

}  // namespace dove::jobfiles
