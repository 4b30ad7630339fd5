// dove app list, app start: the apps that the site declares (kind App), and those that are built
// in.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/client/pages.h"
#include "cli/commands/app_start.h"
#include "cli/commands/job_options.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr char kGroup[] = "Sessions";

std::string open_to(const json& app) {
  const std::string project = text_of(app, "project");
  const std::string domain = text_of(app, "domain");
  if (!project.empty()) return "project " + project;
  return domain.empty() ? "everybody" : "domain " + domain;
}

Result<int> run_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, get_all(api, "/v1/apps", "apps"));
  const json& apps = list_of(answer, "apps");
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(json{{"apps", apps}}, format);
    return kExitOk;
  }
  Table table({{"NAME"}, {"TITLE"}, {"OPEN TO"}});
  for (const json& app : apps) {
    const std::string name = printable(text_of(app, "name"));
    if (format == Format::kName) {
      print(name + "\n");
      continue;
    }
    const std::string who = flag_of(app, "built_in") ? "everybody (built in)" : open_to(app);
    table.add({{name, ""}, {printable(text_of(app, "title")), ""}, {printable(who), ""}});
  }
  if (format != Format::kName) print(table.text(false));
  return kExitOk;
}

Result<int> run_start(const Invocation& invocation) {
  AppUse use;
  use.arguments.assign(invocation.operands.begin() + 1, invocation.operands.end());
  use.options = job_options(invocation);
  TRY(check_way_in(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const FoundApp app, find_app(api, invocation.operands[0]));
  if (app.built_in != nullptr && app.built_in->wants_logs) {
    if (use.arguments.empty()) {
      return usage_error(fmt::format(
          "{} shows the logs of a directory: dove app start {} -- LOGDIR", app.name, app.name));
    }
    use.log_directory = use.arguments[0];
    use.arguments.erase(use.arguments.begin());
  }
  return start_app(api, invocation, app, use);
}

}  // namespace

std::vector<Command> declared_app_commands() {
  CommandSpec list;
  list.name = "app list";
  list.summary = "Show the apps that you may start";
  list.group = kGroup;
  list.description =
      "An app is a session by its name: its program, image and amounts are declared by the site\n"
      "(kind App, docs/guide/sessions.md). One that is built in gives way to one that is declared.";
  list.options = {output_option()};
  CommandSpec start;
  start.name = "app start";
  start.summary = "Start an app in a job and lead there";
  start.group = kGroup;
  start.operands = "NAME [-- ARGUMENT...]";
  start.operands_min = 1;
  start.operands_max = -1;
  start.description =
      "As `dove notebook` does for its own: submits the job, says why it waits, and prints the URL "
      "once\nthe app answers. Options win over what the app declares; further arguments are its "
      "program's.";
  start.options = way_in_options();
  start.options.push_back(
      {"detach", 0, "", "submit the job and leave; `dove open JOB` leads to it"});
  start.options.push_back(set_option());
  for (OptionSpec& option : job_option_specs()) start.options.push_back(std::move(option));
  return {{list, guarded("app list", run_list)}, {start, guarded("app start", run_start)}};
}

}  // namespace dove::cli
