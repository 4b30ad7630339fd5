#include "server/progress.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/health.h"
#include "server/sync_plan.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using Kind = telemetry::Exposition::Kind;

constexpr std::size_t kRanks_max = 65'536;  // of a job
constexpr std::size_t kRanksOfNode_max = 256;
constexpr std::size_t kRanksShown = 64;
constexpr std::size_t kSeriesMax = 10'000;
constexpr std::size_t kPhase_bytes = 24;
constexpr std::int64_t kLogEvery_us = 60'000'000;
constexpr std::int64_t kSpan_max_us = std::int64_t{1} << 50;
constexpr double kMicroseconds = 1e6;  // of a second

std::int64_t bounded(const Json& object, const char* name) {
  const auto value = object.find(name);
  if (value == object.end() || !value->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(value->get<std::int64_t>(), 0, kSpan_max_us);
}

// The lower one of the two in the middle.
std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

}  // namespace

std::optional<Event> ProgressBoard::take(const core::State& state, NodeId node, const Json& item,
                                         std::int64_t now_us) {
  const JobId id(item.at("job").get<std::uint64_t>());
  const auto attempt = item.at("attempt").get<AttemptNumber>();
  const core::Job* job = state.find_job(id);
  const bool runs_here = job != nullptr && job->phase == JobPhase::kActive &&
                         job->attempts.back().number == attempt &&
                         find_placement(state, id, attempt, node) != nullptr;
  const Json& ranks = item.at("ranks");
  if (!runs_here || ranks.empty() || ranks.size() > kRanksOfNode_max) return std::nullopt;
  Progress& progress = jobs_[id];
  if (progress.attempt != attempt) progress = Progress{attempt, {}, {}};
  ProgressReported now{id, attempt, node, kSpan_max_us, {}};
  for (const Json& said : ranks) {
    const auto rank = said.at("rank").get<Rank>();
    if (progress.ranks.size() >= kRanks_max && progress.ranks.count(rank) == 0) continue;
    Ranked& ranked = progress.ranks[rank];
    ranked = Ranked{node,
                    bounded(said, "step"),
                    bounded(said, "step_us"),
                    bounded(said, "busy_us"),
                    bounded(said, "samples"),
                    std::nullopt,
                    said.value("phase", "").substr(0, kPhase_bytes)};
    if (said.contains("loss") && said.at("loss").is_number()) ranked.loss = said.at("loss");
    now.step = std::min(now.step, ranked.step);
    now.busy = std::max(now.busy, Span{ranked.busy_us});
  }
  std::map<NodeId, std::int64_t> busy_us;
  for (const auto& [rank, ranked] : progress.ranks) {
    busy_us[ranked.node] = std::max(busy_us[ranked.node], ranked.busy_us);
  }
  std::vector<std::int64_t> times;
  for (const auto& [of, time_us] : busy_us) times.push_back(time_us);
  const bool is_slow =
      times.size() >= 3 && now.busy.us * 100 >= median(times) * core::kSlow_percent;
  if (!is_news(progress, node, now, is_slow, now_us)) return std::nullopt;
  Logged& logged = progress.logged[node];
  logged = Logged{now.step, now.busy.us, now_us, is_slow ? logged.slow + 1 : 0};
  return Event(now);
}

// The ledger counts slow reports in a row: it gets as many as it wants, and the one that ends them.
bool ProgressBoard::is_news(const Progress& progress, NodeId node, const ProgressReported& now,
                            bool is_slow, std::int64_t now_us) {
  const auto before = progress.logged.find(node);
  if (before == progress.logged.end()) return true;
  const Logged& logged = before->second;
  if (is_slow ? logged.slow < core::kSlow_reports : logged.slow > 0) return true;
  const std::int64_t since_us = now_us - logged.at_us;
  const bool differs = std::abs(now.busy.us - logged.busy_us) * 4 > logged.busy_us;
  return (differs && since_us >= kLogEvery_us / 4) ||
         (now.step != logged.step && since_us >= kLogEvery_us);
}

void ProgressBoard::decided(const Decision& decision) {
  if (const auto* requeue = std::get_if<Requeue>(&decision)) jobs_.erase(requeue->job);
  if (const auto* end = std::get_if<EndJob>(&decision)) jobs_.erase(end->job);
}

void ProgressBoard::show(JobId job, bool ranks, Json& object) const {
  Json& out = object["progress"] = nullptr;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  const std::map<Rank, Ranked>& all = found->second.ranks;
  std::vector<std::pair<std::int64_t, Rank>> slowest;  // descending
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> step_times;
  double samples_per_s = 0;
  for (const auto& [rank, ranked] : all) {
    slowest.emplace_back(ranked.busy_us, rank);
    steps.push_back(ranked.step);
    if (ranked.step_us <= 0) continue;
    step_times.push_back(ranked.step_us);
    samples_per_s +=
        static_cast<double>(ranked.samples) * kMicroseconds / static_cast<double>(ranked.step_us);
  }
  std::sort(slowest.rbegin(), slowest.rend());
  const Ranked& first = all.begin()->second;
  out = Json{{"ranks", all.size()},
             {"step", *std::min_element(steps.begin(), steps.end())},
             {"step_max", *std::max_element(steps.begin(), steps.end())},
             {"step_us", median(step_times)},
             {"busy_min_us", slowest.back().first},
             {"busy_max_us", slowest.front().first},
             {"slowest_rank", slowest.front().second},
             {"phase", first.phase},
             {"samples_per_s", samples_per_s}};
  out["loss"] = first.loss ? Json(*first.loss) : Json(nullptr);
  if (!ranks) return;
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(slowest.size(), kRanksShown); ++i) {
    const Ranked& ranked = all.at(slowest[i].second);
    list.push_back({{"rank", slowest[i].second},
                    {"node", ranked.node.value},
                    {"step", ranked.step},
                    {"step_us", ranked.step_us},
                    {"busy_us", ranked.busy_us},
                    {"phase", ranked.phase}});
  }
  out["slowest"] = std::move(list);
}

void ProgressBoard::add_to(telemetry::Exposition& out, const core::State& state) const {
  const auto family = [&](const char* name, const char* about, auto value) {
    out.family(name, Kind::kGauge, about);
    std::size_t count = 0;
    for (const auto& [id, progress] : jobs_) {
      const core::Job* job = state.find_job(id);
      if (job == nullptr) continue;
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
  family("dove_task_step", "The last step that the task told of.", [](const Ranked& ranked) {
    return std::optional<double>(static_cast<double>(ranked.step));
  });
  family("dove_task_step_seconds", "How long the task's last step took.",
         [&](const Ranked& ranked) { return seconds(ranked.step_us); });
  family("dove_task_busy_seconds",
         "How long the task's steps take lately, without waiting for other ranks: the median.",
         [&](const Ranked& ranked) { return seconds(ranked.busy_us); });
  family("dove_task_loss", "The loss that the task told of last.",
         [](const Ranked& ranked) { return ranked.loss; });
}

}  // namespace dove::server
