#include "accounts/access.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/place/limits.h"

namespace dove::accounts {
namespace {

// A job that submits a job that submits a job ...: who is further up than this is no family.
constexpr int kGenerationsMax = 64;

bool is_same(const core::Job& own, const core::Job& job) {
  return own.id == job.id || (own.array && own.array == job.array);
}

bool is_in(const Project& project, const std::string& user) {
  const std::vector<std::string>& users = project.users;
  return users.empty() || std::find(users.begin(), users.end(), user) != users.end();
}

// As themselves, or in a project that they are in.
bool is_open_to(const core::State& state, const Pool& pool, const std::string& user) {
  if (core::may_use(state, pool, user, "")) return true;
  return std::any_of(state.projects.begin(), state.projects.end(), [&](const auto& entry) {
    return is_in(entry.second, user) && core::may_use(state, pool, user, entry.first);
  });
}

}  // namespace

bool is_family(const core::State& state, JobId own, const core::Job& job) {
  const core::Job* mine = state.find_job(own);
  if (mine == nullptr) return false;
  const core::Job* each = &job;
  for (int i = 0; i < kGenerationsMax && each != nullptr; ++i) {
    if (is_same(*mine, *each)) return true;
    each = each->spec->parent ? state.find_job(each->spec->parent) : nullptr;
  }
  return false;
}

bool may_act(const core::State& state, const Caller& caller, const core::Job& job) {
  if (caller.admin) return true;
  return caller.user == job.spec->user && (!caller.job || is_family(state, caller.job, job));
}

Error not_yours(const Caller& caller, const core::Job& job) {
  if (caller.job) {
    return Error{ErrorKind::kDenied, "not_yours",
                 fmt::format("the token of job {} is for that job, its array and the jobs that it "
                             "submitted; use your own token for job {}",
                             caller.job.value, job.id.value),
                 ""};
  }
  return Error{ErrorKind::kDenied, "not_yours",
               fmt::format("job {} is of user {}; only that user and administrators may do this",
                           job.id.value, job.spec->user),
               ""};
}

bool may_see(const core::State& state, const Caller& caller, const core::Job& job) {
  return caller.admin || !caller.job || is_family(state, caller.job, job);
}

bool may_see(const core::State& state, const Caller& caller, const Declared& object) {
  if (caller.admin) return true;
  if (const auto* pool = std::get_if<Pool>(&object)) return is_open_to(state, *pool, caller.user);
  if (const auto* project = std::get_if<Project>(&object)) return is_in(*project, caller.user);
  if (const auto* user = std::get_if<UserDeclaration>(&object)) return user->name == caller.user;
  if (const auto* limit = std::get_if<UserLimit>(&object)) {
    return limit->name == caller.user || limit->name == "*";
  }
  return true;
}

bool may_see_user(const Caller& caller, const std::string& user) {
  return caller.admin || user.empty() || user == caller.user;
}

bool may_see_project(const core::State& state, const Caller& caller, const std::string& project) {
  if (caller.admin || project.empty()) return true;
  const auto found = state.projects.find(project);
  return found != state.projects.end() && is_in(found->second, caller.user);
}

// Keys are by SHA-256, and an id is the beginning of one.
const Key* find_key(const core::State& state, const std::string& id) {
  const auto found = state.keys.lower_bound(id);
  return found == state.keys.end() || found->second.id != id ? nullptr : &found->second;
}

}  // namespace dove::accounts
