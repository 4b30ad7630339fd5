// Projection: what the API reads. A second fold of the committed batches, and the newest of them
// for streams of events.
//
// It never decides and is never behind an answer: batches arrive before the completions of what is
// in them. Explanations follow it. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/controller.h"
#include "core/explain/explanations.h"
#include "core/state/state.h"
#include "listener/goodput.h"

namespace dove::listener {

// A committed batch with the jobs that its JobSubmitted events made: by event, none for others.
struct RecentBatch {
  std::shared_ptr<const controller::CommittedBatch> committed;
  std::vector<JobId> new_jobs;  // empty when there are none in the whole batch
};

class Projection {
 public:
  static constexpr std::size_t kRecordsMax = 20'000;

  // `chain`: of the log up to the state's last record; "": not known.
  explicit Projection(core::State state, std::string chain = "")
      : state_(std::move(state)), chain_(std::move(chain)) {}

  const RecentBatch& apply(std::shared_ptr<const controller::CommittedBatch> committed);
  const core::State& state() const { return state_; }
  const std::string& chain() const { return chain_; }
  core::Explanations& explanations() { return explanations_; }
  const Goodput& goodput() const { return goodput_; }
  // See Goodput::restore; before the first batch.
  bool restore_goodput(const std::string& kept) { return goodput_.restore(state_, kept); }
  void time_passed(std::int64_t now_us) { goodput_.passed(state_, now_us); }
  // Ascending; the log has what came before.
  const std::deque<RecentBatch>& recent() const { return recent_; }

 private:
  core::State state_;
  std::string chain_;
  core::Explanations explanations_{state_};
  Goodput goodput_;
  std::deque<RecentBatch> recent_;
  std::size_t records_ = 0;
};

}  // namespace dove::listener
