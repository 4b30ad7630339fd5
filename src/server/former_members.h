// Former ways to declare roles: `users` of a Project, `admin` of a User. Today only bindings do:
// entries in the former ways, in files and logs, become bindings.
//
// Include only from .cc files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/state/state.h"
#include "model/event.h"

namespace dove::server {

// What an object that is applied says of members.
struct FormerMembers {
  nlohmann::json binding;         // to be applied after it; null: none
  std::string binding_to_delete;  // ""; none
  std::vector<std::string> warnings;
};

// Takes the former field out of `object`, whose kind is "Project" or "User" (others are left as
// they are).
FormerMembers take_former_members(nlohmann::json& object, const std::string& kind,
                                  const std::string& name, const core::State& state);

// What makes bindings of all that a former log says in the old way; empty: it says nothing so.
std::vector<StampedEvent> bind_former_members(const core::State& state);

}  // namespace dove::server
