#include "backends/native/boards/use.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/native/sync_plan.h"

namespace dove::backends {
namespace {

// The part of the window that may be missing: its ends do not meet those of points.
constexpr std::int64_t kMissing_percent = 10;

constexpr std::int32_t kUnknown_last = std::numeric_limits<std::int32_t>::max();

std::optional<std::int32_t> together(std::optional<std::int32_t> a, std::int64_t a_us,
                                     std::optional<std::int32_t> b, std::int64_t b_us) {
  if (!a || !b) return std::nullopt;
  return static_cast<std::int32_t>((*a * a_us + *b * b_us) /
                                   std::max<std::int64_t>(a_us + b_us, 1));
}

}  // namespace

void UseBoard::take(const core::State& state, NodeId node, const protocol::Use& said,
                    std::int64_t now_us, Instant now) {
  const auto [id, attempt] = said.key;
  const core::Job* job = state.find_job(id);
  const bool runs_here = job != nullptr && job->phase == JobPhase::kActive &&
                         job->attempts.back().number == attempt &&
                         find_placement(state, id, attempt, node) != nullptr;
  if (!runs_here) return;
  OfJob& of = jobs_[id];
  if (of.attempt != attempt) of = OfJob{attempt, {}, {}};
  of.ahead = Span{now.us - now_us};
  OfNode& here = of.nodes[node];
  // What was measured while nobody could be told is told for the time since then alone.
  here.points.push_back({now_us, said.span_us, {said.gpu, said.gpu_memory, said.cpu}});
  make_room(here.points);
  here.devices.clear();
  for (const protocol::DeviceUse& one : said.devices) here.devices[one.device] = one.use;
  here.in_use = said.in_use;
  if (said.app_told) here.app_told_us = now_us;
  if (said.in_use) here.last_input = now;
  if (said.unused_us) {
    here.last_input = std::max(here.last_input, Instant{now.us - *said.unused_us});
  }
}

void UseBoard::decided(const Decision& decision) {
  const auto* requeue = std::get_if<Requeue>(&decision);
  const auto* end = std::get_if<EndJob>(&decision);
  const auto* forget = std::get_if<ForgetJob>(&decision);
  if (end != nullptr) keep_course(end->job);
  if (requeue != nullptr) jobs_.erase(requeue->job);
  if (forget != nullptr && ended_.erase(forget->job) > 0) {
    std::erase(ended_order_, forget->job);
  }
}

void UseBoard::keep_course(JobId job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  UseCourse course = course_of(found->second, 0);
  course.nodes.clear();  // what they do now is not the job's
  jobs_.erase(found);
  if (!ended_.insert_or_assign(job, std::move(course)).second) return;
  ended_order_.push_back(job);
  if (ended_order_.size() <= kEnded_max) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

// The older half is told in half as many points.
void UseBoard::make_room(std::deque<Point>& points) {
  if (points.size() <= kPoints_max) return;
  std::deque<Point> fewer;
  const std::size_t half = points.size() / 4 * 2;
  for (std::size_t i = 0; i < half; i += 2) {
    const Point& a = points[i];
    const Point& b = points[i + 1];
    Point both{b.end_us, b.end_us - a.end_us + a.span_us, {}};
    for (std::size_t part = 0; part < kParts; ++part) {
      both.parts[part] = together(a.parts[part], a.span_us, b.parts[part], b.span_us);
    }
    fewer.push_back(both);
  }
  fewer.insert(fewer.end(), points.begin() + static_cast<std::ptrdiff_t>(half), points.end());
  points = std::move(fewer);
}

// Until the last point. Nothing: a part of the window was not measured.
UseBoard::Part UseBoard::mean(const std::deque<Point>& points, std::size_t part, Span window) {
  const std::int64_t begin_us = points.back().end_us - window.us;
  std::int64_t covered_us = 0;
  std::int64_t sum = 0;
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    const std::int64_t from_us = std::max(point->end_us - point->span_us, begin_us);
    if (point->end_us <= begin_us) break;
    if (!point->parts[part]) return std::nullopt;
    covered_us += point->end_us - from_us;
    sum += *point->parts[part] * (point->end_us - from_us);
  }
  const std::int64_t least_us = window.us / 100 * (100 - kMissing_percent);
  if (covered_us <= 0 || covered_us < least_us) return std::nullopt;
  return static_cast<std::int32_t>(sum / covered_us);
}

// What is known of the attempt that runs; null: nothing.
const UseBoard::OfJob* UseBoard::find(const core::Job& job) const {
  const auto found = jobs_.find(job.id);
  const bool is_it = found != jobs_.end() && job.phase == JobPhase::kActive &&
                     job.attempts.back().number == found->second.attempt;
  return is_it ? &found->second : nullptr;
}

JobUse UseBoard::use_of(const core::Job& job, Span window, std::int64_t now_us) const {
  JobUse use;
  const OfJob* found = find(job);
  if (found == nullptr) return use;
  const std::array<SeenUse*, kParts> parts{&use.gpu, &use.gpu_memory, &use.cpu};
  for (SeenUse* part : parts) *part = {0, 0};
  use.is_told = true;
  for (const core::PlacementRecord& record : job.attempts.back().placements) {
    const auto at = found->nodes.find(record.placement->node);
    if (at == found->nodes.end() || !is_fresh(at->second.points.back(), now_us)) {
      return JobUse{};
    }
    const OfNode& node = at->second;
    const bool has_gpus = !record.placement->devices.empty();
    for (std::size_t i = 0; i < kParts; ++i) {
      if (i < 2 && !has_gpus) continue;
      const Part mean_here = mean(node.points, i, window);
      const Part& lately_here = node.points.back().parts[i];
      SeenUse& all = *parts[i];
      all.mean =
          all.mean && mean_here ? std::optional(std::max(*all.mean, *mean_here)) : std::nullopt;
      all.lately = all.lately && lately_here ? std::optional(std::max(*all.lately, *lately_here))
                                             : std::nullopt;
    }
    use.in_use = use.in_use || node.in_use;
    use.last_input = std::max(use.last_input, node.last_input);
    const bool said = node.app_told_us > 0 &&
                      is_fresh({node.app_told_us, node.points.back().span_us, {}}, now_us);
    use.is_app_told = use.is_app_told || said;
  }
  return use;
}

std::map<std::int32_t, std::int32_t> UseBoard::devices_of(const core::Node& node,
                                                          std::int64_t now_us) const {
  std::map<std::int32_t, std::int32_t> devices;
  for (const JobId id : node.jobs) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) continue;
    const auto here = job->second.nodes.find(node.id);
    if (here == job->second.nodes.end() || !is_fresh(here->second.points.back(), now_us)) continue;
    // Jobs that share a device have measured the same one.
    for (const auto& [device, use] : here->second.devices) {
      std::int32_t& most = devices[device];
      most = std::max(most, use);
    }
  }
  return devices;
}

