#include "controller/housekeeping.h"

#include <algorithm>
#include <memory>

#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::controller {
namespace {

constexpr std::uint64_t kRecordsAtATime = 50'000;
constexpr std::int64_t kHurry_us = 2'000'000;  // what is left then waits for the next snapshot

void warn(const char* what, const Error& error) {
  telemetry::log(telemetry::Level::kWarning, what, {{"code", error.code}, {"why", error.message}});
}

}  // namespace

void Housekeeping::snapshot(Ledger& ledger, const store::Head& head,
                            const ControllerOptions& options) {
  finish();
  busy_ = true;
  const Seq keep_from = ledger.keep_from(options.records_kept, options.records_age_max);
  auto pending = std::make_shared<const Ledger::PendingSnapshot>(ledger.snapshot(head));
  thread_ = std::thread([this, pending, keep_from] {
    const Result<void> put = keeper_.put_snapshot(pending->finish());
    if (!put.ok()) {
      warn("snapshot_failed", put.error());
    } else if (keep_from) {
      const Result<void> dropped = drop_before(keep_from, blobs_in_use(pending->state));
      if (!dropped.ok()) warn("retention_failed", dropped.error());
    }
    busy_ = false;
  });
}

// Little by little, since a stop waits for what is under way.
Result<void> Housekeeping::drop_before(Seq keep_from, const std::vector<std::string>& blobs) {
  while (dropped_before_ < keep_from) {
    const std::int64_t since_us = hurried_at_us_.load();
    if (since_us != 0 && telemetry::monotonic_us() - since_us > kHurry_us) return {};
    const Seq next{std::min(keep_from.value, dropped_before_.value + kRecordsAtATime)};
    TRY(keeper_.forget_before(next, blobs));
    dropped_before_ = next;
  }
  return {};
}

void Housekeeping::finish_soon() {
  hurried_at_us_ = telemetry::monotonic_us();
  finish();
}

void Housekeeping::finish() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace dove::controller
