#include "sim/explore/errand.h"

#include <utility>

#include "base/check.h"

namespace dove::sim {

Errand::~Errand() { CHECK(!thread_.joinable(), "an errand is over before it is dropped"); }

bool Errand::begin(std::function<void()> work) {
  thread_ = std::thread([this, work = std::move(work)] {
    wait_for_turn(true);
    work();
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    runs_ = false;
    turned_.notify_all();
  });
  return go_on();
}

bool Errand::answer(Answer answer) {
  answer_ = std::move(answer);
  return go_on();
}

bool Errand::go_on() {
  {
    const std::lock_guard lock(mutex_);
    runs_ = true;
    turned_.notify_all();
  }
  wait_for_turn(false);
  if (is_over_) thread_.join();
  return !is_over_;
}

Errand::Answer Errand::ask(wire::Request question) {
  question_ = std::move(question);
  {
    const std::lock_guard lock(mutex_);
    runs_ = false;
    turned_.notify_all();
  }
  wait_for_turn(true);
  return std::move(*std::exchange(answer_, std::nullopt));
}

void Errand::wait_for_turn(bool mine) {
  std::unique_lock lock(mutex_);
  turned_.wait(lock, [&] { return runs_ == mine; });
}

}  // namespace dove::sim
