#include "listener/projection.h"

#include <cstddef>
#include <string>
#include <vector>

#include "codec/words.h"
#include "core/state/apply.h"
#include "telemetry/metrics.h"

namespace dove::listener {
namespace {

// Counters by a word, all of them from the first moment: Prometheus sees no increase in a series
// that begins with it.
template <class Kind>
std::vector<telemetry::Counter*> counters(const char* name, const char* about, const char* label,
                                          Kind last) {
  std::vector<telemetry::Counter*> all;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const std::string word(codec::word(static_cast<Kind>(i)));
    all.push_back(i == 0 ? nullptr : &telemetry::metrics().counter(name, about, {{label, word}}));
  }
  return all;
}

// How jobs and attempts end, since the process began.
class Ends {
 public:
  void count(const Decision& decision) {
    if (const auto* end = std::get_if<EndJob>(&decision)) {
      add(jobs_, static_cast<std::size_t>(end->outcome));
    } else if (const auto* requeue = std::get_if<Requeue>(&decision)) {
      add(requeued_, static_cast<std::size_t>(requeue->reason));
    }
  }

 private:
  using Counters = std::vector<telemetry::Counter*>;
  static void add(const Counters& counters, std::size_t at) {
    if (counters.at(at) != nullptr) counters[at]->add(1);
  }

  const Counters jobs_ = counters("dove_jobs_ended_total", "Jobs that ended, by outcome.",
                                  "outcome", Outcome::kStoppedIdle);
  const Counters requeued_ =
      counters("dove_jobs_requeued_total", "Attempts whose jobs wait again, by why they ended.",
               "reason", StopReason::kIdle);
};

}  // namespace

const RecentBatch& Projection::apply(std::shared_ptr<const controller::CommittedBatch> committed) {
  static Ends ends;
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
    ends.count(decision);
  }
  explanations_.forget_much();
  records_ += batch.events.size() + batch.decisions.size();
  chain_ = committed->chain;
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
