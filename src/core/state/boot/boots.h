// Boots: which node may be given a token to join with, because its machine is being booted.
//
// A boot gives one token: an administrator arms it, or the node was told to reboot and is doing so.
// The token is one as any other (State::join_tokens). Pure; the folds are called by apply alone.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// For so long a refusal says that a boot was used, or is late; then that none is expected.
inline constexpr Span kBootRemembered = seconds(24 * 3600);

void fold(State& state, const JoinTokenIssued& event);
void fold(State& state, const BootArmed& event);
void fold(State& state, const BootTokenIssued& event);

// No boot of the node is expected any more, and no token to join under its name is good.
void take_back_boot(State& state, const std::string& node);
// Whether one is expected, or gave a token.
bool has_boot_to_take_back(const State& state, std::string_view node);

// The first by name that names the node; nullptr: none.
const BootConfig* boot_config_of(const State& state, std::string_view node);

// Whether the node's machine may be given a token now. Errors, all kDenied: boot_not_armed,
// boot_used, boot_expired, boot_connected.
Result<void> may_boot(const State& state, std::string_view node);

}  // namespace dove::core
