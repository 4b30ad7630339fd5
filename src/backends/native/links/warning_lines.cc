#include "backends/native/links/warning_lines.h"

#include <fmt/format.h>

#include "codec/quantity.h"

namespace dove::backends {
namespace {

// "20:30:05 UTC".
std::string clock_of(Instant at) {
  constexpr std::size_t kTimeAt = 11;
  constexpr std::size_t kTimeLength = 8;
  return codec::rfc3339(at).substr(kTimeAt, kTimeLength) + " UTC";
}

// Why it stops, where that is news to whoever is in it; "": it is not.
std::string cause_of(const Stop& decision) {
  switch (decision.reason) {
    case StopReason::kTimeLimit:
      return "it has reached its time limit";
    case StopReason::kIdle:
      return "nobody used it, or it was as old as it may become";
    case StopReason::kPreempted:
      return "another job gets its place";
    case StopReason::kCancelled:
      return "it was cancelled";
    case StopReason::kRequeued:
      return "it is stopped, or begins anew, as a person wants it";
    case StopReason::kHung:
      return "its ranks hang";
    case StopReason::kNodeLost:
    case StopReason::kTaskFailed:
    case StopReason::kPreflight:
    case StopReason::kPlaceholder:
    case StopReason::kLaunchFailed:
    case StopReason::kFinished:
    case StopReason::kNone:
      return "";
  }
  return "";
}

}  // namespace

WarningLine warning_line(const Event& event, Instant at) {
  const auto* idle = std::get_if<IdleObserved>(&event);
  if (idle == nullptr) return std::nullopt;
  const std::string when = clock_of(at + idle->warning);
  const std::string line =
      idle->check == IdleCheck::kLifetime
          ? fmt::format("job {} ends at {}: {}; save your work", idle->job.value, when,
                        idle->evidence)
          : fmt::format("job {0} is stopped at {1}: {2}; use it, or keep it: dove keep {0}",
                        idle->job.value, when, idle->evidence);
  return std::pair(idle->job, line);
}

WarningLine warning_line(const Decision& decision) {
  const auto* stop = std::get_if<Stop>(&decision);
  const std::string cause = stop == nullptr ? std::string() : cause_of(*stop);
  if (cause.empty()) return std::nullopt;
  return std::pair(stop->job, fmt::format("job {} stops now: {}", stop->job.value, cause));
}

}  // namespace dove::backends
