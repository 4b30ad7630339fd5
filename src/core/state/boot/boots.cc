#include "core/state/boot/boots.h"

#include <fmt/format.h>

#include "text/hostlist.h"

namespace dove::core {
namespace {

// The log says that the machine is being booted: the node controller sent it there. An expelled
// node was sent nowhere: it comes back by a token of an administrator.
bool is_rebooting(const Node* node) {
  return node != nullptr && !node->removed && !is_expelled(*node) &&
         node->life == LifeStage::kRepair && node->remedy == Remedy::kReboot;
}

const ArmedBoot* armed_boot(const State& state, std::string_view name) {
  const auto found = state.armed_boots.find(std::string(name));
  return found == state.armed_boots.end() ? nullptr : &found->second;
}

bool is_used(const ArmedBoot* armed) { return armed != nullptr && armed->used_at.us != 0; }

bool is_taken_back(const ArmedBoot* armed) { return is_used(armed) && armed->used_by.empty(); }

// What was used or taken back before belongs to a former reboot.
bool reboot_is_open(const Node* node, const ArmedBoot* armed) {
  return is_rebooting(node) && (!is_used(armed) || armed->used_at < node->life_since);
}

Error refused(const char* code, std::string message) {
  return Error{ErrorKind::kDenied, code, std::move(message), "name"};
}

}  // namespace

// Old tokens and boots are dropped when new ones come: no timer is needed for it.
void fold(State& state, const JoinTokenIssued& event) {
  std::erase_if(state.join_tokens,
                [&](const auto& token) { return token.second.expires_at < state.now; });
  state.join_tokens[event.sha256] = JoinToken{event.node_name, event.expires_at};
}

void fold(State& state, const BootArmed& event) {
  // A reboot that takes long still gives no second token.
  std::erase_if(state.armed_boots, [&](const auto& entry) {
    return entry.second.until + kBootRemembered < state.now &&
           !is_rebooting(state.find_node(entry.first));
  });
  if (event.until.us == 0) return take_back_boot(state, event.node_name);
  state.armed_boots[event.node_name] = ArmedBoot{event.until};
}

void fold(State& state, const BootTokenIssued& event) {
  fold(state, JoinTokenIssued{event.sha256, event.node_name, event.expires_at});
  ArmedBoot& armed = state.armed_boots[event.node_name];
  if (armed.until < state.now) armed.until = state.now;  // of a reboot that nobody armed
  armed.used_at = state.now;
  armed.used_by = event.address;
}

// The entry stays, as used by nobody: without it a node that reboots would be expected again.
void take_back_boot(State& state, const std::string& node) {
  std::erase_if(state.join_tokens,
                [&](const auto& token) { return token.second.node_name == node; });
  if (!state.armed_boots.contains(node) && !is_rebooting(state.find_node(node))) return;
  state.armed_boots[node] = ArmedBoot{state.now, state.now, ""};
}

bool has_boot_to_take_back(const State& state, std::string_view name) {
  const ArmedBoot* armed = armed_boot(state, name);
  return reboot_is_open(state.find_node(name), armed) ||
         (armed != nullptr && !is_taken_back(armed));
}

const BootConfig* boot_config_of(const State& state, std::string_view node) {
  for (const auto& [name, config] : state.boot_configs) {
    if (text::any_hostlist_holds(config.nodes, node)) return &config;
  }
  return nullptr;
}

Result<void> may_boot(const State& state, std::string_view name) {
  const Node* node = state.find_node(name);
  const ArmedBoot* armed = armed_boot(state, name);
  const std::string arm = fmt::format("`dove node boot {}` allows another one", name);
  // What is connected is not being booted: somebody else asks, or its machine has not gone down.
  if (node != nullptr && !node->removed && node->contact == Contact::kConnected) {
    return refused("boot_connected",
                   fmt::format("node {} is connected, so it is not being booted", name));
  }
  if (reboot_is_open(node, armed)) return {};
  if (armed == nullptr || is_taken_back(armed)) {
    return refused("boot_not_armed",
                   fmt::format("no boot of node {0} is expected: an administrator allows one with "
                               "`dove node boot {0}`",
                               name));
  }
  if (is_used(armed)) {
    return refused("boot_used",
                   fmt::format("the token for this boot of node {} was given to {}; {}", name,
                               armed->used_by, arm));
  }
  if (armed->until > state.now) return {};
  return refused("boot_expired",
                 fmt::format("node {} was to boot earlier, and its time is over; {}", name, arm));
}

}  // namespace dove::core
