#include "core/admit/admit_boot.h"

#include <fmt/format.h>

#include "core/state/boot/boots.h"

namespace dove::core {
namespace {

// From which on the log can say it.
constexpr std::int32_t kBootLevel = 2;

Result<void> check_level(const State& state) {
  if (state.level >= kBootLevel) return {};
  return Error{ErrorKind::kConflict, "level_needed",
               fmt::format("controllers of the former version do not know how nodes boot: the "
                           "cluster is at level {} until an administrator runs `dove upgrade "
                           "finish`, and this needs level {}",
                           state.level, kBootLevel),
               ""};
}

}  // namespace

Result<void> check_boot(const State& state, const Declared& object) {
  return std::holds_alternative<BootConfig>(object) ? check_level(state) : Result<void>();
}

Result<void> check_boot(const State& state, const BootArmed& event) {
  TRY(check_level(state));
  if (event.until.us == 0) {
    if (has_boot_to_take_back(state, event.node_name)) return {};
    return Error{ErrorKind::kConflict, "boot_not_armed",
                 fmt::format("no boot of node {} is expected", event.node_name), "name"};
  }
  if (boot_config_of(state, event.node_name) != nullptr) return {};
  return Error{ErrorKind::kNotFound, "no_boot_config",
               fmt::format("no BootConfig names node {}: apply one first", event.node_name),
               "name"};
}

Result<void> check_boot(const State& state, const BootTokenIssued& event) {
  TRY(check_level(state));
  return may_boot(state, event.node_name);
}

}  // namespace dove::core
