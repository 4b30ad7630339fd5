#include "server/former_members.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::server {
namespace {

using Json = nlohmann::json;

std::string members_of(const std::string& project) { return project + ".members"; }
std::string admin_of(const std::string& user) { return user + ".admin"; }

std::string advice(const char* field, const std::string& binding) {
  return fmt::format(
      "`{}` is the former way to say it, and became binding \"{}\"; apply a Binding "
      "instead",
      field, binding);
}

}  // namespace

FormerMembers take_former_members(Json& object, const std::string& kind, const std::string& name,
                                  const core::State& state) {
  FormerMembers out;
  const char* field = kind == "Project" ? "users" : kind == "User" ? "admin" : nullptr;
  if (field == nullptr || !object.contains(field)) return out;
  const Json given = object[field];
  const bool is_project = kind == "Project";
  const bool is_known = given.is_null() || (is_project ? given.is_array() : given.is_boolean());
  if (!is_known) return out;  // its reader says what is wrong
  object.erase(field);
  const std::string binding = is_project ? members_of(name) : admin_of(name);
  const bool says_none = given.is_null() || given == Json(false) || given == Json::array();
  if (says_none) {
    if (state.bindings.contains(binding)) out.binding_to_delete = binding;
    return out;
  }
  out.binding = Json{{"kind", "Binding"}, {"name", binding}};
  if (is_project) {
    out.binding.update({{"role", "member"}, {"project", name}, {"users", given}});
  } else {
    out.binding.update({{"role", "admin"}, {"users", Json::array({name})}});
  }
  out.warnings.push_back(advice(field, binding));
  return out;
}

std::vector<StampedEvent> bind_former_members(const core::State& state) {
  Cause cause;
  cause.principal = "controller";
  std::vector<StampedEvent> out;
  const auto bind = [&](Declared without, Binding binding) {
    std::sort(binding.users.begin(), binding.users.end());
    out.push_back({ObjectApplied{std::move(without)}, cause});
    out.push_back({ObjectApplied{std::move(binding)}, cause});
  };
  for (const auto& [name, project] : state.projects) {
    if (project.users.empty()) continue;
    Project without = project;
    without.users.clear();
    bind(without, {members_of(name), Role::kMember, "", name, project.users, {}});
  }
  for (const auto& [name, user] : state.users) {
    if (!user.admin) continue;
    UserDeclaration without = user;
    without.admin = false;
    bind(without, {admin_of(name), Role::kAdmin, "", "", {name}, {}});
  }
  return out;
}

}  // namespace dove::server
