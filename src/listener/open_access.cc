#include "listener/open_access.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "accounts/access.h"

namespace dove::listener {
namespace {

bool is_about_keys(const StampedEvent& event) {
  return std::holds_alternative<KeyIssued>(event.event) ||  // it may end the oldest session
         std::holds_alternative<KeyRevoked>(event.event);
}

// Something that decides who has which role.
bool is_about_roles(const StampedEvent& event) {
  if (std::holds_alternative<ObjectDeleted>(event.event)) return true;
  if (std::holds_alternative<JobShared>(event.event)) return true;
  const auto* applied = std::get_if<ObjectApplied>(&event.event);
  return applied != nullptr && (std::holds_alternative<UserDeclaration>(applied->object) ||
                                std::holds_alternative<Project>(applied->object) ||
                                std::holds_alternative<Group>(applied->object) ||
                                std::holds_alternative<Binding>(applied->object));
}

bool has_ended(const core::State& state, const accounts::Caller& caller, Instant now,
               bool token_is_in_log) {
  if (caller.entry_ends <= now) return true;
  const std::string& opened_by = caller.ssh.opened_by;
  if (!opened_by.empty() && accounts::find_key(state, opened_by) == nullptr) return true;
  // The file counts until a token is rotated. With an overlap its own is a key from then on.
  if (!caller.file_token.empty() && token_is_in_log) {
    const auto former = state.keys.find(caller.file_token);
    return former == state.keys.end() || former->second.expires_at <= now;
  }
  if (caller.key.empty()) return false;
  const Key* key = accounts::find_key(state, caller.key);
  return key == nullptr || key->expires_at <= now;
}

}  // namespace

std::shared_ptr<const OpenAccess::Held> OpenAccess::hold(accounts::Caller caller,
                                                         std::function<void()> over) {
  auto held = std::make_shared<Held>(Held{std::move(caller), std::move(over)});
  held_.push_back(held);
  return held;
}

void OpenAccess::committed(const core::State& state, const store::Batch& batch, Instant now) {
  const bool roles = std::any_of(batch.events.begin(), batch.events.end(), is_about_roles);
  const bool keys = std::any_of(batch.events.begin(), batch.events.end(), is_about_keys);
  if (roles || keys) look(state, now, roles);
}

void OpenAccess::look(const core::State& state, Instant now, bool at_roles) {
  const bool by_file = std::any_of(held_.begin(), held_.end(), [](const auto& each) {
    const auto held = each.lock();
    return held != nullptr && !held->caller.file_token.empty();
  });
  const bool token_is_in_log = by_file && accounts::has_administrators_token(state);
  std::vector<std::shared_ptr<Held>> over;
  for (auto at = held_.begin(); at != held_.end();) {
    const std::shared_ptr<Held> held = at->lock();
    const bool stays = held != nullptr && !has_ended(state, held->caller, now, token_is_in_log) &&
                       (!at_roles || accounts::refresh(state, held->caller));
    if (held != nullptr && !stays) over.push_back(held);
    at = stays ? std::next(at) : held_.erase(at);
  }
  for (const std::shared_ptr<Held>& held : over) {
    if (const auto tell = std::exchange(held->over, nullptr)) tell();
  }
}

}  // namespace dove::listener
