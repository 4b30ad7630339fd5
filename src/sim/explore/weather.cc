#include "sim/explore/weather.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/explore/failures.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kHour_us = 3'600 * kSecond_us;
constexpr std::int64_t kDay_us = 24 * kHour_us;

}  // namespace

void Weather::begin(std::int64_t faults_percent) {
  faults_percent_ = faults_percent;
  const auto nodes = static_cast<std::int64_t>(machines_.size());
  next_day();
  if (control_ != nullptr) {
    recur(kDay_us / 2, [this] { kill_controller(); });
    recur(5 * kDay_us, [this] { control_->log().next_append(FaultyLog::Fault::kFull, 3); });
  }
  recur(10 * kDay_us / nodes, [this] { cut_link(); });
  recur(5 * kDay_us / nodes, [this] { network_.reset_streams(any().host()); });
  recur(10 * kDay_us / nodes, [this] { kill_agent(); });
  recur(50 * kDay_us / nodes, [this] { reboot(any()); });
  recur(60 * kDay_us / nodes, [this] { reinstall(any()); });
  recur(kDay_us, [this] { drain(any(), some(kDay_us)); });
  recur(4 * kDay_us, [this] { clone(); });
  const std::int64_t between_us =
      kDay_us * 1'000'000 / (nodes * static_cast<std::int64_t>(kFailuresPerMillionNodeDays));
  agenda_.in(some(2 * between_us), [this] { fail_component(); });
}

// Calm days show what is forgotten, stormy ones what goes wrong together.
void Weather::next_day() {
  if (clear_) return;
  constexpr std::int64_t kDays[] = {10, 50, 100, 100, 300};
  today_percent_ = kDays[random_.below(5)] * faults_percent_ / 100;
  agenda_.in(kDay_us, [this] { next_day(); });
}

void Weather::recur(std::int64_t mean_us, std::function<void()> fault) {
  if (faults_percent_ == 0) return;
  const std::int64_t wait_us = some(2 * mean_us) * 100 / std::max<std::int64_t>(today_percent_, 1);
  agenda_.in(std::min(wait_us, 4 * mean_us), [this, mean_us, fault = std::move(fault)] {
    if (clear_) return;
    recur(mean_us, fault);
    fault();
  });
}

Machine& Weather::any() { return *machines_[random_.below(machines_.size())]; }

std::int64_t Weather::outage_us() {
  const std::uint64_t kind = random_.below(100);
  if (kind < 50) return some(20 * kSecond_us);
  if (kind < 85) return some(kHour_us);
  return some(8 * kHour_us);
}

void Weather::kill_controller() {
  const std::uint64_t how = random_.below(3);
  if (how == 0 && control_->runs()) {
    control_->kill();
    controller_was_killed();
  } else {
    control_->log().next_append(how == 1 ? FaultyLog::Fault::kKillBefore
                                         : FaultyLog::Fault::kKillAfter);
  }
}

void Weather::controller_was_killed() {
  ++controllers_killed_;
  const std::int64_t down_us = random_.below(30) == 0 ? some(kHour_us) : some(60 * kSecond_us);
  agenda_.in(down_us, [this] { control_->start(); });
}

void Weather::kill_agent() {
  Machine& machine = any();
  if (random_.below(2) == 0) {
    machine.kill_agent_soon();
  } else if (machine.agent_runs()) {
    machine.kill_agent();
    agent_was_killed(machine);
  }
}

void Weather::agent_was_killed(Machine& machine) {
  ++agents_killed_;
  agenda_.in(outage_us(), [&machine] { machine.start_agent(); });
}

void Weather::cut_link() {
  Machine& machine = any();
  if (machine.host().cut) return;
  ++cuts_;
  network_.cut(machine.host());
  const bool reset = random_.below(2) == 0;
  agenda_.in(outage_us(), [this, &machine, reset] { network_.heal(machine.host(), reset); });
}

void Weather::reboot(Machine& machine) {
  if (!machine.powered()) return;
  ++reboots_;
  machine.power_off();
  agenda_.in(60 * kSecond_us + outage_us(), [&machine] { machine.power_on(); });
}

void Weather::reinstall(Machine& machine) {
  if (!machine.powered()) return;
  ++reinstalls_;
  machine.power_off();
  agenda_.in(60 * kSecond_us + outage_us(), [this, &machine] {
    machine.wipe();
    let_join(machine);
  });
}

// Until it is in: a token is good for an hour, and for one join, whose answer may be lost. Where
// tasks of the machine before may still run, it has to wait for the fence.
void Weather::let_join(Machine& machine) {
  const std::string body = fmt::format(R"({{"node":"{}"}})", machine.name());
  clients_.make("/v1/join-tokens", body, [this, &machine](const std::string& answer) {
    machine.join_with(nlohmann::json::parse(answer).at("token").get<std::string>());
    machine.kill_agent();
    machine.powered() ? machine.start_agent() : machine.power_on();
    agenda_.in(kHour_us, [this, &machine] {
      if (!machine.has_joined()) let_join(machine);
    });
  });
}

// It is there while its original works, is cut off, or is switched off just then.
void Weather::clone() {
  if (!copy_) return;
  Machine& original = any();
  clones_.push_back(copy_(original, clones_.size()));
  Machine& copy = *clones_.back();
  const std::uint64_t how = random_.below(3);
  if (how == 0) reboot(original);
  if (how == 1 && !original.host().cut) {
    network_.cut(original.host());
    agenda_.in(outage_us(), [this, &original] { network_.heal(original.host(), /*reset=*/true); });
  }
  agenda_.in(some(kHour_us), [&copy] { copy.start_agent(); });
  agenda_.in(kHour_us + some(8 * kHour_us), [&copy] { copy.power_off(); });
}

void Weather::drain(Machine& machine, std::int64_t for_us) {
  const std::string path = "/v1/nodes/" + machine.name();
  clients_.call("POST", path + "/drain", R"({"reason":"weather"})");
  agenda_.in(for_us, [this, path] { clients_.call("POST", path + "/undrain"); });
}

void Weather::fail_component() {
  if (clear_) return;
  const auto nodes = static_cast<std::int64_t>(machines_.size());
  const std::int64_t between_us =
      kDay_us * 1'000'000 / (nodes * static_cast<std::int64_t>(kFailuresPerMillionNodeDays));
  agenda_.in(some(2 * between_us), [this] { fail_component(); });
  ++component_failures_;
  Machine& machine = any();
  switch (draw_failure(random_).effect) {
    case FailureEffect::kDevice:
      machine.fail_device(static_cast<std::int32_t>(random_.below(8)));
      drain(machine, kHour_us + some(2 * kDay_us));
      break;
    case FailureEffect::kReboot:
      reboot(machine);
      break;
    case FailureEffect::kNetwork:
      if (!machine.host().cut) {
        network_.cut(machine.host());
        agenda_.in(some(8 * kHour_us),
                   [this, &machine] { network_.heal(machine.host(), /*reset=*/true); });
      }
      break;
    case FailureEffect::kTask:
      for (std::int32_t device = 0; device < 8; ++device) machine.fail_device(device);
      break;
  }
}

void Weather::clear_up() {
  clear_ = true;
  if (control_ != nullptr) control_->log().next_append(FaultyLog::Fault::kNone);
}

void Weather::count(ExploreReport& report) const {
  report.controllers_killed = controllers_killed_;
  report.agents_killed = agents_killed_;
  report.machines_rebooted = reboots_;
  report.machines_reinstalled = reinstalls_;
  report.links_cut = cuts_;
  report.component_failures = component_failures_;
}

}  // namespace dove::sim
