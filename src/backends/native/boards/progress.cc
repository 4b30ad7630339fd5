#include "backends/native/boards/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "backends/native/sync_plan.h"
#include "core/state/running/hang.h"

namespace dove::backends {
namespace {

using Json = nlohmann::json;
using Kind = telemetry::Exposition::Kind;

constexpr std::size_t kRanks_max = 65'536;  // of a job
constexpr std::size_t kRanksOfNode_max = 256;
constexpr std::size_t kRanksShown = 64;
constexpr std::size_t kSeriesMax = 10'000;
constexpr std::int64_t kLogEvery_us = 60'000'000;
constexpr std::int64_t kSpan_max_us = std::int64_t{1} << 49;
constexpr std::int64_t kSteps = 20;         // as many as may pass in silence
constexpr std::string_view kWait = "wait";  // phases that tasks report
constexpr std::string_view kDone = "done";
constexpr double kMicroseconds = 1e6;  // of a second

static_assert(kSpan_max_us <= INT64_MAX / 10'000, "slow_percent of it is a number");

// The lower one of the two in the middle.
std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

const core::Hang* hang_of(const core::State& state, JobId job, AttemptNumber attempt) {
  const auto at = state.hangs.find(job);
  return at == state.hangs.end() || at->second.attempt != attempt ? nullptr : &at->second;
}

// Whether a rank that this process had not heard from has reported a step since the hang was noted.
bool has_moved(const core::Hang* hang, Rank rank, std::int64_t step) {
  if (hang == nullptr) return true;
  return (!hang->is_one || hang->rank == rank) && step > hang->step;
}

}  // namespace

std::optional<Event> ProgressBoard::take(const core::State& state, NodeId node,
                                         const protocol::Progress& said, std::int64_t now_us) {
  const auto [id, attempt] = said.key;
  const core::Job* job = state.find_job(id);
  const bool runs_here = job != nullptr && job->phase == JobPhase::kActive &&
                         job->attempts.back().number == attempt &&
                         find_placement(state, id, attempt, node) != nullptr;
  if (!runs_here || said.ranks.empty() || said.ranks.size() > kRanksOfNode_max) return std::nullopt;
  Progress& progress = jobs_[id];
  if (progress.attempt != attempt) progress = Progress{attempt, {}, {}};
  const core::Hang* const hang = hang_of(state, id, attempt);
  OfNode& of_node = progress.nodes[node];
  for (const protocol::RankProgress& now : said.ranks) {
    const Rank rank = now.rank;
    const bool is_new = progress.ranks.count(rank) == 0;
    if (progress.ranks.size() >= kRanks_max && is_new) continue;
    Ranked& ranked = progress.ranks[rank];
    of_node.ranks.insert(rank);
    const bool moved = is_new ? has_moved(hang, rank, now.step) : ranked.said.step != now.step;
    progress.moves_again |= moved && (hang != nullptr || progress.is_hang_told);
    ranked = Ranked{node, now, moved || is_new ? now_us : ranked.moved_us};
  }
  if (of_node.ranks.empty()) return std::nullopt;
  const ProgressReported now = report_of(progress, id, node);
  of_node.pace = {now.busy, now.typical, now.ranks};
  const bool slow = is_slow(state, progress, now);
  std::optional<Logged>& logged = of_node.logged;
  if (!is_news(state, logged, now, slow, now_us)) return std::nullopt;
  const int before = logged ? logged->slow : 0;
  logged = Logged{now.step, now.busy.us, now_us, slow ? before + 1 : 0};
  return Event(now);
}

ProgressReported ProgressBoard::report_of(const Progress& progress, JobId job, NodeId node) {
  ProgressReported report{job, progress.attempt, node, kSpan_max_us, {}, 0, 0, {}};
  std::vector<std::int64_t> times;
  for (const Rank rank : progress.nodes.at(node).ranks) {
    const Ranked& ranked = progress.ranks.at(rank);
    if (ranked.node != node) continue;
    report.step = std::min(report.step, ranked.said.step);
    if (times.empty() || ranked.said.busy_us > report.busy.us) {
      report.busy = Span{ranked.said.busy_us};
      report.slowest = rank;
    }
    times.push_back(ranked.said.busy_us);
  }
  report.ranks = static_cast<std::int32_t>(times.size());
  report.typical = Span{median(std::move(times))};
  return report;
}

// As the core will find (core/state/health.h), which knows less: what was logged.
bool ProgressBoard::is_slow(const core::State& state, const Progress& progress,
                            const ProgressReported& now) {
  std::vector<core::NodePace> paces;
  for (const auto& [node, of] : progress.nodes) {
    if (of.pace.busy.us > 0) paces.push_back(of.pace);
  }
  return core::is_slow(state, now.busy, core::gang_pace(std::move(paces)));
}

// The ledger counts slow reports in a row: it gets as many as it wants, and the one that ends them.
bool ProgressBoard::is_news(const core::State& state, const std::optional<Logged>& before,
                            const ProgressReported& now, bool slow, std::int64_t now_us) {
  if (!before) return true;
  const Logged& logged = *before;
  if (slow ? logged.slow < state.settings.slow_reports : logged.slow > 0) return true;
  const std::int64_t since_us = now_us - logged.at_us;
  const bool differs = std::abs(now.busy.us - logged.busy_us) * 4 > logged.busy_us;
  return (differs && since_us >= kLogEvery_us / 4) ||
         (now.step != logged.step && since_us >= kLogEvery_us);
}

// The rank that all others wait for; null: nobody knows.
const std::pair<const Rank, ProgressBoard::Ranked>* ProgressBoard::awaited(
    const Progress& progress) {
  const std::pair<const Rank, Ranked>* last = nullptr;
  const std::pair<const Rank, Ranked>* not_waiting = nullptr;
  std::size_t behind = 0;
  std::size_t busy = 0;
  std::int64_t least = kSpan_max_us;
  for (const auto& entry : progress.ranks) least = std::min(least, entry.second.said.step);
  for (const auto& entry : progress.ranks) {
    if (entry.second.said.step == least) {
      last = &entry;
      ++behind;
    }
    if (entry.second.said.phase != kWait) {
      not_waiting = &entry;
      ++busy;
    }
  }
  if (progress.ranks.size() < 2) return nullptr;
  if (busy == 1) return not_waiting;
  return behind == 1 ? last : nullptr;
}

std::optional<HangObserved> ProgressBoard::find_hang(const core::State& state, JobId id,
                                                     const Progress& progress,
                                                     std::int64_t now_us) {
  std::int64_t moved_us = 0;
  std::int64_t step_us = 0;
  std::int64_t step = 0;
  for (const auto& [rank, ranked] : progress.ranks) {
    if (ranked.said.phase == kDone) return std::nullopt;
    moved_us = std::max(moved_us, ranked.moved_us);
    step_us = std::max(step_us, ranked.said.step_us);
    step = std::max(step, ranked.said.step);
  }
  const core::Job* job = state.find_job(id);
  const bool runs = job != nullptr && job->phase == JobPhase::kActive &&
                    job->attempts.back().stage == Stage::kRunning;
  const std::int64_t silent_us = now_us - moved_us;
  const std::int64_t after_us = state.settings.hang_after.us;
  if (!runs || silent_us < std::max(after_us, kSteps * step_us)) return std::nullopt;
  HangObserved hang;
  hang.job = id;
  hang.attempt = progress.attempt;
  hang.node = progress.ranks.begin()->second.node;
  hang.ranks = static_cast<std::int32_t>(progress.ranks.size());
  hang.step = step;
  hang.silent = Span{silent_us};
  if (const auto* one = awaited(progress); one != nullptr) {
    hang.node = one->second.node;
    hang.is_one = true;
    hang.rank = one->first;
    hang.step = one->second.said.step;
  }
  return hang;
}

std::vector<Event> ProgressBoard::look(const core::State& state, std::int64_t now_us) {
  std::vector<Event> found;
  for (auto& [id, progress] : jobs_) {
    if (std::exchange(progress.moves_again, false)) {
      progress.is_hang_told = false;
      found.push_back(HangEnded{id, progress.attempt});
      continue;
    }
    const bool is_known = progress.is_hang_told || hang_of(state, id, progress.attempt) != nullptr;
    if (is_known || state.settings.hang_after.us <= 0) continue;
    const std::optional<HangObserved> hang = find_hang(state, id, progress, now_us);
    if (!hang) continue;
    progress.is_hang_told = true;
    found.push_back(*hang);
  }
  return found;
}

std::string ProgressBoard::trouble(const core::State& state, JobId id) const {
  const core::Job* job = state.find_job(id);
  if (job == nullptr || job->phase != JobPhase::kActive) return "";
  const core::Attempt& attempt = job->attempts.back();
  const core::Hang* const hang = hang_of(state, id, attempt.number);
  std::string text = hang == nullptr ? "" : "it seems to hang: " + core::hang_text(id, *hang);
  for (const core::PlacementRecord& record : attempt.placements) {
    const core::Node* node = state.find_node(record.placement->node);
    if (node == nullptr || record.slow_reports < state.settings.slow_reports) continue;
    for (const core::OpenFinding& open : node->findings) {
      if (open.finding.check != core::kSlow_check) continue;
      text += fmt::format("{}node {} is slow: {}", text.empty() ? "" : "; ", node->name,
                          open.finding.evidence);
    }
  }
  return text;
}

void ProgressBoard::decided(const Decision& decision) {
  const auto* requeue = std::get_if<Requeue>(&decision);
  const auto* end = std::get_if<EndJob>(&decision);
  if (requeue == nullptr && end == nullptr) return;
  jobs_.erase(requeue != nullptr ? requeue->job : end->job);
}

void ProgressBoard::show(const core::State& state, JobId job, bool ranks, Json& object) const {
  Json& out = object["progress"] = nullptr;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  const std::map<Rank, Ranked>& all = found->second.ranks;
  std::vector<std::pair<std::int64_t, Rank>> slowest;  // descending
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> step_times;
  double samples_per_s = 0;
  for (const auto& [rank, ranked] : all) {
    slowest.emplace_back(ranked.said.busy_us, rank);
    steps.push_back(ranked.said.step);
    if (ranked.said.step_us <= 0) continue;
    step_times.push_back(ranked.said.step_us);
    samples_per_s += static_cast<double>(ranked.said.samples) * kMicroseconds /
                     static_cast<double>(ranked.said.step_us);
  }
  std::sort(slowest.rbegin(), slowest.rend());
  const protocol::RankProgress& first = all.begin()->second.said;
  out = Json{{"ranks", all.size()},
             {"step", *std::min_element(steps.begin(), steps.end())},
             {"step_max", *std::max_element(steps.begin(), steps.end())},
             {"step_us", median(step_times)},
             {"busy_min_us", slowest.back().first},
             {"busy_max_us", slowest.front().first},
             {"slowest_rank", slowest.front().second},
             {"phase", first.phase},
             {"samples_per_s", samples_per_s}};
  if (const core::Hang* hang = hang_of(state, job, found->second.attempt)) {
    out["hang"] = core::hang_text(job, *hang);
  }
  out["loss"] = first.loss ? Json(*first.loss) : Json(nullptr);
  if (!ranks) return;
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(slowest.size(), kRanksShown); ++i) {
    const Ranked& ranked = all.at(slowest[i].second);
    list.push_back({{"rank", slowest[i].second},
                    {"node", ranked.node.value},
                    {"step", ranked.said.step},
                    {"step_us", ranked.said.step_us},
                    {"busy_us", ranked.said.busy_us},
                    {"phase", ranked.said.phase}});
  }
  out["slowest"] = std::move(list);
}

void ProgressBoard::add_to(telemetry::Exposition& out, const core::State& state,
                           const ShowsUser& shows) const {
  const auto family = [&](const char* name, const char* about, auto value) {
    out.family(name, Kind::kGauge, about);
    std::size_t count = 0;
    for (const auto& [id, progress] : jobs_) {
      const core::Job* job = state.find_job(id);
      if (job == nullptr || !shows(job->spec->user)) continue;
      for (const auto& [rank, ranked] : progress.ranks) {
        const std::optional<double> now = value(ranked);
        if (!now) continue;
        if (++count > kSeriesMax) return;
        out.add({{"job", std::to_string(id.value)},
                 {"task", std::to_string(rank)},
                 {"user", job->spec->user},
                 {"queue", job->spec->queue},
                 {"project", job->spec->project}},
                *now);
      }
    }
  };
  const auto seconds = [](std::int64_t us) {
    return us > 0 ? std::optional<double>(static_cast<double>(us) / kMicroseconds) : std::nullopt;
  };
  family("dove_task_step", "The last step that the task reported.", [](const Ranked& ranked) {
    return std::optional<double>(static_cast<double>(ranked.said.step));
  });
  family("dove_task_step_seconds", "How long the task's last step took.",
         [&](const Ranked& ranked) { return seconds(ranked.said.step_us); });
  family("dove_task_busy_seconds",
         "How long the task's steps take lately, without waiting for other ranks: the median.",
         [&](const Ranked& ranked) { return seconds(ranked.said.busy_us); });
  family("dove_task_loss", "The loss that the task reported last.",
         [](const Ranked& ranked) { return ranked.said.loss; });
}

}  // namespace dove::backends
