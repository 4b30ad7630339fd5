// dove notebook, code, tensorboard: apps that run in a job and are used from here; dove open comes
// back to one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/client/session.h"
#include "cli/client/submission.h"
#include "cli/commands/app_programs.h"
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
constexpr std::int64_t kPatienceMax_s = 86'400;

Result<std::int64_t> whole_number(const Invocation& invocation, const char* option,
                                  std::int64_t otherwise, std::int64_t most) {
  if (!invocation.has(option)) return otherwise;
  const std::string text = invocation.get(option);
  std::int64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && at == text.data() + text.size() && number >= 0 && number <= most) {
    return number;
  }
  return usage_error(fmt::format("--{}={}: give a number from 0 to {}", option, text, most));
}

Result<void> read_way_in(const Invocation& invocation, SessionWanted& wanted) {
  TRY_ASSIGN(const std::int64_t port, whole_number(invocation, "local-port", 0, 65535));
  TRY_ASSIGN(const std::int64_t patience,
             whole_number(invocation, "patience", wanted.patience.count(), kPatienceMax_s));
  wanted.port = static_cast<std::uint16_t>(port);
  wanted.patience = std::chrono::seconds(patience);
  wanted.address = invocation.get("address", wanted.address);
  wanted.cancels = invocation.has("rm");
  wanted.takes_proxy = !wanted.cancels && !invocation.has("local-port") &&
                       !invocation.has("address") && !invocation.has("local");
  return {};
}

std::vector<OptionSpec> way_in_options() {
  return {
      {"local-port", 0, "PORT", "port of this machine (any that is free)"},
      {"address", 0, "ADDRESS", "listen here (127.0.0.1); whoever reaches another address gets in"},
      {"patience", 0, "SECONDS", "how long the app may take to answer once the job runs (120)"},
      {"local", 0, "", "lead a port of this machine there, though there is a proxy"},
      {"rm", 0, "", "cancel the job when this command is interrupted"}};
}

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
               fmt::format("job {} writes to a directory of its own, which goes with it; name the "
                           "log directory",
                           operand),
               ""};
}

// The job as a file would have it. Without an image it is as in a shell here: its directory, its
// environment.
Result<jobfiles::ParsedJob> app_job(const Invocation& invocation, const AppProgram& app) {
  std::vector<std::string> arguments = invocation.operands;
  if (app.is_python) {
    if (arguments.empty()) return usage_error("whose logs? dove tensorboard LOGDIR, or a job's id");
    TRY_ASSIGN(arguments[0], log_directory(invocation, arguments[0]));
  }
  const std::string program = invocation.get("program", app.program);
  jobfiles::Context context = local_context();
  json body = {{"command", app_command(app, program, arguments)},
               {"name", app.name},
               {"app",
                {{"name", app.name},
                 {"socket", kAppSocket},
                 {"health", app.health},
                 {"path", app.path},
                 {"activity", app.activity}}}};
  context.options = job_options(invocation);
  const auto given = [&](const char* name) {
    return std::any_of(context.options.begin(), context.options.end(),
                       [&](const jobfiles::Option& option) { return option.name == name; });
  };
  if (!given("container-image")) {
    body["workdir"] = context.physical_workdir;
    if (!given("export")) context.options.push_back({"export", "ALL", {"command line", 0, 0}});
  }
  jobfiles::Source source;
  source.name = "command line";
  source.text = codec::dump_json(body);
  source.format = jobfiles::Format::kNative;
  TRY_ASSIGN(jobfiles::ParsedJob job, jobfiles::parse(source, context));
  TRY(set_fields(invocation, job));
  return job;
}

