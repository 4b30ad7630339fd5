#include "agent/session/port_scout.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "agent/session/answer.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::chrono::seconds kFirst{30};
constexpr std::chrono::seconds kAnswer{10};
// The least and the most until the next question; a random time of up to as much is added.
constexpr std::chrono::seconds kAgain{20};
constexpr std::chrono::seconds kOfFormerVersion{60};
constexpr std::chrono::seconds kMost{300};

}  // namespace

PortScout::PortScout(wire::Loop& loop, Uplink& uplink, std::string node,
                     std::function<bool()> in_session, std::function<void(std::size_t place)> known)
    : loop_(loop),
      uplink_(uplink),
      node_(std::move(node)),
      in_session_(std::move(in_session)),
      known_(std::move(known)),
      jitter_(std::hash<std::string>{}(node_)) {}

void PortScout::begin() {
  waits_.clear();
  if (uplink_.unknown_port(0)) timer_ = loop_.after(up_to(kFirst), [this] { look(0); });
}

std::chrono::microseconds PortScout::up_to(std::chrono::microseconds most) {
  return std::chrono::microseconds(jitter_.below(static_cast<std::uint64_t>(most.count())));
}

// Those whose turn it is, one after the other, beginning with that place.
void PortScout::look(std::size_t from) {
  client_.reset();
  if (!in_session_()) return;
  std::optional<std::size_t> place = uplink_.unknown_port(from);
  while (place && waits_[*place].until_us > loop_.monotonic_us()) {
    place = uplink_.unknown_port(*place + 1);
  }
  if (!place) return look_later();
  client_ = uplink_.visitor(*place);
  wire::Request request;
  request.method = "GET";
  request.target = "/healthz";
  client_->call(
      std::move(request),
      [this, place = *place](const Result<wire::Response>& answer) { told(place, answer); },
      kAnswer);
}

void PortScout::look_later() {
  std::optional<std::int64_t> next_us;
  for (auto place = uplink_.unknown_port(0); place; place = uplink_.unknown_port(*place + 1)) {
    const std::int64_t until_us = waits_[*place].until_us;
    next_us = std::min(next_us.value_or(until_us), until_us);
  }
  if (!next_us) return;
  const std::int64_t in_us = std::max<std::int64_t>(*next_us - loop_.monotonic_us(), 0);
  timer_ = loop_.after(std::chrono::microseconds(in_us), [this] { look(0); });
}

// Whoever answers has made a handshake for it, whatever it says, and so has one that is not
// believed. One that does not run pays nothing.
void PortScout::told(std::size_t place, const Result<wire::Response>& answer) {
  nlohmann::json port;
  if (answer.ok() && answer->status == 200) {
    port = answer_object(*answer).value("agents_port", nlohmann::json());
  }
  if (uplink_.know_port(place, port)) {
    telemetry::log(telemetry::Level::kInfo, "controller_known",
                   {{"node", node_}, {"url", uplink_.people_at(place)}});
    known_(place);
    return look(place + 1);
  }
  Wait& wait = waits_[place];
  if (answer.ok() || is_distrust(answer.error())) {
    const bool is_shut = port.is_number_unsigned() && port == 0;
    wait.pause = std::clamp(2 * wait.pause, is_shut ? kAgain : kOfFormerVersion, kMost);
  } else {
    wait.pause = std::chrono::seconds(0);  // it is asked anew once it runs
  }
  const std::chrono::seconds pause = std::max(wait.pause, kAgain);
  wait.until_us = loop_.monotonic_us() + (pause + up_to(pause)).count();
  look(place + 1);
}

}  // namespace dove::agent
