#include "sim/explore/log_replay.h"

#include "controller/replay.h"
#include "core/cycle/cycle.h"

namespace dove::sim {

std::string LogReplay::difference(store::LogStore& log, store::LogKeeper& keeper) {
  controller::ReplayOptions options;
  options.policies = &policies_;
  options.policy_digest = core::policy_digest(policies_);
  const auto report = controller::replay_verify(log, verified_, options);
  if (!report.ok()) return "replay: " + report.error().message;
  if (!report->clean()) return "replay: " + *report->first_difference;
  if (report->unverified_batches > 0) return "replay: batches were not verified";
  const auto latest = keeper.latest_snapshot();
  if (latest.ok() && latest->has_value()) verified_ = *latest;
  return "";
}

}  // namespace dove::sim
