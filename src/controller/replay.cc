#include "controller/replay.h"

#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/record.h"
#include "controller/ledger.h"
#include "core/state/hash.h"

namespace dove::controller {
namespace {

constexpr std::size_t kShownBytesMax = 1000;

std::int64_t cpu_now_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

std::string shown(const Decision& decision) {
  std::string text = std::string(codec::kind_name(decision)) + " " +
                     codec::dump_json(codec::decision_json(decision));
  if (text.size() > kShownBytesMax) text = text.substr(0, kShownBytesMax) + "...";
  return text;
}

std::string encoded(const Decision& decision) {
  std::string bytes;
  codec::encode(decision, bytes);
  return bytes;
}

std::string difference(const store::Batch& batch, const std::vector<Decision>& again) {
  std::size_t i = 0;
  while (i < again.size() && i < batch.decisions.size() &&
         encoded(again[i]) == encoded(batch.decisions[i])) {
    ++i;
  }
  const std::uint64_t seq = batch.first_seq.value + batch.events.size() + i;
  return fmt::format("batch {}, record {}: recorded {}, decided again {}", batch.number.value, seq,
                     i < batch.decisions.size() ? shown(batch.decisions[i]) : "nothing more",
                     i < again.size() ? shown(again[i]) : "nothing more");
}

class Replay {
 public:
  Replay(const ReplayOptions& options, core::State state)
      : options_(options), brain_(*options.policies, std::move(state)) {
    report_.first = Seq(brain_.state().head.value + 1);
  }

  // False at the first difference.
  bool step(const store::Batch& batch) {
    brain_.begin_batch(batch.at, batch.epoch);
    for (const StampedEvent& event : batch.events) {
      if (const auto* started = std::get_if<ControllerStarted>(&event.event)) {
        knows_policies_ = started->policy_digest == options_.policy_digest;
        report_.build = started->build;
      }
      brain_.apply(event);
    }
    report_.batches += 1;
    report_.events += batch.events.size();
    report_.decisions += batch.decisions.size();
    if (knows_policies_) {
      report_.verified_batches += 1;
      const std::vector<Decision> again = brain_.decide();
      if (codec::digest_decisions(again, brain_.state().level) != batch.decisions_digest) {
        report_.first_difference = difference(batch, again);
        return false;
      }
    } else {
      report_.unverified_batches += 1;
      for (const Decision& decision : batch.decisions) brain_.apply(decision);
    }
    if (batch.state_hash.has_value()) {
      report_.hashes_compared += 1;
      if (!core::has_state_hash(brain_.state(), *batch.state_hash)) {
        report_.first_difference = fmt::format(
            "batch {}, after record {}: the recorded state hash is {:016x}, now {:016x}",
            batch.number.value, brain_.state().head.value, *batch.state_hash,
            core::state_hash(brain_.state()));
        return false;
      }
    }
    return true;
  }

  ReplayReport finish() {
    report_.last = brain_.state().head;
    report_.state_hash = core::state_hash(brain_.state());
    return std::move(report_);
  }

 private:
  const ReplayOptions& options_;
  core::Scheduler brain_;
  bool knows_policies_ = true;
  ReplayReport report_;
};

}  // namespace

Result<ReplayReport> replay_verify(store::LogStore& log,
                                   const std::optional<store::Snapshot>& snapshot,
                                   const ReplayOptions& options) {
  const std::int64_t begun_us = cpu_now_us();
  core::State state;
  if (snapshot.has_value()) {
    TRY_ASSIGN(state, snapshot_state(*snapshot));
  }
  const Seq after = state.head;
  Replay replay(options, std::move(state));
  TRY(log.read(after, [&](const store::Batch& batch) { return replay.step(batch); }));
  ReplayReport report = replay.finish();
  report.cpu_us = cpu_now_us() - begun_us;
  return report;
}

}  // namespace dove::controller
