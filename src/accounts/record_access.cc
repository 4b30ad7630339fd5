// may_see_record(): who sees what of the log.
#include "accounts/access.h"

namespace dove::accounts {
namespace {

struct SeesEvent {
  const core::State& state;
  const Caller& caller;
  const Cause& cause;

  bool operator()(const ObjectApplied& event) const { return may_see(state, caller, event.object); }
  // It is gone, so nobody knows who might have seen it.
  bool operator()(const ObjectDeleted& event) const {
    const bool is_hidden = event.kind == "user" || event.kind == "limit" || event.kind == "group" ||
                           event.kind == "binding" || event.kind == "project" ||
                           event.kind == "pool" || event.kind == "secret" ||
                           event.kind == "boot_config";
    return !is_hidden || cause.principal == caller.user;
  }
  bool operator()(const KeyIssued& event) const {
    return may_keep_keys(state, caller, event.key.user);
  }
  bool operator()(const KeyRevoked&) const { return cause.principal == caller.user; }
  bool operator()(const CallsRefused& event) const { return event.who == caller.user; }
  bool operator()(const JoinTokenIssued&) const { return false; }
  bool operator()(const BootArmed&) const { return false; }
  bool operator()(const BootTokenIssued&) const { return false; }
  template <class T>
  bool operator()(const T&) const {
    return true;
  }
};

}  // namespace

bool may_see_record(const core::State& state, const Caller& caller, JobId job,
                    const StampedEvent* event) {
  if (may_audit(caller)) return true;
  if (job || caller.job) {
    const core::Job* found = job ? state.find_job(job) : nullptr;
    if (found != nullptr) return may_see(state, caller, *found);
    // Nobody knows whose a forgotten job was.
    return !caller.job && state.settings.job_visibility == JobVisibility::kEveryone;
  }
  return event == nullptr || std::visit(SeesEvent{state, caller, event->cause}, event->event);
}

}  // namespace dove::accounts
