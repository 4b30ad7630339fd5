#include "views/state_words.h"

#include <array>

#include "base/check.h"
#include "codec/words.h"
#include "core/state/executors/foreign.h"
#include "core/state/findings.h"

namespace dove::views {
namespace {

constexpr std::array<std::string_view, 4> kPlacementStages{"ordered", "prepared", "started",
                                                           "ended"};
constexpr std::array<std::string_view, 13> kJobStates{"waiting",
                                                      "held",
                                                      "preparing",
                                                      "running",
                                                      "stopping",
                                                      "completed",
                                                      "failed",
                                                      "cancelled",
                                                      "timed_out",
                                                      "node_lost",
                                                      "dependency_never_met",
                                                      "deadline_missed",
                                                      "stopped_idle"};

constexpr std::array<std::string_view, 12> kNodeStates{"ready",  "drained", "draining", "onboard",
                                                       "test",   "suspect", "repair",   "broken",
                                                       "silent", "lost",    "expelled", "removed"};

std::string_view active_word(const core::Job& job) {
  if (job.attempts.empty()) return "preparing";
  switch (job.attempts.back().stage) {
    case Stage::kAllocated:
    case Stage::kPreparing:
    case Stage::kBarrier:
    case Stage::kStarting:
      return "preparing";
    case Stage::kRunning:
      return "running";
    case Stage::kStopping:
    case Stage::kEnded:
      return "stopping";
  }
  return "";
}

}  // namespace

std::string_view state_word(const core::Job& job) {
  switch (job.phase) {
    case JobPhase::kWaiting:
      return job.held ? "held" : "waiting";
    case JobPhase::kActive:
      return active_word(job);
    case JobPhase::kEnded:
      return codec::word(job.outcome);
  }
  return "";
}

std::string_view state_word(const core::Node& node) {
  if (node.removed) return "removed";
  if (core::is_expelled(node)) return "expelled";
  if (node.contact != Contact::kConnected) return codec::word(node.contact);
  switch (node.life) {
    case LifeStage::kProduction:
      break;
    case LifeStage::kDraining:
      return node.jobs.empty() ? "drained" : "draining";
    case LifeStage::kOnboard:
    case LifeStage::kTest:
    case LifeStage::kSuspect:
    case LifeStage::kRepair:
      return codec::word(node.life);
  }
  if (core::is_closed(node)) return codec::word(LifeStage::kSuspect);
  const bool drained = node.declared.drained || core::closing_executor(node) != nullptr;
  if (drained) return node.jobs.empty() ? "drained" : "draining";
  return "ready";
}

std::string_view stage_word(core::PlacementStage stage) {
  const auto index = static_cast<std::size_t>(stage);
  CHECK(index < kPlacementStages.size(), "every enumerator has its word");
  return kPlacementStages[index];
}

std::span<const std::string_view> job_states() { return kJobStates; }

std::span<const std::string_view> node_states() { return kNodeStates; }

}  // namespace dove::views
