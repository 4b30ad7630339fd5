// Applying a declared object in part: what a file leaves out stays as it was declared.
//
// Include this only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/declared.h"

namespace dove::codec {

// `before` as JSON with the fields of `patch` in place of its own, for read_declared(). A field
// replaces the one it is an alias of (fence_s, fence_us, fence), `scheduling` the order and the
// placement of a cluster; null resets a field to its default (model/new_cluster.h). Members of
// `limits` and `guaranteed` are fields of their own; lists and all other maps are replaced as a
// whole. `patch` must be an object.
nlohmann::json patched(const Declared& before, const nlohmann::json& patch);

// A word that changes whenever the object does, the same for equal objects: 16 hex digits.
std::string version_of(const Declared& object);

}  // namespace dove::codec