// A step of which less than half was measured is not known.
std::vector<std::array<UseBoard::Part, UseBoard::kParts>> UseBoard::by_step(
    const std::deque<Point>& points, const Steps& steps) {
  struct Sum {
    std::int64_t of_part = 0;
    std::int64_t covered_us = 0;
  };
  std::vector<std::array<Sum, kParts>> sums(steps.count);
  for (const Point& point : points) {
    std::int64_t from_us = std::max(point.end_us - point.span_us, steps.begin_us);
    while (from_us < point.end_us) {
      const std::int64_t number = (from_us - steps.begin_us) / steps.step_us;
      const std::int64_t to_us =
          std::min(point.end_us, steps.begin_us + (number + 1) * steps.step_us);
      for (std::size_t part = 0; part < kParts; ++part) {
        if (!point.parts[part]) continue;
        Sum& sum = sums[static_cast<std::size_t>(number)][part];
        sum.of_part += *point.parts[part] * (to_us - from_us);
        sum.covered_us += to_us - from_us;
      }
      from_us = to_us;
    }
  }
  std::vector<std::array<Part, kParts>> values(steps.count);
  for (std::size_t i = 0; i < steps.count; ++i) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const Sum& sum = sums[i][part];
      if (2 * sum.covered_us < steps.step_us) continue;
      values[i][part] = static_cast<std::int32_t>(sum.of_part / sum.covered_us);
    }
  }
  return values;
}

UseCourse UseBoard::course_of(const core::Job& job, std::int64_t now_us) const {
  const OfJob* running = find(job);
  if (running != nullptr) return course_of(*running, now_us);
  const auto ended = ended_.find(job.id);
  return ended == ended_.end() || job.phase != JobPhase::kEnded ? UseCourse{} : ended->second;
}

// Nodes whose last word is older than `now_us` allows are left out of those told by name.
UseCourse UseBoard::course_of(const OfJob& of, std::int64_t now_us) {
  UseCourse course;
  if (of.nodes.empty()) return course;
  Steps steps{std::numeric_limits<std::int64_t>::max(), 0, 0};
  std::int64_t end_us = 0;
  for (const auto& [id, node] : of.nodes) {
    const Point& first = node.points.front();
    steps.begin_us = std::min(steps.begin_us, first.end_us - first.span_us);
    end_us = std::max(end_us, node.points.back().end_us);
  }
  const std::int64_t all_us = std::max<std::int64_t>(end_us - steps.begin_us, 1);
  steps.step_us = std::max(kStep_min_us, (all_us + kSteps_max - 1) / kSteps_max);
  steps.count = static_cast<std::size_t>((all_us + steps.step_us - 1) / steps.step_us);
  course.begin = Instant{steps.begin_us + of.ahead.us};
  course.step = Span{steps.step_us};
  const std::array<UseCourse::Line*, kParts> lines{&course.gpu, &course.gpu_memory, &course.cpu};
  std::vector<std::array<std::int64_t, kParts>> sums(steps.count);
  std::vector<std::array<std::int64_t, kParts>> counts(steps.count);
  for (UseCourse::Line* line : lines) {
    line->mean.resize(steps.count);
    line->least.resize(steps.count);
  }
  for (const auto& [id, node] : of.nodes) {
    const auto values = by_step(node.points, steps);
    for (std::size_t i = 0; i < steps.count; ++i) {
      for (std::size_t part = 0; part < kParts; ++part) {
        if (!values[i][part]) continue;
        const std::int32_t value = *values[i][part];
        sums[i][part] += value;
        ++counts[i][part];
        Part& least = lines[part]->least[i];
        least = std::min(least.value_or(value), value);
        lines[part]->mean[i] = static_cast<std::int32_t>(sums[i][part] / counts[i][part]);
      }
    }
    const Point& last = node.points.back();
    if (!is_fresh(last, now_us)) continue;
    course.nodes.push_back({id, last.parts[0], last.parts[1], last.parts[2], node.devices});
  }
  // A node whose GPUs were not measured, or that gives the job none, is not one that uses least.
  const auto key = [](const UseCourse::OfNode& node) {
    return std::pair(node.gpu.value_or(kUnknown_last), node.cpu.value_or(kUnknown_last));
  };
  std::stable_sort(course.nodes.begin(), course.nodes.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return course;
}

}  // namespace dove::backends
