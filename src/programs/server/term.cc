#include "programs/server/term.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kLook_us = 1'000'000;  // where nobody notifies
constexpr std::int64_t kDatabaseLook_us = 10'000'000;
constexpr std::int64_t kFoldPause_us = 20'000;
constexpr std::int64_t kLeastWait_us = 5'000;
constexpr std::int64_t kOthersLook_us = 900'000;
constexpr std::int64_t kStandby_us = 5'000'000;  // who has said nothing for so long is not there

// What another try may mend.
bool passes(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kExhausted ||
         error.code == "lease_held";
}

}  // namespace

Term::Term(store::PostgresStore& store, controller::Controller& controller, Calls calls)
    : store_(store),
      controller_(controller),
      calls_(std::move(calls)),
      wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wakes_ >= 0, "a thread can be woken");
  thread_ = std::thread([this] { run(); });
}

Term::~Term() {
  stops_ = true;
  wake();
  thread_.join();
  ::close(wakes_);
}

void Term::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wakes_, &one, sizeof one);
}

bool Term::holds() const { return telemetry::monotonic_us() < holds_until_us_.load(); }

Standing Term::standing() const {
  std::lock_guard lock(mutex_);
  return standing_;
}

std::string Term::can_be_lost() const {
  std::lock_guard lock(mutex_);
  return can_be_lost_;
}

std::vector<store::ControllerSeen> Term::standbys() const {
  std::lock_guard lock(mutex_);
  return standbys_;
}

Result<store::ControllerSeen> Term::hand_over(const std::string& name) {
  const auto conflict = [](const char* code, std::string why) {
    return Error{ErrorKind::kConflict, code, std::move(why), "to"};
  };
  if (!holds()) return conflict("not_leader", "this controller does not lead");
  std::lock_guard lock(mutex_);
  if (next_) return conflict("handing_over", "it is being handed over already");
  // Of those that are there, the one that has to read least before it leads.
  const store::ControllerSeen* best = nullptr;
  const auto is_there = [](const store::ControllerSeen& one) { return one.ago_us <= kStandby_us; };
  for (const store::ControllerSeen& one : standbys_) {
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
    wake();
    return *best;
  }
  if (name.empty()) {
    return conflict("no_standby", "no other controller stands by (docs/operate/standby.md)");
  }
  return Error{
      ErrorKind::kNotFound, "no_such_controller",
      fmt::format("no controller named {} stands by; `dove controller list` has all", name), "to"};
}

// Said once, and shown by /readyz.
void Term::look_at_database() {
  const std::int64_t now_us = telemetry::monotonic_us();
  if (looked_us_ != 0 && now_us - looked_us_ < kDatabaseLook_us) return;
  looked_us_ = now_us;
  const Result<std::optional<std::string>> lost = store_.can_be_lost();
  if (!lost.ok()) return;
  std::lock_guard lock(mutex_);
  if (can_be_lost_ == lost->value_or("")) return;
  can_be_lost_ = lost->value_or("");
  telemetry::log(telemetry::Level::kWarning, "log_durability",
                 {{"why", can_be_lost_.empty() ? "it waits for a second machine" : can_be_lost_}});
}

void Term::look_at_others() {
  const std::int64_t now_us = telemetry::monotonic_us();
  if (looked_at_others_us_ != 0 && now_us - looked_at_others_us_ < kOthersLook_us) return;
  looked_at_others_us_ = now_us;
  Result<std::vector<store::ControllerSeen>> seen = store_.standbys();
  if (!seen.ok()) return;
  std::lock_guard lock(mutex_);
  standbys_ = std::move(seen).value();
}

// What it was given is acknowledged or refused before another one may begin; nothing is taken after
// that.
void Term::give_to(const std::string& name) {
  const std::int64_t begun_us = telemetry::monotonic_us();
  calls_.rests();
  controller_.stop(/*at_once=*/true);
  holds_until_us_ = 0;
  store_.release(name);
  telemetry::log(telemetry::Level::kInfo, "handed_over",
                 {{"to", name}, {"ms", (telemetry::monotonic_us() - begun_us) / 1'000}});
  if (!stops_) calls_.handed();
}

void Term::run() {
  while (!stops_ && (leads_ ? lead() : stand_by())) {
  }
}

void Term::pause(std::int64_t us) {
  pollfd woken{wakes_, POLLIN, 0};
  ::poll(&woken, 1, static_cast<int>(std::max<std::int64_t>(us / 1000, 1)));
}

void Term::say(const char* what, const Error& error) {
  if (said_ == error.message) return;
  said_ = error.message;
  telemetry::log(telemetry::Level::kWarning, what, {{"code", error.code}, {"why", error.message}});
}

void Term::end(const Error& error) {
  holds_until_us_ = 0;
  if (!stops_) calls_.over(error);
}

bool Term::stand_by() {
  const std::int64_t begun_us = telemetry::monotonic_us();
  const Result<void> opened = controller_.open();
  if (opened.ok()) return begin(begun_us);
  const bool is_held = opened.error().code == "lease_held";
  const Result<store::LeaderSeen> seen = is_held ? store_.leader() : opened.error();
  if (!seen.ok()) {
    // Once a term has begun, what was folded since may not be what was written.
    if (store_.leads() || !passes(seen.error())) {
      end(seen.error());
      return false;
    }
    say("standby_waits", seen.error());
    {
      std::lock_guard lock(mutex_);
      standing_.trouble = seen.error();
    }
    pause(kLook_us / 2);
    return true;
  }
  {
    std::lock_guard lock(mutex_);
    standing_ = {*seen, controller_.state().head, begun_us, {}};
  }
  said_.clear();
  if (begun_us - said_us_ >= kOthersLook_us) {
    said_us_ = begun_us;
    (void)store_.stands_by(controller_.state().head);  // trouble is seen by what comes next
  }
  pause(kFoldPause_us);  // what is written meanwhile is folded together
  const std::int64_t wait_us = std::clamp(seen->left_us, kLeastWait_us, kLook_us);
  store_.wait_for_news(std::chrono::milliseconds(wait_us / 1000 + 1), wakes_);
  return true;
}

bool Term::begin(std::int64_t begun_us) {
  leads_ = true;
  holds_until_us_ = begun_us + store_.options().lease_us;
  telemetry::log(telemetry::Level::kInfo, "leads",
                 {{"ms", (telemetry::monotonic_us() - begun_us) / 1'000}});
  calls_.leads();
  return true;
}

bool Term::lead() {
  std::optional<std::string> next;
  {
    std::lock_guard lock(mutex_);
    next = next_;
  }
  if (next) {
    give_to(*next);
    return false;
  }
  const std::int64_t lease_us = store_.options().lease_us;
  const std::int64_t begun_us = telemetry::monotonic_us();
  const Result<bool> renewed = store_.renew();
  if (!renewed.ok()) {
    say("lease_not_renewed", renewed.error());
    pause(lease_us / 20);
    return true;
  }
  if (!*renewed) {
    end(Error{ErrorKind::kConflict, "not_leader",
              "another controller has taken over: this one ends; started anew, it stands by", ""});
    return false;
  }
  holds_until_us_ = begun_us + lease_us;
  said_.clear();
  look_at_database();
  look_at_others();
  const std::int64_t took_us = telemetry::monotonic_us() - begun_us;
  pause(std::max<std::int64_t>(lease_us / 3 - took_us, lease_us / 20));
  return true;
}

}  // namespace dove::programs
