#include "core/executors/unwatched_news.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/state/executors/foreign.h"
#include "core/state/executors/foreign_use.h"

namespace dove::core {
namespace {

constexpr std::int32_t kWatchLevel = 2;  // from which on the log holds the two records

// What runs there, and what is charged as a job of ours.
std::set<std::string> charged_otherwise(const State& state, const std::string& executor) {
  std::set<std::string> ids;
  for (const Node& node : state.nodes) {
    const NodeExecutor* here = find_executor(node, executor);
    if (here == nullptr) continue;
    for (const ForeignAllocation& one : here->foreign) ids.insert(one.id);
  }
  for (const auto& [key, placeholder] : state.placeholders) {
    if (key.executor == executor && !placeholder.id.empty()) ids.insert(placeholder.id);
  }
  for (const auto& [id, job] : state.jobs) {
    if (job.spec->executor != executor || job.spec->foreign_job.empty()) continue;
    // What only got room here is charged as what it was there.
    const bool has_run = std::any_of(job.attempts.begin(), job.attempts.end(),
                                     [](const Attempt& each) { return each.started_at.us != 0; });
    if (has_run || !only_gets_room(state, *job.spec)) ids.insert(job.spec->foreign_job);
  }
  return ids;
}

}  // namespace

void add_watch(const State& state, const std::string& executor, const Observation& said,
               std::vector<Event>& events) {
  const auto standing = state.standings.find(executor);
  if (standing == state.standings.end() || state.level < kWatchLevel || !said.complete) return;
  if (!said.begins && standing->second.contact == ExecutorContact::kAnswering) return;
  events.push_back(ForeignWatchResumed{executor, standing->second.watched_until});
}

void add_past(const State& state, const std::string& executor, const Observation& said,
              std::vector<Event>& events) {
  const Unwatched* gap = first_unwatched(state, executor);
  if (!said.past || gap == nullptr || gap->to != said.past->gap) return;
  const SaidPast& past = *said.past;
  if (past.from != gap->counted || past.until <= past.from) return;
  ForeignUseFound found{executor, gap->to, past.from, std::min(past.until, gap->to), {}};
  const std::set<std::string> others = charged_otherwise(state, executor);
  for (const ForeignUse& use : past.uses) {
    // One that ran again is back under its id: its former life has ended all the same.
    if (others.contains(use.id) && !gap->ended.contains(use.id)) continue;
    if (use.to <= use.from) continue;
    if (queue_of(state, executor, use.account) != nullptr) found.uses.push_back(use);
  }
  events.push_back(std::move(found));
}

const Unwatched* first_unwatched(const State& state, const std::string& executor) {
  const auto standing = state.standings.find(executor);
  if (standing == state.standings.end() || standing->second.unwatched.empty()) return nullptr;
  return &standing->second.unwatched.front();
}

}  // namespace dove::core
