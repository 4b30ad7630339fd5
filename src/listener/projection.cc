#include "listener/projection.h"

#include "core/state/apply.h"

namespace dove::listener {

const RecentBatch& Projection::apply(std::shared_ptr<const controller::CommittedBatch> committed) {
  const store::Batch& batch = committed->batch;
  RecentBatch recent;
  core::begin_batch(state_, batch.at, batch.epoch);
  for (std::size_t i = 0; i < batch.events.size(); ++i) {
    const std::uint64_t next = state_.next_job;
    core::apply(state_, batch.events[i]);
    if (state_.next_job == next) continue;
    if (recent.new_jobs.empty()) recent.new_jobs.resize(batch.events.size());
    recent.new_jobs[i] = JobId(next);
  }
  for (const Decision& decision : batch.decisions) {
    core::apply(state_, decision);
    goodput_.decided(state_, decision);
  }
  records_ += batch.events.size() + batch.decisions.size();
  recent.committed = std::move(committed);
  recent_.push_back(std::move(recent));
  while (records_ > kRecordsMax && recent_.size() > 1) {
    const store::Batch& oldest = recent_.front().committed->batch;
    records_ -= oldest.events.size() + oldest.decisions.size();
    recent_.pop_front();
  }
  return recent_.back();
}

}  // namespace dove::listener
