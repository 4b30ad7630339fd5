#include "server/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
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
constexpr std::int64_t kSteps = 20;         // so many may pass in silence
constexpr std::string_view kWait = "wait";  // phases that tasks tell of
constexpr std::string_view kDone = "done";
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
  if (progress.attempt != attempt) {
    end_hang(progress);
    progress = Progress{attempt, {}, {}, std::nullopt};
  }
  ProgressReported now{id, attempt, node, kSpan_max_us, {}};
  for (const Json& said : ranks) {
    const auto rank = said.at("rank").get<Rank>();
    if (progress.ranks.size() >= kRanks_max && progress.ranks.count(rank) == 0) continue;
    Ranked& ranked = progress.ranks[rank];
    const bool moved = ranked.moved_us == 0 || ranked.step != bounded(said, "step");
    const std::int64_t moved_us = moved ? now_us : ranked.moved_us;
    if (moved) end_hang(progress);
    ranked = Ranked{node,
                    bounded(said, "step"),
                    bounded(said, "step_us"),
                    bounded(said, "busy_us"),
                    bounded(said, "samples"),
                    std::nullopt,
                    said.value("phase", "").substr(0, kPhase_bytes),
                    moved_us};
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

// The rank that all others wait for; null: nobody knows.
const std::pair<const Rank, ProgressBoard::Ranked>* ProgressBoard::awaited(
    const Progress& progress) {
  const std::pair<const Rank, Ranked>* last = nullptr;
  const std::pair<const Rank, Ranked>* not_waiting = nullptr;
  std::size_t behind = 0;
  std::size_t busy = 0;
  std::int64_t least = kSpan_max_us;
  for (const auto& entry : progress.ranks) least = std::min(least, entry.second.step);
  for (const auto& entry : progress.ranks) {
    if (entry.second.step == least) {
      last = &entry;
      ++behind;
    }
    if (entry.second.phase != kWait) {
      not_waiting = &entry;
      ++busy;
    }
  }
  if (progress.ranks.size() < 2) return nullptr;
  if (busy == 1) return not_waiting;
  return behind == 1 ? last : nullptr;
}

std::vector<ProgressBoard::Hang> ProgressBoard::find_hangs(const core::State& state,
                                                           std::int64_t after_us,
                                                           std::int64_t now_us) {
  std::vector<Hang> found;
  for (auto& [id, progress] : jobs_) {
    std::int64_t moved_us = 0;
    std::int64_t step_us = 0;
    std::int64_t step = 0;
    bool is_done = false;
    for (const auto& [rank, ranked] : progress.ranks) {
      moved_us = std::max(moved_us, ranked.moved_us);
      step_us = std::max(step_us, ranked.step_us);
      step = std::max(step, ranked.step);
      is_done |= ranked.phase == kDone;
    }
    const core::Job* job = state.find_job(id);
    const bool runs = job != nullptr && job->phase == JobPhase::kActive &&
                      job->attempts.back().stage == Stage::kRunning;
    const std::int64_t silent_us = now_us - moved_us;
    if (!runs || is_done || progress.hang || silent_us < std::max(after_us, kSteps * step_us)) {
      continue;
    }
    Hang hang{id, progress.ranks.begin()->second.node, false, ""};
    if (const auto* one = awaited(progress); one != nullptr) {
      hang.node = one->second.node;
      hang.is_one = true;
      hang.evidence = fmt::format(
          "job {}: rank {} is silent at step {} for {} s, the other {} wait for it", id.value,
          one->first, one->second.step, silent_us / 1'000'000, progress.ranks.size() - 1);
    } else {
      hang.evidence = fmt::format("job {}: all {} ranks are silent at step {} for {} s", id.value,
                                  progress.ranks.size(), step, silent_us / 1'000'000);
    }
    progress.hang = hang;
    found.push_back(std::move(hang));
  }
  return found;
}

void ProgressBoard::end_hang(Progress& progress) {
  if (progress.hang) over_.push_back(*std::exchange(progress.hang, std::nullopt));
}

std::vector<ProgressBoard::Hang> ProgressBoard::take_over() { return std::exchange(over_, {}); }

std::string ProgressBoard::trouble(const core::State& state, JobId id) const {
  const core::Job* job = state.find_job(id);
  if (job == nullptr || job->phase != JobPhase::kActive) return "";
  const auto found = jobs_.find(id);
  const bool hangs = found != jobs_.end() && found->second.hang;
  std::string text = hangs ? "it seems to hang: " + found->second.hang->evidence : "";
  for (const core::PlacementRecord& record : job->attempts.back().placements) {
    const core::Node* node = state.find_node(record.placement.node);
    if (node == nullptr || record.slow_reports < core::kSlow_reports) continue;
    for (const core::OpenFinding& open : node->findings) {
      if (open.finding.check != "slow") continue;
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
  const auto found = jobs_.find(requeue != nullptr ? requeue->job : end->job);
  if (found == jobs_.end()) return;
  end_hang(found->second);
  jobs_.erase(found);
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
  if (found->second.hang) out["hang"] = found->second.hang->evidence;
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
