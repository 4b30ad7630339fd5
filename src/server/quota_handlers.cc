// /v1/quota: what somebody uses of what they may.
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "core/admit/quota.h"
#include "server/context.h"
#include "server/handlers.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

// The projects that somebody says they are a member of.
std::vector<std::string> projects_of(const core::State& state, const std::string& user) {
  const core::Standing standing = core::standing_of(state, user);
  std::vector<std::string> names;
  for (const auto& [name, project] : state.projects) {
    if (standing.in_project(state, name).at_least(Role::kMember)) names.push_back(name);
  }
  return names;
}

}  // namespace

void get_quota(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const std::string asked = call->query_text("user");
  const std::string& user = asked.empty() ? call->caller.user : asked;
  if (!accounts::may_see_user(call->caller, user)) {
    return call->fail(
        Error{ErrorKind::kDenied, "role_needed",
              "quotas of others are for auditors and administrators; leave out `user`", "user"});
  }
  const std::string project = call->query_text("project");
  const bool is_known = state.projects.contains(project) &&
                        may_see(state, call->caller, Declared(state.projects.at(project)));
  if (!project.empty() && !is_known) return call->fail(not_found("project", project));
  Json rows = Json::array();
  for (const core::QuotaRow& row : core::quota_of(
           state, user,
           project.empty() ? projects_of(state, user) : std::vector<std::string>{project})) {
    Json object{
        {"level", row.level},       {"name", row.name},
        {"resource", row.resource}, {"used", row.used},
        {"limit", row.limit},       {"raised_by", core::raised_by(state, row.level, row.name)}};
    const bool waits = row.level == "project" || row.level == "domain";
    if (waits && row.asked > 0) object["asked"] = row.asked;
    if (row.used > row.limit) object["over"] = row.used - row.limit;
    if (row.ends_at.us != 0) object["ends_at_us"] = row.ends_at.us;
    rows.push_back(std::move(object));
  }
  call->reply(200, Json{{"user", user}, {"quota", rows}, {"log_head", state.head.value}});
}

}  // namespace dove::server
