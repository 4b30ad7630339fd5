#include "cli/slurm/accounting/members.h"

#include <nlohmann/json.hpp>

#include "cli/client/pages.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

void add_names(const json& object, const char* field, Names& names) {
  for (const json& name : list_of(object, field)) {
    if (name.is_string() && name != "*") names.insert(name.get<std::string>());
  }
}

// The users of the groups, and of those in them.
Names users_in(const std::map<std::string, json>& groups, const Names& wanted) {
  Names users;
  Names seen;
  Names next = wanted;
  while (!next.empty()) {
    const std::string name = *next.begin();
    next.erase(next.begin());
    const auto group = groups.find(name);
    if (group == groups.end() || !seen.insert(name).second) continue;
    add_names(group->second, "users", users);
    add_names(group->second, "groups", next);
  }
  return users;
}

bool is_member(const json& binding) {
  const std::string role = text_of(binding, "role");
  return role == "member" || role == "manager" || role == "admin";
}

}  // namespace

Result<Members> members_of(Api& api, const json& projects) {
  TRY_ASSIGN(const json bindings, get_all(api, "/v1/objects?kind=Binding", "objects"));
  TRY_ASSIGN(const json all_groups, get_all(api, "/v1/objects?kind=Group", "objects"));
  std::map<std::string, json> groups;
  for (const json& group : list_of(all_groups, "objects")) groups[text_of(group, "name")] = group;
  Members members;
  std::map<std::string, Names> by_project;
  std::map<std::string, Names> by_domain;
  for (const json& binding : list_of(bindings, "objects")) {
    if (!is_member(binding)) continue;
    Names named;
    add_names(binding, "groups", named);
    Names users = users_in(groups, named);
    add_names(binding, "users", users);
    const std::string project = text_of(binding, "project");
    const std::string domain = text_of(binding, "domain");
    const bool is_cluster = project.empty() && domain.empty();
    if (is_cluster && text_of(binding, "role") == "admin") members.administrators.merge(users);
    if (!project.empty()) by_project[project].merge(users);
    if (!domain.empty()) by_domain[domain].merge(users);
  }
  for (const json& project : projects) {
    const std::string name = text_of(project, "name");
    Names& users = members.projects[name] = by_project[name];
    const std::string domain = text_of(project, "domain");
    if (!domain.empty()) users.insert(by_domain[domain].begin(), by_domain[domain].end());
  }
  return members;
}

}  // namespace dove::cli
