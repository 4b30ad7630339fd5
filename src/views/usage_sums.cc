#include "views/usage_sums.h"

#include <algorithm>
#include <tuple>

namespace dove::views {
namespace {

const std::string& name_of(const core::Job& job, UsageBy by) {
  switch (by) {
    case UsageBy::kUser:
      return job.spec->user;
    case UsageBy::kProject:
      return job.spec->project;
    case UsageBy::kQueue:
      break;
  }
  return job.spec->queue;
}

std::int64_t milliseconds_between(std::int64_t begin_us, std::int64_t end_us) {
  return (end_us - begin_us) / 1000;
}

}  // namespace

UsageSums::UsageSums(UsageBy by, Instant from, Instant to, std::size_t steps)
    : by_(by),
      from_us_(from.us),
      to_us_(to.us),
      steps_(steps),
      step_us_((to.us - from.us + static_cast<std::int64_t>(steps) - 1) /
               static_cast<std::int64_t>(steps)) {}

void UsageSums::add(const core::Job& job, Instant now) {
  Row* row = nullptr;
  for (const core::Attempt& attempt : job.attempts) {
    const std::int64_t over_us = attempt.ended_at.us != 0 ? attempt.ended_at.us : now.us;
    const std::int64_t begin_us = std::max(attempt.allocated_at.us, from_us_);
    const std::int64_t end_us = std::min(over_us, to_us_);
    if (begin_us >= end_us) continue;
    if (row == nullptr) {
      const std::string& name = name_of(job, by_);
      row = &rows_[name];
      row->name = name;
      row->steps.resize(steps_);
      ++row->jobs;
    }
    add(*row, attempt, begin_us, end_us);
  }
}

void UsageSums::add(Row& row, const core::Attempt& attempt, std::int64_t begin_us,
                    std::int64_t end_us) const {
  std::int64_t gpus_milli = 0;
  std::int64_t cores = 0;
  for (const core::PlacementRecord& record : attempt.placements) {
    for (const DeviceGrant& grant : record.placement->devices) gpus_milli += grant.share_milli;
    cores += static_cast<std::int64_t>(record.placement->cores.size());
  }
  row.core_ms += cores * milliseconds_between(begin_us, end_us);
  row.gpu_milli_ms += gpus_milli * milliseconds_between(begin_us, end_us);
  while (gpus_milli > 0 && begin_us < end_us) {
    const std::int64_t number = (begin_us - from_us_) / step_us_;
    const std::int64_t until_us = std::min(end_us, from_us_ + (number + 1) * step_us_);
    row.steps[static_cast<std::size_t>(number)] +=
        gpus_milli * milliseconds_between(begin_us, until_us);
    begin_us = until_us;
  }
}

std::vector<UsageSums::Row> UsageSums::rows() const {
  std::vector<Row> rows;
  for (const auto& [name, row] : rows_) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.gpu_milli_ms, a.core_ms) > std::tie(b.gpu_milli_ms, b.core_ms);
  });
  return rows;
}

}  // namespace dove::views
