#include "views/usage_sums.h"

#include <algorithm>
#include <tuple>

#include "core/state/holders/holders.h"
#include "core/state/past/count_forgotten.h"

namespace dove::views {
namespace {

// amount * part / whole, where the product may not fit into 64 bits.
std::int64_t part_of(std::int64_t amount, std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(static_cast<__int128>(amount) * part / whole);
}

}  // namespace

UsageSums::UsageSums(UsageBy by, Instant from, Instant to, std::size_t steps)
    : by_(by),
      from_us_(from.us),
      to_us_(to.us),
      steps_(steps),
      step_us_((to.us - from.us + static_cast<std::int64_t>(steps) - 1) /
               static_cast<std::int64_t>(steps)) {}

UsageSums::Row& UsageSums::row_of(const core::State& state, const std::string& user,
                                  const std::string& project, const std::string& queue) {
  std::string name;
  switch (by_) {
    case UsageBy::kUser:
      name = user;
      break;
    case UsageBy::kProject:
      name = project;
      break;
    case UsageBy::kDomain:
      name = core::domain_of(state, user, project);
      break;
    case UsageBy::kQueue:
      name = queue;
      break;
  }
  Row& row = rows_[name];
  row.name = std::move(name);
  row.steps.resize(steps_);
  return row;
}

void UsageSums::add(const core::State& state, const core::Job& job, Instant now) {
  Row* row = nullptr;
  for (const core::Attempt& attempt : job.attempts) {
    const std::int64_t over_us = attempt.ended_at.us != 0 ? attempt.ended_at.us : now.us;
    const std::int64_t begin_us = std::max(attempt.allocated_at.us, from_us_);
    const std::int64_t end_us = std::min(over_us, to_us_);
    if (begin_us >= end_us) continue;
    if (row == nullptr) {
      row = &row_of(state, job.spec->user, job.spec->project, job.spec->queue);
      ++row->jobs;
    }
    const core::AllocatedAmounts held = core::allocated_amounts(attempt);
    const std::int64_t milliseconds = (end_us - begin_us) / 1000;
    row->core_ms += held.cores * milliseconds;
    spread(*row, held.gpus_milli * milliseconds, begin_us, end_us);
  }
}

void UsageSums::add(const core::State& state, const core::ForgottenKey& key,
                    const core::ForgottenUse& use, Instant now) {
  const std::int64_t day_us = key.day * core::kDay_us;
  const std::int64_t over_us = std::min(day_us + core::kDay_us, std::max(now.us, day_us + 1));
  const std::int64_t begin_us = std::max(day_us, from_us_);
  const std::int64_t end_us = std::min(over_us, to_us_);
  if (begin_us >= end_us) return;
  Row& row = row_of(state, key.user, key.project, key.queue);
  const auto part = [&](std::int64_t amount) {
    return part_of(amount, end_us - begin_us, over_us - day_us);
  };
  row.jobs += use.jobs;
  row.core_ms += part(use.core_ms);
  spread(row, part(use.gpu_milli_ms), begin_us, end_us);
}

void UsageSums::spread(Row& row, std::int64_t gpu_milli_ms, std::int64_t begin_us,
                       std::int64_t end_us) const {
  row.gpu_milli_ms += gpu_milli_ms;
  while (gpu_milli_ms > 0 && begin_us < end_us) {
    const std::int64_t number = (begin_us - from_us_) / step_us_;
    const std::int64_t until_us = std::min(end_us, from_us_ + (number + 1) * step_us_);
    // A part of what is left, so that the steps add up.
    const std::int64_t part = part_of(gpu_milli_ms, until_us - begin_us, end_us - begin_us);
    row.steps[static_cast<std::size_t>(number)] += part;
    gpu_milli_ms -= part;
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
