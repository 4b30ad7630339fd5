#include "controller/turn.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "telemetry/log.h"

namespace dove::controller {
namespace {

constexpr std::int64_t kLeastWait_us = 5'000;

// What another try may mend.
bool passes(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kExhausted ||
         error.code == "lease_held";
}

}  // namespace

Turn::Turn(store::Lease& lease, store::Standbys& others, Controller& controller,
           TurnOptions options, Calls calls)
    : lease_(lease),
      others_(others),
      controller_(controller),
      options_(std::move(options)),
      calls_(std::move(calls)) {}

Standing Turn::standing() const {
  const std::lock_guard lock(mutex_);
  return standing_;
}

std::optional<std::vector<store::ControllerSeen>> Turn::standbys() const {
  const std::lock_guard lock(mutex_);
  return standbys_;
}

Result<store::ControllerSeen> Turn::hand_over(const std::string& name) {
  const auto conflict = [](const char* code, std::string why) {
    return Error{ErrorKind::kConflict, code, std::move(why), "to"};
  };
  if (!holds()) return conflict("not_leader", "this controller does not lead");
  const std::lock_guard lock(mutex_);
  if (next_) return conflict("handing_over", "it is being handed over already");
  // The one that has to read least before it leads, among those that are there.
  const store::ControllerSeen* best = nullptr;
  const auto is_there = [this](const store::ControllerSeen& one) {
    return one.ago_us <= options_.standby_us;
  };
  const std::vector<store::ControllerSeen> all =
      standbys_.value_or(std::vector<store::ControllerSeen>());
  for (const store::ControllerSeen& one : all) {
    if (!name.empty() && one.name != name) continue;
    const bool is_better = best == nullptr || (is_there(one) && !is_there(*best)) ||
                           (is_there(one) && one.folded > best->folded);
    if (is_better) best = &one;
  }
  if (best != nullptr && !is_there(*best)) {
    return conflict("no_standby", fmt::format("{} said {} s ago for the last time that it stands "
                                              "by: see why on its machine",
                                              best->name, best->ago_us / 1'000'000));
  }
  if (best != nullptr) {
    next_ = best->name;
    return *best;
  }
  if (name.empty()) {
    return conflict("no_standby", "no other controller stands by (docs/operate/standby.md)");
  }
  return Error{
      ErrorKind::kNotFound, "no_such_controller",
      fmt::format("no controller named {} stands by; `dove controller list` has all", name), "to"};
}

void Turn::look_at_others() {
  const std::int64_t now_us = options_.monotonic();
  if (looked_at_others_us_ && now_us - *looked_at_others_us_ < options_.others_look_us) return;
  looked_at_others_us_ = now_us;
  Result<std::vector<store::ControllerSeen>> seen = others_.standbys();
  if (!seen.ok()) return;
  const std::lock_guard lock(mutex_);
  standbys_ = std::move(seen).value();
}

// What it was given is acknowledged or refused before another one may begin; nothing is taken after
// that.
Turn::Next Turn::give_to(const std::string& name) {
  const std::int64_t begun_us = options_.monotonic();
  calls_.rests();
  controller_.stop(/*at_once=*/true);
  holds_until_us_ = 0;
  lease_.release(name);
  telemetry::log(telemetry::Level::kInfo, "handed_over",
                 {{"to", name}, {"ms", (options_.monotonic() - begun_us) / 1'000}});
  if (!stops_) calls_.handed();
  return {.is_over = true};
}

Turn::Next Turn::step() { return leads_ ? lead() : stand_by(); }

void Turn::say(const char* what, const Error& error) {
  if (said_ == error.message) return;
  said_ = error.message;
  telemetry::log(telemetry::Level::kWarning, what, {{"code", error.code}, {"why", error.message}});
}

Turn::Next Turn::end(const Error& error) {
  holds_until_us_ = 0;
  if (!stops_) calls_.over(error);
  return {.is_over = true};
}

Turn::Next Turn::stand_by() {
  const std::int64_t begun_us = options_.monotonic();
  const Result<void> opened = controller_.open();
  if (opened.ok()) return begin(begun_us);
  const bool is_held = opened.error().code == "lease_held";
  const Result<store::LeaderSeen> seen = is_held ? lease_.leader() : opened.error();
  if (!seen.ok()) {
    // Once a term has begun, what was folded since may not be what was written.
    if (lease_.leads() || !passes(seen.error())) return end(seen.error());
    say("standby_waits", seen.error());
    const std::lock_guard lock(mutex_);
    standing_.trouble = seen.error();
    return {.in_us = options_.look_us / 2};
  }
  {
    const std::lock_guard lock(mutex_);
    standing_ = {*seen, controller_.state().head, begun_us, {}};
  }
  said_.clear();
  if (!said_us_ || begun_us - *said_us_ >= options_.others_look_us) {
    said_us_ = begun_us;
    const std::string says = options_.says ? options_.says() : "";
    (void)others_.stands_by(controller_.state().head, says);  // trouble is seen by what comes next
  }
  return {.in_us = std::clamp(seen->left_us, kLeastWait_us, options_.look_us), .with_news = true};
}

Turn::Next Turn::begin(std::int64_t begun_us) {
  leads_ = true;
  holds_until_us_ = begun_us + options_.lease_us;
  telemetry::log(telemetry::Level::kInfo, "leads",
                 {{"ms", (options_.monotonic() - begun_us) / 1'000}});
  calls_.leads();
  return {};
}

Turn::Next Turn::lead() {
  std::optional<std::string> next;
  {
    const std::lock_guard lock(mutex_);
    next = next_;
  }
  if (next) return give_to(*next);
  const std::int64_t begun_us = options_.monotonic();
  const Result<bool> renewed = lease_.renew();
  if (!renewed.ok()) {
    say("lease_not_renewed", renewed.error());
    return {.in_us = options_.lease_us / 20};
  }
  if (!*renewed) {
    return end(Error{ErrorKind::kConflict, "not_leader",
                     "another controller has taken over: this one ends; started anew, it stands by",
                     ""});
  }
  holds_until_us_ = begun_us + options_.lease_us;
  said_.clear();
  look_at_others();
  const std::int64_t took_us = options_.monotonic() - begun_us;
  return {.in_us = std::max(options_.lease_us / 3 - took_us, options_.lease_us / 20)};
}

}  // namespace dove::controller
