// may_apply(): what roles let their holders change of what is declared.
#include <fmt/format.h>

#include <algorithm>

#include "accounts/access.h"

namespace dove::accounts {
namespace {

// The role that a change takes, and where; no level: the cluster's.
struct Needed {
  Role role = Role::kAdmin;
  std::string domain;
  std::string project;
};

Needed needed(const Binding& binding) {
  const bool is_above = binding.role == Role::kAdmin || binding.role == Role::kAuditor;
  return {is_above ? Role::kAdmin : Role::kManager, binding.domain, binding.project};
}

Needed needed(const Group& group) { return {Role::kAdmin, group.domain, ""}; }
Needed needed(const App& app) { return {Role::kAdmin, app.domain, app.project}; }
// Limits of a project are set above it.
Needed needed(const Project& project) { return {Role::kAdmin, project.domain, ""}; }

Needed needed(const Secret& secret) {
  return secret.project.empty() ? Needed{} : Needed{Role::kManager, "", secret.project};
}

// What a person's tasks run as, and who they are, is the cluster's to say.
Needed needed(const UserDeclaration& user) {
  const bool is_harmless = user.linux_user.empty() && !user.admin && user.token_sha256.empty() &&
                           user.identity.empty() && user.ssh_keys.empty() &&
                           user.password_hash.empty();
  if (!is_harmless) return {};
  if (!user.service_of.empty()) return {Role::kManager, "", user.service_of};
  return {Role::kAdmin, user.domain, ""};
}

template <class T>
Needed needed(const T&) {
  return {};
}

Result<void> check(const core::State& state, const Caller& caller, const Declared& object) {
  const auto* secret = std::get_if<Secret>(&object);
  if (secret != nullptr && !secret->user.empty() && secret->user == caller.user) return {};
  const Needed what = std::visit([](const auto& one) { return needed(one); }, object);
  const core::Roles roles = what.project.empty() ? caller.standing.in_domain(what.domain)
                                                 : caller.standing.in_project(state, what.project);
  if (roles.at_least(what.role)) return {};
  const std::string where = !what.project.empty()  ? fmt::format("project \"{}\"", what.project)
                            : !what.domain.empty() ? fmt::format("domain \"{}\"", what.domain)
                                                   : std::string("the cluster");
  return Error{ErrorKind::kDenied, "role_needed",
               fmt::format("this takes the role {} on {}: ask one who has it, or an administrator",
                           what.role == Role::kManager ? "manager" : "admin", where),
               ""};
}

}  // namespace

Result<void> may_apply_anything(const Caller& caller) {
  const auto manages = [](const auto& entry) { return entry.second.at_least(Role::kManager); };
  const core::Standing& standing = caller.standing;
  if (caller.admin || standing.cluster.at_least(Role::kManager) ||
      std::any_of(standing.domains.begin(), standing.domains.end(), manages) ||
      std::any_of(standing.projects.begin(), standing.projects.end(), manages)) {
    return {};
  }
  return Error{ErrorKind::kDenied, "role_needed",
               "what is declared is changed by managers and administrators; ask one of them", ""};
}

Result<void> may_apply(const core::State& state, const Caller& caller, const Declared* before,
                       const Declared* after) {
  if (caller.admin) return {};
  if (before != nullptr) TRY(check(state, caller, *before));
  return after == nullptr ? Result<void>() : check(state, caller, *after);
}

}  // namespace dove::accounts
