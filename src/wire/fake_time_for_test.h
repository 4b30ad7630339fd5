// A World for tests: time moves when the test says so. Nobody listens or answers but in what a test
// adds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "wire/world.h"

namespace dove::wire {

class FakeTime : public World {
 public:
  explicit FakeTime(std::int64_t now_us = 0) : now_us_(now_us) {}

  std::int64_t monotonic_us() const override { return now_us_; }
  void after(std::chrono::microseconds delay, std::function<void()> fn) override {
    calls_.emplace(std::pair(now_us_ + delay.count(), asked_++), std::move(fn));
  }
  std::unique_ptr<ClientLine> line(const std::string&, std::uint16_t,
                                   const AsyncClientOptions&) override {
    return nullptr;
  }
  std::unique_ptr<Listening> listen(std::uint16_t, Handler) override { return nullptr; }

  // Each call at its instant, also those that others ask for on the way.
  void run_until(std::int64_t at_us) {
    while (is_due(at_us)) {
      now_us_ = calls_.begin()->first.first;
      run_first();
    }
    now_us_ = at_us;
  }
  void run_for(std::chrono::microseconds time) { run_until(now_us_ + time.count()); }
  // As with a program that gets no CPU meanwhile: what was due in that time comes late.
  void pause(std::chrono::microseconds time) {
    now_us_ += time.count();
    while (is_due(now_us_)) run_first();
  }

 private:
  bool is_due(std::int64_t at_us) const {
    return !calls_.empty() && calls_.begin()->first.first <= at_us;
  }
  void run_first() {
    const auto call = std::move(calls_.begin()->second);
    calls_.erase(calls_.begin());
    call();
  }

  std::int64_t now_us_;
  std::uint64_t asked_ = 0;  // calls of one instant come in the order in which they were asked for
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> calls_;
};

}  // namespace dove::wire
