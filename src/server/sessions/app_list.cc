// What people start by a name: the apps that the site declares and the caller may start, and those
// that are built in, each as the job that it is.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "accounts/access.h"
#include "apps/app_programs.h"
#include "server/handlers.h"
#include "server/lists/page_wanted.h"
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

// By name: what the caller gets who starts an app of it.
std::map<std::string, Json> offered_to(const core::State& state, const accounts::Caller& caller,
                                       const std::string& after) {
  std::map<std::string, Json> offered;
  for (const apps::AppProgram& app : apps::app_programs()) {
    if (after < app.name) offered[app.name] = built_in(app);
  }
  for (auto at = state.apps.upper_bound(after); at != state.apps.end(); ++at) {
    const auto& [name, app] = *at;
    if (accounts::may_see(state, caller, Declared(app))) offered[name] = declared(app);
  }
  std::erase_if(offered, [](const auto& entry) { return entry.second.is_null(); });
  return offered;
}

}  // namespace

void list_apps(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<PageWanted> wanted = read_page_wanted(*call);
  if (!wanted.ok()) return call->fail(wanted.error());
  Page<std::string> page(wanted->after, wanted->limit);
  for (auto& [name, app] : offered_to(state, call->caller, wanted->after)) {
    const bool is_built_in = app.at("built_in").get<bool>();
    if (!wanted->has(name, is_built_in ? Labels() : state.apps.at(name).labels)) continue;
    if (!page.offer(name, [&own = app] { return own; })) break;
  }
  call->reply(200, page.answer("apps", state.head));
}

}  // namespace dove::server
