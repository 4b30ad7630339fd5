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

// With a role there, or where nobody says who its members are.
bool is_in(const core::State& state, const Caller& caller, const Project& project) {
  return !caller.standing.in_project(state, project.name).empty() ||
         !core::has_members(state, project);
}

// As themselves, or in a project that they are in.
bool is_open_to(const core::State& state, const Caller& caller, const Pool& pool) {
  if (core::may_use(state, pool, caller.user, "")) return true;
  return std::any_of(state.projects.begin(), state.projects.end(), [&](const auto& entry) {
    return core::may_use(state, pool, caller.user, entry.first) &&
           is_in(state, caller, entry.second);
  });
}

bool names(const std::vector<std::string>& ascending, const std::string& user) {
  return std::binary_search(ascending.begin(), ascending.end(), user);
}

core::Roles roles_at(const core::State& state, const Caller& caller, const Binding& binding) {
  return binding.project.empty() ? caller.standing.in_domain(binding.domain)
                                 : caller.standing.in_project(state, binding.project);
}

// Bound there or in a project of it, or declared to be of it.
bool is_in_domain(const core::State& state, const Caller& caller, const std::string& domain) {
  const auto user = state.users.find(caller.user);
  if (user != state.users.end() && user->second.domain == domain) return true;
  if (!caller.standing.in_domain(domain).empty()) return true;
  return std::any_of(caller.standing.projects.begin(), caller.standing.projects.end(),
                     [&](const auto& entry) {
                       const auto project = state.projects.find(entry.first);
                       return project != state.projects.end() && project->second.domain == domain;
                     });
}

// What is declared on a level: for whoever is in the project, else in the domain, else for
// everybody.
bool is_open_to(const core::State& state, const Caller& caller, const std::string& domain,
                const std::string& of_project) {
  if (!domain.empty()) return is_in_domain(state, caller, domain);
  if (of_project.empty()) return true;
  const auto project = state.projects.find(of_project);
  return project != state.projects.end() && is_in(state, caller, project->second);
}

// Whether what the SSH connection was let in by is still good.
bool is_open(const core::State& state, const UserDeclaration& user, const SshEntry& entry) {
  if (!entry.opened_by.empty()) return find_key(state, entry.opened_by) != nullptr;
  return entry.key.empty() ||
         std::any_of(user.ssh_keys.begin(), user.ssh_keys.end(),
                     [&](const std::string& line) { return ssh_key_body(line) == entry.key; });
}

// Whatever they were let in to.
bool acts(const core::State& state, const Caller& caller, const core::Job& job) {
  if (caller.admin) return true;
  if (caller.job) return caller.user == job.spec->user && is_family(state, caller.job, job);
  return caller.user == job.spec->user ||
         caller.standing.in_project(state, job.spec->project).at_least(Role::kManager);
}

// Where they were let in to one job's app: whether they still may.
bool may_stay(const core::State& state, const Caller& caller) {
  if (!caller.entry) return true;
  const core::Job* job = state.find_job(caller.entry);
  return job != nullptr && may_enter(state, caller, *job);
}

}  // namespace

std::string_view ssh_key_body(std::string_view line) {
  const std::size_t begin = line.find(' ');
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + 1);
  return line.substr(0, line.find(' '));
}

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
  if (caller.entry) return false;
  return acts(state, caller, job);
}

bool may_enter(const core::State& state, const Caller& caller, const core::Job& job) {
  if (caller.entry && caller.entry != job.id) return false;
  if (caller.ssh.job && caller.ssh.job != job.id) return false;
  if (caller.admin) return true;
  if (caller.user == job.spec->user && (!caller.job || caller.job == job.id)) return true;
  return is_guest(state, caller, job);
}

bool is_guest(const core::State& state, const Caller& caller, const core::Job& job) {
  if (caller.admin || caller.job || caller.ssh.job || caller.user == job.spec->user) return false;
  const auto shared = state.shared.find(job.id);
  return shared != state.shared.end() && names(shared->second, caller.user);
}

bool may_read(const core::State& state, const Caller& caller, const core::Job& job) {
  if (caller.entry && caller.entry != job.id) return false;
  if (acts(state, caller, job)) return true;
  return !caller.job &&
         caller.standing.in_project(state, job.spec->project).at_least(Role::kViewer);
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
  if (caller.ssh.job) return caller.ssh.job == job.id;
  if (caller.entry && caller.entry != job.id) return false;
  if (caller.admin || is_guest(state, caller, job)) return true;
  if (caller.job) return is_family(state, caller.job, job);
  return state.settings.job_visibility == JobVisibility::kEveryone || may_read(state, caller, job);
}

