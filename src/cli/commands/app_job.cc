#include "cli/commands/app_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/pages.h"
#include "cli/client/submission.h"
#include "cli/terminal/output.h"
#include "codec/json.h"
#include "wire/http.h"

namespace dove::cli {
namespace {

using nlohmann::json;

const apps::AppProgram* built_in_app(const std::string& name) {
  for (const apps::AppProgram& each : apps::app_programs()) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

json body_of_built_in(const apps::AppProgram& app, const AppUse& use) {
  std::vector<std::string> arguments;
  if (!use.log_directory.empty()) arguments.push_back(use.log_directory);
  arguments.insert(arguments.end(), use.arguments.begin(), use.arguments.end());
  return apps::app_job(app, use.program, arguments);
}

// What the server has checked may still be of a newer one: whatever is odd is left to its parser.
Result<json> body_of_declared(const FoundApp& app, const AppUse& use) {
  json body = json::parse(app.job, nullptr, false);
  if (!body.is_object()) {
    return Error{ErrorKind::kInvalid, "bad_app", fmt::format("app {} declares no job", app.name),
                 ""};
  }
  json& served = body["app"];
  if (served.is_null()) served = json::object();
  if (served.is_object() && !served.contains("name")) served["name"] = app.name;
  if (!body.contains("name")) body["name"] = app.name;
  if (!body.contains("project") && !app.project.empty()) body["project"] = app.project;
  if (!use.log_directory.empty()) {
    json& environment = body["environment"];
    if (environment.is_null()) environment = json::object();
    if (environment.is_object()) environment[kLogDirectory] = use.log_directory;
  }
  json& words = body[body.contains("script") ? "script_arguments" : "command"];
  if (words.is_null()) words = json::array();
  if (!words.is_array()) return body;
  for (const std::string& argument : use.arguments) words.push_back(argument);
  return body;
}

}  // namespace

Result<FoundApp> find_app(Api& api, const std::string& name) {
  const apps::AppProgram* built_in = built_in_app(name);
  const Result<json> declared = api.get("/v1/objects/app/" + wire::percent_encode(name));
  if (declared.ok()) {
    const auto job = declared->find("job");
    return FoundApp{name, job == declared->end() ? "" : codec::dump_json(*job),
                    text_of(*declared, "project"), nullptr};
  }
  if (declared.error().kind != ErrorKind::kNotFound) return declared.error();
  if (built_in != nullptr) return FoundApp{name, "", "", built_in};
  // One that is built into a server of a newer version.
  const Result<json> answer = get_all(api, "/v1/apps", "apps");
  const json offered = answer.ok() ? *answer : json();
  for (const json& app : list_of(offered, "apps")) {
    if (text_of(app, "name") != name) continue;
    return FoundApp{name, codec::dump_json(app.value("job", json())), text_of(app, "project"),
                    nullptr};
  }
  return Error{
      ErrorKind::kNotFound, "no_such_app",
      fmt::format("there is no app {}, or it is not open to you; `dove app list` has those "
                  "that are",
                  name.substr(0, 64)),
      ""};
}

Result<std::string> app_body(const FoundApp& app, const AppUse& use) {
  if (app.built_in != nullptr) return codec::dump_json(body_of_built_in(*app.built_in, use));
  TRY_ASSIGN(const json body, body_of_declared(app, use));
  return codec::dump_json(body);
}

Result<jobfiles::ParsedJob> app_job(const FoundApp& app, const AppUse& use) {
  TRY_ASSIGN(const std::string text, app_body(app, use));
  json body = json::parse(text, nullptr, false);
  jobfiles::Context context = local_context();
  context.options = use.options;
  const auto given = [&](const char* name) {
    return std::any_of(context.options.begin(), context.options.end(),
                       [&](const jobfiles::Option& option) { return option.name == name; });
  };
  const json container = body.value("container", json());
  const bool has_image =
      given("container-image") || (container.is_object() && !text_of(container, "image").empty());
  if (!has_image) {
    if (!body.contains("workdir")) body["workdir"] = context.physical_workdir;
    if (app.built_in != nullptr && !given("export")) {
      context.options.push_back({"export", "ALL", {"command line", 0, 0}});
    }
  }
  const std::string name = app.built_in != nullptr ? jobfiles::kTyped : "app " + app.name;
  Result<codec::Submission> submission = codec::read_submission(body);
  if (!submission.ok()) {
    Error error = submission.error();
    error.message = fmt::format("{}: {}: {}", name, error.field, error.message);
    error.field = name;
    return error;
  }
  return jobfiles::complete(std::move(*submission), name, context);
}

SessionWanted session_of(const FoundApp& app, const jobfiles::ParsedJob& job) {
  const AppSpec& served = job.submission.exec.app;
  SessionWanted wanted;
  wanted.name = served.name;
  if (!served.health.empty()) wanted.health = served.health;
  if (!served.path.empty()) wanted.path = served.path;
  wanted.target.port = static_cast<std::uint16_t>(served.port);
  wanted.target.socket = served.socket;
  if (app.built_in != nullptr) wanted.remedy = app.built_in->remedy;
  return wanted;
}

}  // namespace dove::cli
