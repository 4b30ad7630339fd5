// ClockCheck: this machine's clock compared with the controller's, by the times of reports.
//
// A report is answered with the controller's time, which was taken between our sending and our
// receiving. Half of the round trip is therefore uncertain, and not counted. Dovetail itself does
// not need clocks to agree (leases use the boot's own clock, certificates are judged by the
// controller's time: uplink.h). File times, commands in tasks that check the server's certificate,
// and people who read logs do. Values; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "model/health.h"

namespace dove::agent {

// One report: when it was sent and answered by a clock that never steps, and what both clocks of
// the wall said when it was answered.
struct ClockReading {
  std::int64_t sent_us = 0;
  std::int64_t heard_us = 0;
  std::int64_t own_us = 0;
  std::int64_t controller_us = 0;
};

class ClockCheck {
 public:
  // The verdict, when it changed: a warning from 1 s on, a fault from 60 s on; good again below
  // half a second.
  std::optional<Finding> heard(const ClockReading& reading);

 private:
  Severity told_ = Severity::kGood;
};

}  // namespace dove::agent
