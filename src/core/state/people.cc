#include "core/state/people.h"

#include <algorithm>
#include <set>

#include "core/state/usage.h"

namespace dove::core {
namespace {

constexpr std::size_t kSessionsOfOneMax = 20;

// Declared lists are sorted when they are read, so a name is found by halving, also in a group of
// thousands.
bool holds(const std::vector<std::string>& ascending, const std::string& name) {
  return std::binary_search(ascending.begin(), ascending.end(), name);
}

void erase(std::vector<std::string>& ascending, const std::string& name) {
  const auto [begin, end] = std::equal_range(ascending.begin(), ascending.end(), name);
  ascending.erase(begin, end);
}

// Those that name the user, and upwards those that hold these.
std::set<std::string> groups_of(const State& state, const std::string& user) {
  std::set<std::string> found;
  std::vector<std::string> next;
  const auto take = [&](const std::string& name) {
    // Each group once, so that a circle of groups (an old log may have one) ends.
    if (found.insert(name).second) next.push_back(name);
  };
  for (const auto& [name, group] : state.groups) {
    if (holds(group.users, user)) take(name);
  }
  while (!next.empty()) {
    const std::string inner = std::move(next.back());
    next.pop_back();
    for (const auto& [name, group] : state.groups) {
      if (holds(group.groups, inner)) take(name);
    }
  }
  return found;
}

template <class Map>
Roles find_roles(const Map& map, const std::string& name) {
  const auto found = name.empty() ? map.end() : map.find(name);
  return found == map.end() ? Roles() : found->second;
}

bool is_at(const Binding& binding, const Project& project) {
  return binding.project == project.name ||
         (binding.project.empty() && !binding.domain.empty() && binding.domain == project.domain);
}

void end_oldest_session(State& state, const std::string& user) {
  auto oldest = state.keys.end();
  std::size_t held = 0;
  for (auto at = state.keys.begin(); at != state.keys.end(); ++at) {
    if (at->second.user != user || at->second.kind != KeyKind::kSession) continue;
    held += 1;
    if (oldest == state.keys.end() || at->second.issued_at < oldest->second.issued_at) oldest = at;
  }
  // One at most: each sign-in adds one, and they are counted at each.
  if (held > kSessionsOfOneMax) state.keys.erase(oldest);
}

// What a former log says without bindings, for as long as nobody could write them.
Standing former_standing(const State& state, const std::string& user) {
  Standing out;
  const auto known = state.users.find(user);
  if (known != state.users.end() && known->second.admin) out.cluster.add(Role::kAdmin);
  for (const auto& [name, project] : state.projects) {
    const auto& users = project.users;
    if (std::find(users.begin(), users.end(), user) != users.end()) {
      out.projects[name].add(Role::kMember);
    }
  }
  return out;
}

}  // namespace

bool Roles::at_least(Role role) const {
  // Roles ascend, but for the auditor, who reads everything and does nothing: no role but the
  // administrator's holds that.
  if (has(role) || (role == Role::kViewer && has(Role::kAuditor))) return true;
  if (role == Role::kAuditor) return has(Role::kAdmin);
  for (auto each = static_cast<unsigned>(role); each <= static_cast<unsigned>(Role::kAdmin);
       ++each) {
    if (has(static_cast<Role>(each))) return true;
  }
  return false;
}

Roles Standing::in_domain(const std::string& domain) const {
  Roles roles = cluster;
  roles.add(find_roles(domains, domain));
  return roles;
}

Roles Standing::in_project(const State& state, const std::string& project) const {
  const auto declared = state.projects.find(project);
  Roles roles = in_domain(declared == state.projects.end() ? "" : declared->second.domain);
  roles.add(find_roles(projects, project));
  return roles;
}

Standing standing_of(const State& state, const std::string& user) {
  // Old declarations count beside bindings, so that a log from before goes on to mean what it
  // meant.
  Standing out = former_standing(state, user);
  if (state.bindings.empty()) return out;
  const std::set<std::string> groups = groups_of(state, user);
  const std::string everybody = "*";
  for (const auto& [name, binding] : state.bindings) {
    const bool is_theirs =
        holds(binding.users, user) || holds(binding.users, everybody) ||
        std::any_of(binding.groups.begin(), binding.groups.end(),
                    [&](const std::string& group) { return groups.count(group) > 0; });
    if (!is_theirs) continue;
    // Where the binding is: roles are inherited downwards when they are asked for, not copied here.
    Roles& roles = !binding.project.empty()  ? out.projects[binding.project]
                   : !binding.domain.empty() ? out.domains[binding.domain]
                                             : out.cluster;
    roles.add(binding.role);
  }
  return out;
}

bool holds_for(const Binding& binding, const Project& project) {
  return is_at(binding, project) || (binding.project.empty() && binding.domain.empty());
}

bool has_members(const State& state, const Project& project) {
  return !project.users.empty() ||
         std::any_of(state.bindings.begin(), state.bindings.end(),
                     [&](const auto& entry) { return is_at(entry.second, project); });
}

bool is_member(const State& state, const Project& project, const std::string& user) {
  // Nobody has said who its members are: then it is open.
  if (!has_members(state, project)) return true;
  return standing_of(state, user).in_project(state, project.name).at_least(Role::kMember);
}

std::vector<std::string> circle_of(const State& state, const Group& group) {
  std::vector<std::string> path{group.name};
  std::set<std::string> seen;
  const auto walk = [&](const auto& self, const std::vector<std::string>& inner) -> bool {
    for (const std::string& name : inner) {
      if (name == group.name) return true;
      const auto found = state.groups.find(name);
      // Seen before and not found to lead back: it will not do so from here either.
      if (found == state.groups.end() || !seen.insert(name).second) continue;
      path.push_back(name);
      if (self(self, found->second.groups)) return true;
      path.pop_back();
    }
    return false;
  };
  if (!walk(walk, group.groups)) return {};
  path.push_back(group.name);
  return path;
}

void add_key(State& state, const KeyIssued& event) {
  std::erase_if(state.keys, [&](const auto& entry) { return entry.second.expires_at < state.now; });
  Key& key = state.keys[event.sha256] = event.key;
  key.issued_at = state.now;
  if (key.kind == KeyKind::kSession) end_oldest_session(state, key.user);
}

void drop_user(State& state, const std::string& name) {
  state.users.erase(name);
  std::erase_if(state.keys, [&](const auto& entry) {
    return entry.second.user == name && !entry.second.is_administrators;
  });
  // Also its place in groups and bindings: whoever gets the name later would inherit its roles.
  for (auto& [key, group] : state.groups) erase(group.users, name);
  for (auto& [key, binding] : state.bindings) erase(binding.users, name);
}

void drop_domain(State& state, const std::string& name) {
  drop_domain_limits(state, name);
  std::erase_if(state.bindings, [&](const auto& entry) {
    return entry.second.domain == name && entry.second.project.empty();
  });
}

void drop_project_bindings(State& state, const std::string& name) {
  std::erase_if(state.bindings, [&](const auto& entry) { return entry.second.project == name; });
}

void drop_group(State& state, const std::string& name) {
  state.groups.erase(name);
  for (auto& [key, group] : state.groups) erase(group.groups, name);
  for (auto& [key, binding] : state.bindings) erase(binding.groups, name);
}

}  // namespace dove::core
