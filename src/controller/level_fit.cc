#include "controller/level_fit.h"

#include <fmt/format.h>

#include "codec/record.h"

namespace dove::controller {

Result<void> check_level(const StampedEvent& event, std::int32_t level) {
  if (level >= kNewestLevel || codec::at_level(event, level).event == event.event) return {};
  return Error{ErrorKind::kConflict, "level_needed",
               fmt::format("it says something that controllers of the former version cannot "
                           "read: the cluster is at level {} until an administrator runs `dove "
                           "upgrade finish`, and this needs level {}",
                           level, kNewestLevel),
               ""};
}

}  // namespace dove::controller
