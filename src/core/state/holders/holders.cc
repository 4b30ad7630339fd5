#include "core/state/holders/holders.h"

namespace dove::core {

const Limits* limits_of_user(const State& state, const std::string& user) {
  if (state.user_limits.empty()) return nullptr;
  auto at = state.user_limits.find(user);
  // A limit of the user's own replaces the one for everybody, also where it is wider.
  if (at == state.user_limits.end()) at = state.user_limits.find("*");
  return at == state.user_limits.end() ? nullptr : &at->second.limits;
}

std::string domain_of(const State& state, const JobSpec& spec) {
  const auto project =
      spec.project.empty() ? state.projects.end() : state.projects.find(spec.project);
  // Whom a job is for comes before whose it is: a guest's job counts where its project does.
  if (project != state.projects.end()) return project->second.domain;
  const auto user = state.users.find(spec.user);
  return user == state.users.end() ? "" : user->second.domain;
}

}  // namespace dove::core
