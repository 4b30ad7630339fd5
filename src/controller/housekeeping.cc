#include "controller/housekeeping.h"

#include <memory>

#include "telemetry/log.h"

namespace dove::controller {
namespace {

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
      const Result<void> dropped = keeper_.forget_before(keep_from, blobs_in_use(pending->state));
      if (!dropped.ok()) warn("retention_failed", dropped.error());
    }
    busy_ = false;
  });
}

void Housekeeping::finish() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace dove::controller
