#include "agent/session/standing_lines.h"

#include <utility>

#include "telemetry/log.h"

namespace dove::agent {
namespace {

// A random time of up to half a minute is added.
constexpr std::chrono::seconds kAgain{45};
constexpr std::chrono::seconds kSpread{30};
constexpr std::chrono::seconds kAnswer{10};

}  // namespace

StandingLines::StandingLines(wire::Loop& loop, Uplink& uplink, std::string node,
                             std::function<bool()> in_session)
    : loop_(loop),
      uplink_(uplink),
      node_(std::move(node)),
      in_session_(std::move(in_session)),
      jitter_(std::hash<std::string>{}(node_)) {}

void StandingLines::begin() {
  if (uplink_.secure() && uplink_.has_several()) keep_later(std::chrono::seconds(0));
}

void StandingLines::keep_later(std::chrono::microseconds least) {
  const std::chrono::microseconds spread = kSpread;
  const std::chrono::microseconds more(jitter_.below(static_cast<std::uint64_t>(spread.count())));
  timer_ = loop_.after(least + more, [this] { keep_all(); });
}

void StandingLines::keep_all() {
  if (!in_session_()) return;
  for (std::size_t place = 0; place < uplink_.places(); ++place) keep(place);
  keep_later(kAgain);
}

void StandingLines::keep(std::size_t place) {
  wire::AsyncClient* line = uplink_.standing_line(place);
  if (line == nullptr || !in_session_()) return;
  wire::Request request;
  request.method = "GET";
  request.target = "/healthz";
  line->call(
      std::move(request),
      [this, place](const Result<wire::Response>& answer) {
        if (!uplink_.stands(place, answer.ok())) return;
        telemetry::log(telemetry::Level::kInfo, "controller_stands_by",
                       {{"node", node_}, {"url", uplink_.people_at(place)}});
      },
      kAnswer);
}

}  // namespace dove::agent
