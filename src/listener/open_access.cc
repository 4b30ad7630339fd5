#include "listener/open_access.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "accounts/access.h"
#include "telemetry/clock.h"

namespace dove::listener {
namespace {

// Something that decides who may do what.
bool is_about_people(const StampedEvent& event) {
  return std::holds_alternative<ObjectApplied>(event.event) ||
         std::holds_alternative<ObjectDeleted>(event.event) ||
         std::holds_alternative<KeyIssued>(event.event) ||
         std::holds_alternative<KeyRevoked>(event.event);
}

bool has_ended(const core::State& state, const accounts::Caller& caller, Instant now) {
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

void OpenAccess::committed(const core::State& state, const store::Batch& batch) {
  if (std::any_of(batch.events.begin(), batch.events.end(), is_about_people)) look(state);
}

void OpenAccess::look(const core::State& state) {
  const Instant now{telemetry::now_us()};
  std::vector<std::shared_ptr<Held>> over;
  for (auto at = held_.begin(); at != held_.end();) {
    const std::shared_ptr<Held> held = at->lock();
    const bool stays = held != nullptr && !has_ended(state, held->caller, now) &&
                       accounts::refresh(state, held->caller);
    if (held != nullptr && !stays) over.push_back(held);
    at = stays ? std::next(at) : held_.erase(at);
  }
  for (const std::shared_ptr<Held>& held : over) {
    if (const auto tell = std::exchange(held->over, nullptr)) tell();
  }
}

}  // namespace dove::listener
