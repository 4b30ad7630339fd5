#include "agent/session/port_scout.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "agent/session/answer.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

constexpr std::chrono::seconds kFirst{30};
constexpr std::chrono::seconds kAgain{20};
constexpr std::chrono::seconds kOfFormerVersion{60};
constexpr std::chrono::seconds kAnswer{10};

}  // namespace

PortScout::PortScout(wire::Loop& loop, Uplink& uplink, std::string node,
                     std::function<bool()> in_session)
    : loop_(loop),
      uplink_(uplink),
      node_(std::move(node)),
      in_session_(std::move(in_session)),
      jitter_(std::hash<std::string>{}(node_)) {}

void PortScout::begin() {
  if (uplink_.unknown_port(0)) look_later(std::chrono::seconds(0), kFirst);
}

void PortScout::look_later(std::chrono::microseconds least, std::chrono::microseconds most) {
  const auto width = static_cast<std::uint64_t>((most - least).count());
  timer_ =
      loop_.after(least + std::chrono::microseconds(jitter_.below(width)), [this] { look(0); });
}

// One after the other, beginning with that place.
void PortScout::look(std::size_t from) {
  client_.reset();
  if (!in_session_()) return;
  const std::optional<std::size_t> place = uplink_.unknown_port(from);
  if (!place) {
    const std::chrono::seconds again =
        std::exchange(says_nothing_, false) ? kOfFormerVersion : kAgain;
    if (uplink_.unknown_port(0)) look_later(again, 2 * again);
    return;
  }
  client_ = uplink_.visitor(*place);
  wire::Request request;
  request.method = "GET";
  request.target = "/healthz";
  client_->call(
      std::move(request),
      [this, place = *place](const Result<wire::Response>& answer) { told(place, answer); },
      kAnswer);
}

void PortScout::told(std::size_t place, const Result<wire::Response>& answer) {
  if (answer.ok() && answer->status == 200) {
    const nlohmann::json port = answer_object(*answer).value("agents_port", nlohmann::json());
    if (uplink_.know_port(place, port)) {
      telemetry::log(telemetry::Level::kInfo, "controller_known",
                     {{"node", node_}, {"url", uplink_.people_at(place)}});
    } else {
      says_nothing_ = true;
    }
  }
  look(place + 1);
}

}  // namespace dove::agent
