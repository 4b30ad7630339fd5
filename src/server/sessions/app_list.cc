// What people start by a name: the apps that the site declares and the caller may start, and those
// that are built in, each as the job that it is.
#include <nlohmann/json.hpp>
#include <utility>

#include "accounts/access.h"
#include "apps/app_programs.h"
#include "server/handlers.h"
#include "server/sessions/declared_app.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

Json built_in(const apps::AppProgram& app) {
  return {{"name", app.name},
          {"title", app.title},
          {"built_in", true},
          {"operand", app.operand},
          {"operand_needed", app.wants_logs},
          {"program_at", apps::program_at(app)},
          {"remedy", app.remedy},
          {"job", apps::app_job(app, "", {})}};
}

// What was declared by another version may be refused by now: then it is not offered.
Json declared(const App& app) {
  Result<Json> job = job_of_app(app);
  if (!job.ok()) return nullptr;
  return {{"name", app.name},       {"title", app.title},   {"built_in", false},
          {"project", app.project}, {"domain", app.domain}, {"job", std::move(job).value()}};
}

}  // namespace

void list_apps(Context& context, CallPtr call) {
  const core::State& state = context.state();
  Json found = Json::array();
  for (const auto& [name, app] : state.apps) {
    if (!accounts::may_see(state, call->caller, Declared(app))) continue;
    if (Json one = declared(app); !one.is_null()) found.push_back(std::move(one));
  }
  for (const apps::AppProgram& app : apps::app_programs()) {
    if (!state.apps.contains(app.name)) found.push_back(built_in(app));
  }
  call->reply(200, Json{{"apps", std::move(found)}, {"log_head", state.head.value}});
}

}  // namespace dove::server