bool may_see(const core::State& state, const Caller& caller, const Declared& object) {
  if (may_audit(caller)) return true;
  if (const auto* pool = std::get_if<Pool>(&object)) return is_open_to(state, caller, *pool);
  if (const auto* app = std::get_if<App>(&object)) {
    return is_open_to(state, caller, app->domain, app->project);
  }
  if (const auto* settings = std::get_if<Settings>(&object)) {
    return is_open_to(state, caller, settings->domain, settings->project);
  }
  if (const auto* secret = std::get_if<Secret>(&object)) {
    if (caller.job) return false;
    return secret->project.empty() ? secret->user == caller.user
                                   : may_see_project(state, caller, secret->project);
  }
  if (const auto* project = std::get_if<Project>(&object)) return is_in(state, caller, *project);
  if (const auto* user = std::get_if<UserDeclaration>(&object)) {
    return user->name == caller.user || may_keep_keys(state, caller, user->name) ||
           caller.standing.in_domain(user->domain).at_least(Role::kAdmin);
  }
  if (const auto* group = std::get_if<Group>(&object)) {
    return names(group->users, caller.user) ||
           caller.standing.in_domain(group->domain).at_least(Role::kManager);
  }
  if (const auto* binding = std::get_if<Binding>(&object)) {
    return names(binding->users, caller.user) || names(binding->users, "*") ||
           !roles_at(state, caller, *binding).empty();
  }
  if (const auto* limit = std::get_if<UserLimit>(&object)) {
    return limit->name == caller.user || limit->name == "*";
  }
  if (std::holds_alternative<BootConfig>(object)) return false;
  return true;
}

bool may_audit(const Caller& caller) {
  return caller.admin || (!caller.job && caller.standing.cluster.has(Role::kAuditor));
}

bool may_see_user(const Caller& caller, const std::string& user) {
  return may_audit(caller) || user.empty() || user == caller.user;
}

bool may_see_use(const core::State& state, const Caller& caller, const std::string& user,
                 const std::string& project) {
  if (caller.admin) return true;
  if (caller.entry || caller.job || caller.ssh.job) return false;
  return state.settings.job_visibility == JobVisibility::kEveryone || user == caller.user ||
         caller.standing.in_project(state, project).at_least(Role::kViewer);
}

bool may_see_project(const core::State& state, const Caller& caller, const std::string& project) {
  if (may_audit(caller) || project.empty()) return true;
  const auto found = state.projects.find(project);
  return found != state.projects.end() && is_in(state, caller, found->second);
}

bool may_keep_keys(const core::State& state, const Caller& caller, const std::string& user) {
  if (caller.admin || caller.user == user) return true;
  const auto found = state.users.find(user);
  if (found == state.users.end() || found->second.service_of.empty()) return false;
  return caller.standing.in_project(state, found->second.service_of).at_least(Role::kManager);
}

bool refresh(const core::State& state, Caller& caller) {
  if (!caller.key.empty() && find_key(state, caller.key) == nullptr) return false;
  if (caller.is_root || caller.job) return may_stay(state, caller);
  const auto user = state.users.find(caller.user);
  if (user == state.users.end()) return caller.ssh.is_roots;
  if (caller.ssh.job) return !user->second.disabled && is_open(state, user->second, caller.ssh);
  caller.standing = core::standing_of(state, caller.user);
  caller.admin = caller.standing.cluster.has(Role::kAdmin);
  return !user->second.disabled && may_stay(state, caller);
}

// Keys are by SHA-256, and an id is the beginning of one.
const Key* find_key(const core::State& state, const std::string& id) {
  const auto found = state.keys.lower_bound(id);
  return found == state.keys.end() || found->second.id != id ? nullptr : &found->second;
}

bool is_rotated_token(const Key& key) {
  return key.is_administrators && key.kind == KeyKind::kKey && key.user.empty();
}

bool is_administrators_token(const Key& key) {
  return is_rotated_token(key) && key.expires_at == kNever;
}

bool has_administrators_token(const core::State& state) {
  return std::any_of(state.keys.begin(), state.keys.end(),
                     [](const auto& entry) { return is_administrators_token(entry.second); });
}

}  // namespace dove::accounts
