#include "backends/native/steps/step_book.h"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

namespace dove::backends {

using Json = nlohmann::json;

void StepBook::began(JobId job, AttemptNumber attempt, StepRecord step) {
  const auto [found, is_new] = jobs_.try_emplace(job);
  if (is_new) order_.push_back(job);
  Kept& kept = found->second;
  if (attempt < kept.attempt) return;
  if (attempt > kept.attempt) kept = Kept{attempt, {}};
  const std::int32_t number = step.number;
  changed(job, attempt, kept.steps[number] = std::move(step));
  if (kept.steps.size() > kStepsMax) kept.steps.erase(kept.steps.begin());
  while (order_.size() > kJobsMax) {
    jobs_.erase(order_.front());
    order_.pop_front();
  }
}

StepRecord* StepBook::find(JobId job, AttemptNumber attempt, std::int32_t number) {
  const auto kept = jobs_.find(job);
  if (kept == jobs_.end() || kept->second.attempt != attempt) return nullptr;
  const auto step = kept->second.steps.find(number);
  return step == kept->second.steps.end() ? nullptr : &step->second;
}

void StepBook::exited(JobId job, AttemptNumber attempt, std::int32_t number, const TaskExit& exit) {
  StepRecord* step = find(job, attempt, number);
  if (step == nullptr) return;
  if (exit.signal != 0) {
    step->signal = std::max<std::int32_t>(step->signal, exit.signal);
    return;
  }
  const std::int32_t code = exit.exit_code == 0 && !exit.cause.empty() ? 1 : exit.exit_code;
  step->exit_code = std::max(step->exit_code, code);
}

void StepBook::ended(JobId job, AttemptNumber attempt, std::int32_t number, std::int64_t at_us) {
  StepRecord* step = find(job, attempt, number);
  if (step == nullptr) return;
  step->ended_at_us = at_us;
  changed(job, attempt, *step);
}

void StepBook::for_each(const Each& visit) const {
  for (const JobId job : order_) {
    const auto kept = jobs_.find(job);
    if (kept == jobs_.end()) continue;
    for (const auto& [number, step] : kept->second.steps) visit(job, kept->second.attempt, step);
  }
}

void StepBook::show(const core::Job& job, Json& object) const {
  Json list = Json::array();
  const auto kept = jobs_.find(job.id);
  if (kept != jobs_.end() && !job.attempts.empty() &&
      job.attempts.back().number == kept->second.attempt) {
    const std::int64_t over_us = job.attempts.back().ended_at.us;
    for (const auto& [number, known] : kept->second.steps) {
      StepRecord step = known;
      if (step.ended_at_us == 0 && over_us != 0) {
        step.ended_at_us = std::max(over_us, step.started_at_us);
        step.signal = std::max<std::int32_t>(step.signal, SIGTERM);
      }
      Json one{{"number", number},
               {"name", step.name},
               {"nodes", step.nodes},
               {"tasks", step.tasks},
               {"cores", step.cores},
               {"started_at_us", step.started_at_us},
               {"ended_at_us", step.ended_at_us == 0 ? Json(nullptr) : Json(step.ended_at_us)},
               {"exit_code", step.signal != 0 ? 0 : step.exit_code},
               {"signal", step.signal}};
      list.push_back(std::move(one));
    }
  }
  object["steps"] = std::move(list);
}

}  // namespace dove::backends
