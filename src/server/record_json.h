// Records of the log as the API shows them: one JSON object each, digests of tokens left out.
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/event.h"

namespace dove::server {

// The job that a record is about; none when it is about none. A JobSubmitted does not know its own.
JobId job_of(const Event& event);
JobId job_of(const Decision& decision);

struct RecordHead {
  Seq seq;
  Instant at;
  JobId job;
};
// {"seq", "at_us", "type": "event"|"decision", "kind", "job", "principal", "data"}
nlohmann::json record_json(const RecordHead& head, const StampedEvent& event);
nlohmann::json record_json(const RecordHead& head, const Decision& decision);

// Removes the members that hold digests of tokens, at any depth, and all of a webhook's URL
// but its host.
void hide_digests(nlohmann::json& value);

}  // namespace dove::server
