// How an office stands, for people and for metrics.
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json_parts.h"
#include "codec/words.h"
#include "notices/office.h"
#include "notices/target.h"
#include "telemetry/metrics.h"

namespace dove::notices {

using Json = nlohmann::json;

Json Office::targets_json(const std::string& user) const {
  Json out = Json::array();
  const auto found = state_.users.find(user);
  if (found == state_.users.end()) return out;
  for (const NoticeTarget& target : found->second.notices) {
    const std::string id = target_id(user, target);
    Json about = Json::array();
    for (const NoticeAbout each : target.about) about.push_back(codec::word(each));
    Json one{{"by", codec::word(target.by)},
             {"to", shown(target)},
             {"about", std::move(about)},
             {"waiting", outbox_.waiting_for(id)}};
    const TargetStanding standing =
        outbox_.standing(id) == nullptr ? TargetStanding{} : *outbox_.standing(id);
    one["delivered"] = standing.delivered;
    one["suppressed"] = standing.suppressed;
    if (standing.delivered_at.us != 0)
      codec::put_instant(one, "delivered_at", standing.delivered_at);
    if (!standing.error.empty()) {
      one["error"] = standing.error;
      codec::put_instant(one, "error_at", standing.error_at);
    }
    out.push_back(std::move(one));
  }
  return out;
}

void Office::measure() const {
  telemetry::Metrics& metrics = telemetry::metrics();
  metrics.gauge("dove_notices_waiting", "Notices that are not delivered yet.")
      .set(static_cast<std::int64_t>(outbox_.waiting()));
  const Instant oldest = outbox_.oldest();
  metrics.gauge("dove_notices_oldest_seconds", "The age of the oldest of them.")
      .set(oldest == kNever ? 0 : (now() - oldest).us / 1'000'000);
}

}  // namespace dove::notices
