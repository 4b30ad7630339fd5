// People in the State: a user's role at each level, and what is removed with a user.
//
// Roles are inherited downwards: from the cluster to its domains, from a domain to its projects.
// Pure. Each call of standing_of() looks at all groups and bindings.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// A set of roles.
class Roles {
 public:
  void add(Role role) { bits_ = static_cast<std::uint8_t>(bits_ | bit(role)); }
  void add(Roles other) { bits_ = static_cast<std::uint8_t>(bits_ | other.bits_); }
  bool has(Role role) const { return (bits_ & bit(role)) != 0; }
  bool empty() const { return bits_ == 0; }
  // That role or one that holds it. An auditor looks as a viewer does.
  bool at_least(Role role) const;

 private:
  static std::uint8_t bit(Role role) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(role));
  }
  std::uint8_t bits_ = 0;
};

// What one user is: by the bindings that name them, their groups, or everybody.
struct Standing {
  Roles cluster;
  std::map<std::string, Roles> domains;   // bound there
  std::map<std::string, Roles> projects;  // bound there

  // With what is inherited from above. "" is no domain, or no project: the cluster's alone.
  Roles in_domain(const std::string& domain) const;
  Roles in_project(const State& state, const std::string& project) const;
};

Standing standing_of(const State& state, const std::string& user);

// Whether the binding is on the project, its domain, or the cluster.
bool holds_for(const Binding& binding, const Project& project);
// Whether a binding of the project or of its domain says who its members are. As long as none
// does, everybody may submit for it.
bool has_members(const State& state, const Project& project);
// Whether they may submit for it.
bool is_member(const State& state, const Project& project, const std::string& user);

// The names of the groups on a circle that `group` would close; empty: none.
std::vector<std::string> circle_of(const State& state, const Group& group);

// -- by the fold

// Keeps the newest of their sessions, and no key that has expired.
void add_key(State& state, const KeyIssued& event);
// Their keys, and their place in groups and bindings: another of that name gets none of it.
void drop_user(State& state, const std::string& name);
// With the bindings there.
void drop_domain(State& state, const std::string& name);
void drop_project_bindings(State& state, const std::string& name);
void drop_group(State& state, const std::string& name);

}  // namespace dove::core
