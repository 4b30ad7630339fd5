#include "core/admit/admit_people.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/state/people.h"
#include "text/spelling.h"

namespace dove::core {
namespace {

constexpr Span kWindowMax = seconds(7 * 86'400);  // of an idle rule: its measurements are kept

// Keys are part of the state and of every snapshot. A script that makes one at each run would fill
// both.
constexpr std::ptrdiff_t kKeysOfOneMax = 100;
// At most this many people are named in one message.
constexpr std::size_t kNamedMax = 3;

Error conflict(std::string code, std::string message) {
  return Error{ErrorKind::kConflict, std::move(code), std::move(message), ""};
}

// Who may make members of a project: its managers, those of its domain, administrators.
std::string managers_of(const State& state, const Project& project) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (is_new && names.size() < kNamedMax) names.push_back(name);
  };
  for (const auto& [key, binding] : state.bindings) {
    const bool manages = binding.role == Role::kManager || binding.role == Role::kAdmin;
    // An administrator of the cluster may do it for every project, and a manager of a domain for
    // its own.
    if (!manages || !holds_for(binding, project)) continue;
    for (const std::string& name : binding.users) add(name);
    for (const std::string& name : binding.groups) add("group " + name);
  }
  return names.empty() ? "an administrator" : fmt::format("{}", fmt::join(names, " or "));
}

template <class Map>
std::string nearest(const Map& known, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& entry : known) names.push_back(entry.first);
  const std::string_view found = text::nearest(name, names);
  return found.empty() ? "" : fmt::format("; did you mean \"{}\"?", found);
}

template <class Map>
Result<void> check_known(const Map& known, const std::string& name, const char* kind) {
  // The empty name stands for "none", which is always known.
  if (name.empty() || known.contains(name)) return {};
  return Error{ErrorKind::kInvalid, fmt::format("{}_unknown", kind),
               fmt::format("there is no {0} \"{1}\"{2}; apply the {0} before what names it", kind,
                           name, nearest(known, name)),
               kind};
}

Result<void> check_groups(const State& state, const std::vector<std::string>& groups,
                          const std::string& itself) {
  for (const std::string& name : groups) {
    // A group that holds itself is refused as a circle, with a better message.
    if (name == itself || state.groups.contains(name)) continue;
    return Error{ErrorKind::kInvalid, "group_unknown",
                 fmt::format("there is no group \"{}\"{}; apply the inner group first", name,
                             nearest(state.groups, name)),
                 "groups"};
  }
  return {};
}

Result<void> check(const State& state, const Group& group) {
  TRY(check_known(state.domains, group.domain, "domain"));
  TRY(check_groups(state, group.groups, group.name));
  // Members are found by going up the groups. That ends with a circle too, but nobody could say who
  // gave whom a role.
  const std::vector<std::string> circle = circle_of(state, group);
  if (circle.empty()) return {};
  return conflict("group_circle",
                  fmt::format("group \"{}\" would hold itself: {}; leave one of them out of "
                              "`groups`",
                              group.name, fmt::join(circle, " holds ")));
}

Result<void> check(const State& state, const Executor& executor) {
  // Without the account no adapter could call, and the executor would stay silent for ever.
  TRY(check_known(state.users, executor.service_account, "user"));
  for (const auto& [account, queue] : executor.queues) {
    TRY(check_known(state.queues, queue, "queue"));
  }
  return {};
}

Error bad_rule(std::string message, std::string field) {
  return Error{ErrorKind::kInvalid, "bad_idle_rule", std::move(message), std::move(field)};
}

Result<void> check_use(const IdleRule& rule) {
  bool looks = false;
  // Below 0 an amount is not looked at.
  for (const auto& [percent, field] : {std::pair{rule.gpu_percent, "gpu_percent"},
                                       {rule.gpu_memory_percent, "gpu_memory_percent"},
                                       {rule.cpu_percent, "cpu_percent"}}) {
    if (percent == 0)
      return bad_rule("nothing is below 0 %: give 1 to 100, or leave it out", field);
    looks = looks || percent > 0;
  }
  // A single measurement says nothing: use falls to 0 between two batches.
  if (looks && rule.window.us <= 0) {
    return bad_rule("say over which time use is averaged: window: 30m", "window");
  }
  if (!looks && rule.window.us > 0) {
    return bad_rule("say of what little is used: gpu_percent, gpu_memory_percent or cpu_percent",
                    "window");
  }
  // Measurements are kept as long as the longest window.
  if (rule.window > kWindowMax) return bad_rule("a window has at most 7 days", "window");
  return {};
}

Result<void> check(const State& state, const IdleRule& rule) {
  TRY(check_use(rule));
  const bool looks = rule.no_input_for.us > 0 || rule.window.us > 0 || rule.lifetime.us > 0;
  // A rule that looks at nothing would still shadow the less specific ones, as an exemption does,
  // and nobody would see why.
  if (!looks && !rule.exempt) {
    return bad_rule("it looks at nothing: give no_input_for, window or lifetime, or exempt: true",
                    "no_input_for");
  }
  if (rule.lifetime.us > 0 && rule.warning >= rule.lifetime) {
    return bad_rule("the warning is to come before the lifetime is over: it is shorter", "warning");
  }
  for (const std::string& project : rule.projects) {
    TRY(check_known(state.projects, project, "project"));
  }
  return {};
}

