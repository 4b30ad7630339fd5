#include "programs/server/term.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kDatabaseLook_us = 10'000'000;
constexpr std::int64_t kFoldPause_us = 20'000;

controller::TurnOptions turn_options(const store::PostgresStore& store,
                                     std::function<std::string()> says) {
  controller::TurnOptions made;
  made.lease_us = store.options().lease_us;
  made.monotonic = telemetry::monotonic_us;
  made.says = std::move(says);
  return made;
}

}  // namespace

Term::Term(store::PostgresStore& store, controller::Controller& controller, Calls calls,
           std::function<std::string()> says)
    : store_(store),
      turn_(store, store, controller, turn_options(store, std::move(says)), std::move(calls)),
      wakes_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wakes_ >= 0, "a thread can be woken");
  thread_ = std::thread([this] { run(); });
}

Term::~Term() {
  turn_.stop();
  stops_ = true;
  wake();
  thread_.join();
  ::close(wakes_);
}

void Term::wake() {
  const std::uint64_t one = 1;
  (void)!::write(wakes_, &one, sizeof one);
}

std::string Term::can_be_lost() const {
  std::lock_guard lock(mutex_);
  return can_be_lost_;
}

Result<store::ControllerSeen> Term::hand_over(const std::string& name) {
  TRY_ASSIGN(store::ControllerSeen next, turn_.hand_over(name));
  wake();
  return next;
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

void Term::run() {
  while (!stops_) {
    const controller::Turn::Next next = turn_.step();
    if (next.is_over) return;
    if (next.with_news) {
      pause(kFoldPause_us);  // what is written meanwhile is folded together
      store_.wait_for_news(std::chrono::milliseconds(next.in_us / 1000 + 1), wakes_);
      continue;
    }
    if (next.in_us == 0) continue;
    if (turn_.holds()) look_at_database();
    pause(next.in_us);
  }
}

void Term::pause(std::int64_t us) {
  pollfd woken{wakes_, POLLIN, 0};
  ::poll(&woken, 1, static_cast<int>(std::max<std::int64_t>(us / 1000, 1)));
}

}  // namespace dove::programs
