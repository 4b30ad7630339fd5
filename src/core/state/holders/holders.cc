#include "core/state/holders/holders.h"

namespace dove::core {

const Limits* limits_of_user(const State& state, const std::string& user) {
  if (state.user_limits.empty()) return nullptr;
  auto at = state.user_limits.find(user);
  // A limit of the user's own replaces the one for everybody, also where it is wider.
  if (at == state.user_limits.end()) at = state.user_limits.find("*");
  return at == state.user_limits.end() ? nullptr : &at->second.limits;
}

std::string domain_of(const State& state, const std::string& user, const std::string& project) {
  const auto its = project.empty() ? state.projects.end() : state.projects.find(project);
  // Whom a job is for comes before whose it is: a guest's job counts where its project does.
  if (its != state.projects.end()) return its->second.domain;
  const auto whose = state.users.find(user);
  return whose == state.users.end() ? "" : whose->second.domain;
}

std::string domain_of(const State& state, const JobSpec& spec) {
  return domain_of(state, spec.user, spec.project);
}

}  // namespace dove::core
