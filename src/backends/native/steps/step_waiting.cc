#include "backends/native/steps/step_waiting.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dove::backends {

void StepWaiting::add(std::shared_ptr<WaitingStep> step) {
  by_attempt_[{step->job, step->attempt}].push_back(std::move(step));
}

void StepWaiting::remove(const WaitingStep* step) {
  const auto found = by_attempt_.find({step->job, step->attempt});
  if (found == by_attempt_.end()) return;
  found->second.remove_if([&](const auto& one) { return one.get() == step; });
  if (found->second.empty()) by_attempt_.erase(found);
}

void StepWaiting::look(JobId job, AttemptNumber attempt, const Begin& begin) {
  const auto found = by_attempt_.find({job, attempt});
  if (found == by_attempt_.end()) return;
  // Taken out, as what `begin` does may come back here.
  std::list<std::shared_ptr<WaitingStep>> steps = std::move(found->second);
  by_attempt_.erase(found);
  std::vector<const StepRequest*> busy;
  const auto leaves = [&](const std::shared_ptr<WaitingStep>& step) {
    const auto same = [&](const StepRequest* one) { return *one == step->request; };
    if (busy.size() >= kBusyMax || std::any_of(busy.begin(), busy.end(), same)) return false;
    if (begin(step) != Outcome::kBusy) return true;
    busy.push_back(&step->request);
    return false;
  };
  for (auto at = steps.begin(); at != steps.end();) at = leaves(*at) ? steps.erase(at) : ++at;
  if (steps.empty()) return;
  auto& kept = by_attempt_[{job, attempt}];
  kept.splice(kept.begin(), steps);
}

void StepWaiting::look_at_all(const Begin& begin) {
  std::vector<Attempt> attempts;
  for (const auto& [attempt, steps] : by_attempt_) attempts.push_back(attempt);
  for (const auto& [job, attempt] : attempts) look(job, attempt, begin);
}

void StepWaiting::close_all() {
  for (const auto& [attempt, steps] : std::exchange(by_attempt_, {})) {
    for (const auto& step : steps) step->out->close();
  }
}

}  // namespace dove::backends
