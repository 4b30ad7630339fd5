// The kinds of declared objects: their names, and the objects of the state by kind. Pure. Include
// only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/state/state.h"
#include "model/declared.h"

namespace dove::server {

// As in paths and ObjectDeleted, and as in the objects themselves.
struct ObjectKind {
  std::string_view path;
  std::string_view object;
};

// By either of its names. Errors: kNotFound no_such_kind.
Result<ObjectKind> read_kind(std::string_view text);
const ObjectKind& kind_of(const Declared& object);

// All objects of the kind with this path, "" for every kind, in the order of kinds and names.
std::vector<Declared> all_objects(const core::State& state, std::string_view kind);
std::optional<Declared> find_object(const core::State& state, const ObjectKind& kind,
                                    const std::string& name);

// As the API shows it: without digests, with its version.
nlohmann::json shown(const Declared& object);
// "queue q", for messages.
std::string object_name(const ObjectKind& kind, const std::string& name);

}  // namespace dove::server
