// dove notebook, code, tensorboard, desktop: apps that run in a job and are used from here; dove
// open comes back to one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/client/session.h"
#include "cli/commands/app_job.h"
#include "cli/commands/app_start.h"
#include "cli/commands/job_options.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "codec/json.h"
#include "wire/http.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr char kGroup[] = "Sessions";

bool is_job_id(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789_") == std::string::npos;
}

// TensorBoard's log directory: as given, or that of a job.
Result<std::string> log_directory(const Invocation& invocation, const std::string& operand) {
  if (!is_job_id(operand)) return operand;
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json job, api.get(job_target(operand)));
  const auto exec = job.find("exec");
  if (exec == job.end() || !exec->is_object()) {
    return Error{ErrorKind::kDenied, "not_yours",
                 fmt::format("only job {}'s user and administrators see where it writes; name the "
                             "log directory",
                             operand),
                 ""};
  }
  const std::string workdir = text_of(*exec, "workdir");
  if (!workdir.empty()) return workdir;
  return Error{ErrorKind::kConflict, "no_log_directory",
               fmt::format("job {} writes to a directory of its own, which is removed with it; "
                           "name the log directory",
                           operand),
               ""};
}

Result<int> run_app(const apps::AppProgram& app, const Invocation& invocation) {
  AppUse use;
  use.arguments = invocation.operands;
  use.program = invocation.get("program");
  use.options = job_options(invocation);
  if (app.wants_logs) {
    if (use.arguments.empty()) {
      return usage_error("name the logs: dove tensorboard LOGDIR, or the id of a job");
    }
    TRY_ASSIGN(use.log_directory, log_directory(invocation, use.arguments[0]));
    use.arguments.erase(use.arguments.begin());
  }
  TRY(check_way_in(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const FoundApp found, find_app(api, app.name));
  if (found.built_in == nullptr && !use.program.empty()) {
    say(fmt::format("warning: --program has no effect: this site declares the app {} itself",
                    app.name));
  }
  return start_app(api, invocation, found, use);
}

Result<int> run_open(const Invocation& invocation) {
  const std::string& id = invocation.operands[0];
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json job, api.get(job_target(id)));
  // Whom it is shared with sees the app, and not what the job runs.
  const json exec = job.contains("app") ? job : job.value("exec", json());
  if (!exec.is_object()) {
    return Error{
        ErrorKind::kDenied, "not_yours",
        fmt::format(
            "only job {}'s user, administrators and those it is shared with may enter its app", id),
        ""};
  }
  if (!exec.contains("app")) {
    return Error{ErrorKind::kConflict, "no_app",
                 fmt::format("job {} is not a session; `dove port-forward {} PORT` leads to a port "
                             "on which it listens",
                             id, id),
                 ""};
  }
  const json& app = exec.at("app");
  const auto path_of = [&](const char* name) {
    const std::string path = text_of(app, name);
    return path.empty() ? std::string("/") : path;
  };
  SessionWanted wanted;
  wanted.name = text_of(app, "name");
  wanted.health = path_of("health");
  wanted.path = path_of("path");
  wanted.target.job = id;
  wanted.target.port = static_cast<std::uint16_t>(number_of(app, "port"));
  wanted.target.socket = text_of(app, "socket");
  for (const apps::AppProgram& known : apps::app_programs()) {
    if (wanted.name == known.name) wanted.remedy = known.remedy;
  }
  TRY(read_way_in(invocation, wanted));
  return serve_session(api.endpoint(), wanted);
}

Result<int> run_share(const Invocation& invocation) {
  const std::string& id = invocation.operands[0];
  const std::vector<std::string> users(invocation.operands.begin() + 1, invocation.operands.end());
  if (users.empty() == !invocation.has("remove")) {
    return usage_error("share with whom? dove share JOB USER..., or dove share JOB --remove USER");
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  json answer;
  if (users.empty()) {
    const std::string user = wire::percent_encode(invocation.get("remove"));
    TRY_ASSIGN(answer, api.send("DELETE", job_target(id, "/shares/" + user), json()));
  } else {
    TRY_ASSIGN(answer, api.send("POST", job_target(id, "/shares"), json{{"users", users}}));
  }
  std::string names;
  for (const json& name : list_of(answer, "shared_with")) {
    names += (names.empty() ? "" : ", ") + printable(name.get<std::string>());
  }
  print(names.empty() ? fmt::format("job {} is shared with nobody\n", id)
                      : fmt::format("job {} is shared with {}\n", id, names));
  return kExitOk;
}

CommandSpec app_spec(const apps::AppProgram& app) {
  CommandSpec spec;
  spec.name = app.name;
  spec.summary = app.summary;
  spec.group = kGroup;
  const std::string operand = app.operand;
  spec.operands = operand + (operand.empty() ? "" : " ") + "[-- ARGUMENT...]";
  spec.completes = operand.empty() ? "" : "file";
  spec.operands_max = -1;
  spec.description =
      "Submits the job, says why it waits, and prints the URL once the app answers. The port is\n"
      "forwarded as long as this command runs; an interrupt leaves the job running, and `dove\n"
      "open JOB` forwards a port again. The app asks for no password: it serves a socket that\n"
      "only the task's user can reach, and the port here refuses connections from other users of\n"
      "this machine. Without an image it gets your environment and the present directory.\n"
      "Further arguments go to the program. Where the site declares an app of this name (`dove\n"
      "app list`), that app runs.";
  spec.options = start_options();
  spec.options.push_back({"program", 0, "FILE", fmt::format("run this ({})", app.program)});
  return spec;
}

}  // namespace

std::vector<Command> app_commands() {
  std::vector<Command> commands;
  for (const apps::AppProgram& app : apps::app_programs()) {
    commands.push_back({app_spec(app), guarded(app.name, [&app](const Invocation& invocation) {
                          return run_app(app, invocation);
                        })});
  }
  CommandSpec open;
  open.name = "open";
  open.summary = "Lead a port of this machine to a session";
  open.group = kGroup;
  open.operands = "JOB";
  open.completes = "job";
  open.operands_min = 1;
  open.operands_max = 1;
  open.description =
      "JOB runs an app: it was submitted by `dove notebook`, `dove code`, `dove tensorboard` or "
      "`dove desktop`, or has\n"
      "an `app` of its own. Waits until it answers and prints its URL: that of the cluster's "
      "proxy,\n"
      "where there is one, and else that of a port here.";
  open.options = way_in_options();
  commands.push_back({open, guarded("open", run_open)});
  CommandSpec share;
  share.name = "share";
  share.summary = "Let others enter a session";
  share.group = kGroup;
  share.operands = "JOB [USER...]";
  share.completes = "job";
  share.operands_min = 1;
  share.operands_max = -1;
  share.description =
      "They may use its app, in a browser or with `dove open`, and do nothing else to the job.\n"
      "With --remove what that user has open ends within seconds.";
  share.options = {{"remove", 0, "USER", "take it back"}};
  commands.push_back({share, guarded("share", run_share)});
  return commands;
}

}  // namespace dove::cli
