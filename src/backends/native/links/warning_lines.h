// Warning lines: messages for people with a terminal in a running job, sent as things happen. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/event.h"
#include "model/ids.h"
#include "model/time.h"

namespace dove::backends {

using WarningLine = std::optional<std::pair<JobId, std::string>>;

// One line without its end. `at`: of the record.
WarningLine warning_line(const Event& event, Instant at);
WarningLine warning_line(const Decision& decision);

}  // namespace dove::backends
