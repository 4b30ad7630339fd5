// ObjectChecks: checks of a declared object before the core is asked. Pure. Include only from .cc
// files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/declared.h"

namespace dove::server {

// A writer who names a version must have seen what is there now. `version`: null where none is
// named; `object`: "queue q"; `verb`: what the writer does to it. Errors: kConflict stale_version,
// kInvalid bad_value.
Result<void> check_version(const nlohmann::json& version, const std::string& object,
                           const std::optional<Declared>& before, const char* verb);

// A key that nobody would be let in by is refused before it is kept.
Result<void> check_ssh_keys(const Declared& object);

// A file with a secret in it would be one more place where it can be read.
Result<void> check_no_secret(const Declared& object, const std::optional<Declared>& before);

}  // namespace dove::server
