#include "server/sessions/declared_app.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "core/admit/admit.h"
#include "server/offer_warnings.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kJobBytesMax = 64 << 10;

Error in_job(Error error) {
  error.field = error.field.empty() ? "job" : "job." + error.field;
  return error;
}

Result<codec::Submission> submission_of(const App& app) {
  TRY_ASSIGN(const Json body, job_of_app(app));
  return codec::read_submission(body);
}

}  // namespace

Result<Json> job_of_app(const App& app) {
  TRY_ASSIGN(Json body, codec::parse_json(app.job.empty() ? "{}" : app.job, kJobBytesMax));
  Json& served = body["app"];
  if (served.is_null()) served = Json::object();
  const bool is_reached =
      served.is_object() && (served.contains("port") || served.contains("socket"));
  if (!is_reached) {
    return Error{
        ErrorKind::kInvalid, "app_without_port",
        fmt::format("say where its program listens: \"app\": {{\"socket\": \"{0}\"}}, for a "
                    "Unix socket $DOVE_SOCKETS/{0}, or \"app\": {{\"port\": 8888}}",
                    "app"),
        "app"};
  }
  if (!served.contains("name")) served["name"] = app.name;
  if (!body.contains("name")) body["name"] = app.name;
  if (!body.contains("project") && !app.project.empty()) body["project"] = app.project;
  return body;
}

Result<void> check_app(const core::State& state, const App& app) {
  const auto unknown = [](const char* kind, const std::string& name) {
    return Error{ErrorKind::kInvalid, "level_unknown",
                 fmt::format("there is no {} \"{}\": declare it first, or leave it out for "
                             "everybody",
                             kind, name.substr(0, 64)),
                 kind};
  };
  if (!app.project.empty() && !state.projects.contains(app.project)) {
    return unknown("project", app.project);
  }
  if (!app.domain.empty() && !state.domains.contains(app.domain)) {
    return unknown("domain", app.domain);
  }
  const Result<codec::Submission> submission = submission_of(app);
  if (!submission.ok()) return in_job(submission.error());
  return {};
}

std::vector<std::string> app_warnings(const Context& context, const std::string& user,
                                      const App& app) {
  Result<codec::Submission> submission = submission_of(app);
  if (!submission.ok()) return {};
  submission->spec.user = user;
  Result<std::vector<std::string>> admitted = core::admit(context.state(), submission->spec);
  if (!admitted.ok()) {
    return {fmt::format("now such a job would be refused: {}", admitted.error().message)};
  }
  std::vector<std::string> warnings = std::move(admitted).value();
  for (std::string& one : offer_warnings(context, submission->spec, submission->exec)) {
    warnings.push_back(std::move(one));
  }
  return warnings;
}

}  // namespace dove::server