Result<int> run_app(const AppProgram& app, const Invocation& invocation) {
  SessionWanted wanted;
  wanted.name = app.name;
  wanted.health = app.health;
  wanted.path = app.path;
  wanted.remedy = app.remedy;
  wanted.is_new = true;
  TRY(read_way_in(invocation, wanted));
  TRY_ASSIGN(const jobfiles::ParsedJob job, app_job(invocation, app));
  print_warnings(job.warnings);
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const Submitted submitted, submit(api, job));
  print(fmt::format("Submitted job {}\n", submitted.id));
  std::fflush(stdout);
  if (invocation.has("detach")) {
    print(fmt::format("`dove open {}` leads to it, `dove cancel {}` ends it\n", submitted.id,
                      submitted.id));
    return kExitOk;
  }
  wanted.target.job = submitted.id;
  wanted.target.socket = kAppSocket;
  return serve_session(api.endpoint(), wanted);
}

Result<int> run_open(const Invocation& invocation) {
  const std::string& id = invocation.operands[0];
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json job, api.get(job_target(id)));
  // Whom it is shared with sees the app, and not what the job runs.
  const json exec = job.contains("app") ? job : job.value("exec", json());
  if (!exec.is_object()) {
    return Error{ErrorKind::kDenied, "not_yours",
                 fmt::format("only job {}'s user, administrators and whom it is shared with enter "
                             "its app",
                             id),
                 ""};
  }
  if (!exec.contains("app")) {
    return Error{ErrorKind::kConflict, "no_app",
                 fmt::format("job {} is no session; `dove port-forward {} PORT` leads to a port on "
                             "which it listens",
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
  for (const AppProgram& known : app_programs()) {
    if (wanted.name == known.name) wanted.remedy = known.remedy;
  }
  TRY(read_way_in(invocation, wanted));
  return serve_session(api.endpoint(), wanted);
}

Result<int> run_share(const Invocation& invocation) {
  const std::string& id = invocation.operands[0];
  const std::vector<std::string> users(invocation.operands.begin() + 1, invocation.operands.end());
  if (users.empty() == !invocation.has("remove")) {
    return usage_error("who? dove share JOB USER..., or dove share JOB --remove USER");
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

// What people say of a session; --set says the rest.
bool is_of_sessions(const OptionSpec& option) {
  static const std::set<std::string> kNames = {
      "account",       "begin",           "comment",
      "constraint",    "container-image", "container-mounts",
      "cores",         "cpus-per-task",   "dependency",
      "exclude",       "export",          "gpus",
      "gpus-per-node", "gpus-per-task",   "gres",
      "image",         "job-name",        "mem",
      "mem-per-cpu",   "mem-per-gpu",     "memory",
      "name",          "nodelist",        "partition",
      "pool",          "priority",        "qos",
      "queue",         "reservation",     "signal",
      "time",          "volume"};
  return kNames.count(option.name) != 0;
}

CommandSpec app_spec(const AppProgram& app) {
  CommandSpec spec;
  spec.name = app.name;
  spec.summary = app.summary;
  spec.group = kGroup;
  const std::string operand = app.operand;
  spec.operands = operand + (operand.empty() ? "" : " ") + "[-- ARGUMENT...]";
  spec.completes = operand.empty() ? "" : "file";
  spec.operands_max = -1;
  spec.description =
      "Submits the job, says why it waits, and prints the URL once the app answers. The way in "
      "lasts "
      "as\n"
      "long as this command; an interrupt leaves the job running, and `dove open JOB` comes back. "
      "The app\n"
      "asks for no password: it serves a socket that the task's user alone can reach, and the port "
      "here\n"
      "takes no connections of other users of this machine. Without an image it gets your "
      "environment and\n"
      "the present directory. Further arguments are the program's own.";
  spec.options = way_in_options();
  spec.options.push_back(
      {"detach", 0, "", "submit the job and leave; `dove open JOB` leads to it"});
  spec.options.push_back({"program", 0, "FILE", fmt::format("run this ({})", app.program)});
  spec.options.push_back(set_option());
  for (OptionSpec& option : job_option_specs()) {
    if (is_of_sessions(option)) spec.options.push_back(std::move(option));
  }
  return spec;
}

}  // namespace

std::vector<Command> app_commands() {
  std::vector<Command> commands;
  for (const AppProgram& app : app_programs()) {
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
      "JOB runs an app: it was submitted by `dove notebook`, `dove code` or `dove tensorboard`, or "
      "has\n"
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
