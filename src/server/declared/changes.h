// The changes that applying declared objects makes: read, checked and tried out on a copy of the
// state. Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "accounts/caller.h"
#include "base/result.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/declared.h"
#include "server/declared/kinds.h"

namespace dove::server {

// What becomes of an object that is applied.
struct ObjectChange {
  Declared object;
  std::optional<Declared> before;
  std::vector<std::string> warnings = {};
  bool is_deletion = false;  // `object` goes
  bool same() const { return !is_deletion && before.has_value() && *before == object; }
  nlohmann::json json() const;
  Event event() const;
};

// One object as it is given may be several changes: former ways to say who is a member.
Result<std::vector<ObjectChange>> changes_of_one(nlohmann::json body, const ObjectKind& kind,
                                                 const std::string& name,
                                                 const accounts::Caller& caller,
                                                 const core::State& state);

// Those of a list of objects, in an order in which each finds what it names: the list's own, but
// that an object is put off that names what a later one declares. Errors: of the first object of
// the list that is refused, with the reason of the next such.
Result<std::vector<ObjectChange>> changes_of(const nlohmann::json& objects,
                                             const accounts::Caller& caller,
                                             const core::State& state,
                                             const core::Policies& policies);

// Refuses what the caller may not do and what the core does not take, and adds warnings.
Result<void> try_changes(core::State trial, const accounts::Caller& caller,
                         const core::Policies& policies, std::vector<ObjectChange>& changes);

}  // namespace dove::server
