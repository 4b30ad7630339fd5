#include "slurm/migrate/priority_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "slurm/migrate/conf_file.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;
constexpr std::int64_t kPoints_minute_max = 1000;  // as in model/declared.h

std::int64_t age_max(std::int64_t span_s) { return kPoints_minute_max * span_s / 60; }

// At least 1, if there is any: what has a weight counts.
std::int64_t divided(std::int64_t weight, std::int64_t by) {
  return weight == 0 ? 0 : std::max<std::int64_t>((weight + by / 2) / by, 1);
}

}  // namespace

void PriorityWeights::read(std::string_view name, const std::string& value, Reporter& report) {
  const auto weight = [&](std::int64_t& into) {
    std::int64_t points = 0;
    std::from_chars(value.data(), value.data() + value.size(), points);
    into = std::clamp<std::int64_t>(points, 0, kMost);
    given_ = true;
  };
  if (name == "priorityweightage") {
    weight(age_);
  } else if (name == "prioritymaxage") {
    const std::int64_t span_s = slurm_time_s(value);
    if (span_s > 0) {
      max_age_s_ = std::min<std::int64_t>(span_s, std::int64_t{100} * 366 * 86400);
    } else {
      report.instead(Verdict::kNone, "not a length of time: age_span is 7 days");
    }
  } else if (name == "priorityweightfairshare") {
    weight(fair_share_);
  } else if (name == "priorityweightjobsize") {
    weight(size_);
  } else if (name == "priorityweightqos") {
    weight(qos_);
  } else if (name == "priorityfavorsmall") {
    small_first_ = same_word(value, "YES") || value == "1";
  } else if (name == "prioritytype") {
    basic_ = same_word(value, "priority/basic");
  }
  if (age_ > age_max(max_age_s_) && (name == "priorityweightage" || name == "prioritymaxage")) {
    report.instead(Verdict::kApproximated,
                   fmt::format("age of the cluster's multifactor is {}: no more than {} points a "
                               "minute are gained by waiting",
                               age_max(max_age_s_), kPoints_minute_max));
  }
}

void PriorityWeights::write(std::int64_t highest, Object& cluster) const {
  if (!given_ || basic_) return;
  const auto put = [&](const char* name, std::int64_t value) {
    cluster.amount("multifactor", name, value);
  };
  put("age", std::min(age_, age_max(max_age_s_)));
  put("age_span_s", max_age_s_);
  put("fair_share", fair_share_);
  const std::int64_t devices = std::max<std::int64_t>(milli_ / 1000, 1);
  put("size", divided(size_, devices) * (small_first_ ? -1 : 1));
  put("priority", 1);  // as a point of --nice
  put("queue_priority", divided(qos_, std::max<std::int64_t>(highest, 1)));
}

}  // namespace dove::slurm