Result<void> check(const State& state, const Binding& binding) {
  TRY(check_known(state.domains, binding.domain, "domain"));
  TRY(check_known(state.projects, binding.project, "project"));
  return check_groups(state, binding.groups, "");
}

Result<void> check(const State& state, const UserDeclaration& user) {
  return check_known(state.projects, user.service_of, "project");
}

}  // namespace

Result<void> check_submitter(const State& state, const std::string& user) {
  const auto known = state.users.find(user);
  // Users need not be declared, and who is not cannot be disabled either.
  if (known == state.users.end() || !known->second.disabled) return {};
  return Error{ErrorKind::kDenied, "user_disabled",
               fmt::format("user {} is disabled here, so nothing is submitted in that name; ask an "
                           "administrator",
                           user),
               "user"};
}

Result<void> check_member(const State& state, const Project& project, const std::string& user) {
  if (is_member(state, project, user)) return {};
  return Error{ErrorKind::kDenied, "not_in_project",
               fmt::format("user {} is not a member of project \"{}\": ask {} for a binding with "
                           "the role member",
                           user, project.name, managers_of(state, project)),
               "project"};
}

Result<void> check_key(const State& state, const Key& key) {
  // Its bearer holds the administrator's token, which is no declared user's.
  if (key.is_administrators) return {};
  if (!state.users.contains(key.user)) {
    return Error{ErrorKind::kNotFound, "no_such_user",
                 fmt::format("no user {0} is declared, and a key is a user's: `dove token create "
                             "--create {0}` declares one",
                             key.user),
                 "user"};
  }
  // Sign-ins are not refused for being too many: the oldest session ends instead (add_key).
  if (key.kind == KeyKind::kSession) return {};
  const auto held = std::count_if(state.keys.begin(), state.keys.end(), [&](const auto& one) {
    // Expired keys are dropped with the next one that is issued, so they do not count.
    return one.second.user == key.user && one.second.kind == key.kind &&
           one.second.expires_at > state.now;
  });
  if (held < kKeysOfOneMax) return {};
  return conflict("too_many_keys",
                  fmt::format("{} has {} keys, which is the most: revoke one that is not used",
                              key.user, held));
}

Result<void> check_people(const State& state, const Declared& object) {
  if (const auto* executor = std::get_if<Executor>(&object)) return check(state, *executor);
  if (const auto* rule = std::get_if<IdleRule>(&object)) return check(state, *rule);
  if (const auto* group = std::get_if<Group>(&object)) return check(state, *group);
  if (const auto* binding = std::get_if<Binding>(&object)) return check(state, *binding);
  if (const auto* user = std::get_if<UserDeclaration>(&object)) return check(state, *user);
  return {};
}

std::vector<std::string> people_warnings(const State& state, const Declared& object) {
  std::vector<std::string> out;
  const auto each_unknown = [&](const std::vector<std::string>& users) {
    for (const std::string& name : users) {
      // Where nobody is declared, users are free text, and nothing can be misspelt.
      if (name == "*" || state.users.empty() || state.users.contains(name)) continue;
      out.push_back(
          fmt::format("user \"{}\" is not declared{}; `dove token create --create {}` "
                      "declares one",
                      name, nearest(state.users, name), name));
    }
  };
  if (const auto* group = std::get_if<Group>(&object)) each_unknown(group->users);
  if (const auto* binding = std::get_if<Binding>(&object)) each_unknown(binding->users);
  // A project is open until a binding names its members. People expect the opposite, so they are
  // told.
  if (const auto* project = std::get_if<Project>(&object);
      project != nullptr && !has_members(state, *project)) {
    out.push_back(
        fmt::format("everybody may submit for project \"{}\" until a Binding on it, or on "
                    "its domain, says who its members are",
                    project->name));
  }
  return out;
}

Result<void> domain_empty(const State& state, const std::string& name) {
  // They would name a domain that is gone, and with it its limits and its administrators.
  for (const auto& [key, project] : state.projects) {
    if (project.domain != name) continue;
    return conflict("domain_has_projects",
                    fmt::format("project \"{}\" is in it: delete or move that one first", key));
  }
  return {};
}

Result<void> user_idle(const State& state, const std::string& name) {
  const auto found = state.usage_by_user.find(name);
  if (found == state.usage_by_user.end()) return {};
  // Their jobs would go on in the name of nobody, and a later user of that name would own them.
  const Usage& usage = found->second;
  if (usage.jobs_waiting == 0 && usage.jobs_running == 0) return {};
  return conflict("user_has_jobs",
                  fmt::format("user {} has {} waiting and {} running jobs: cancel them or let them "
                              "end; until then `disabled: true` keeps the user out",
                              name, usage.jobs_waiting, usage.jobs_running));
}

}  // namespace dove::core
