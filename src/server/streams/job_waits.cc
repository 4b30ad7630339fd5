#include "server/streams/job_waits.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/words.h"
#include "server/job_select.h"
#include "server/record_json.h"
#include "views/state_words.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kAlive{15};
constexpr std::size_t kToldMax = 10'000;  // jobs that did not complete

bool is_there(const core::Job& job, WaitUntil until) {
  const bool active = job.phase == JobPhase::kActive;
  switch (until) {
    case WaitUntil::kStarted:
      // All of its nodes run it: steps can begin.
      return job.phase == JobPhase::kEnded ||
             (active && job.attempts.back().stage >= Stage::kRunning);
    case WaitUntil::kSettled:
      return !active;
    case WaitUntil::kEnded:
      return job.phase == JobPhase::kEnded;
  }
  return true;
}

std::string shown_id(const core::Job& job) {
  if (!job.array) return std::to_string(job.id.value);
  return std::to_string(job.array.value) + "_" + std::to_string(job.array_index);
}

// 1 for a job that ended badly without an exit code of its own.
int exit_code_of(const core::Job& job) {
  const bool completed = job.outcome == Outcome::kCompleted;
  return job.exit_code == 0 && !completed ? 1 : std::min(job.exit_code, 255);
}

std::string answer(const std::vector<const core::Job*>& jobs) {
  int code = 0;
  Json others = Json::array();
  for (const core::Job* job : jobs) {
    const int own = exit_code_of(*job);
    code = std::max(code, own);
    if (job->outcome == Outcome::kCompleted || others.size() >= kToldMax) continue;
    others.push_back(Json{
        {"id", shown_id(*job)}, {"state", views::state_word(*job)}, {"exit_code", job->exit_code}});
  }
  return codec::dump_json(Json{
             {"jobs", jobs.size()}, {"exit_code", code}, {"not_completed", std::move(others)}}) +
         '\n';
}

}  // namespace

std::optional<WaitUntil> read_wait_until(std::string_view text) {
  if (text == "started") return WaitUntil::kStarted;
  if (text == "settled") return WaitUntil::kSettled;
  if (text == "ended" || text.empty()) return WaitUntil::kEnded;
  return std::nullopt;
}

struct JobWaits::Waiter {
  std::shared_ptr<wire::Outflow> out;
  std::string name;
  WaitUntil until = WaitUntil::kEnded;
  std::size_t left = 0;  // entries of by_job_
};

void JobWaits::add(std::shared_ptr<wire::Outflow> out, std::string name, WaitUntil until) {
  auto waiter = std::make_shared<Waiter>();
  waiter->out = std::move(out);
  waiter->name = std::move(name);
  waiter->until = until;
  waiters_.insert(waiter);
  const std::weak_ptr<Waiter> weak = waiter;
  waiter->out->on_closed([this, weak] {
    if (const WaiterPtr held = weak.lock()) drop(held);
  });
  if (!keep_alive_timer_.pending()) keep_alive();
  look(waiter);
}

// One that had come there may have gone on since (`dove requeue`): all are looked at again.
void JobWaits::look(const WaiterPtr& waiter) {
  const auto jobs = find_jobs(projection_.state(), waiter->name);
  static const std::vector<const core::Job*> kForgotten;
  for (const core::Job* job : jobs.ok() ? *jobs : kForgotten) {
    if (is_there(*job, waiter->until)) continue;
    by_job_[job->id].push_back(waiter);
    ++waiter->left;
  }
  if (waiter->left > 0) return;
  waiter->out->write(answer(jobs.ok() ? *jobs : kForgotten));
  waiter->out->close();
  waiters_.erase(waiter);
}

void JobWaits::touched(JobId id) {
  const auto found = by_job_.find(id);
  if (found == by_job_.end()) return;
  const core::Job* job = projection_.state().find_job(id);
  std::vector<WaiterPtr> whole;
  std::erase_if(found->second, [&](const WaiterPtr& waiter) {
    if (job != nullptr && !is_there(*job, waiter->until)) return false;
    if (--waiter->left == 0) whole.push_back(waiter);
    return true;
  });
  if (found->second.empty()) by_job_.erase(found);
  for (const WaiterPtr& waiter : whole) look(waiter);
}

void JobWaits::published(const listener::RecentBatch& batch) {
  if (by_job_.empty()) return;
  for (const StampedEvent& event : batch.committed->batch.events) touched(job_of(event.event));
  for (const Decision& decision : batch.committed->batch.decisions) touched(job_of(decision));
}

void JobWaits::drop(const WaiterPtr& waiter) {
  if (waiters_.erase(waiter) == 0) return;
  for (auto entry = by_job_.begin(); entry != by_job_.end();) {
    std::erase(entry->second, waiter);
    entry = entry->second.empty() ? by_job_.erase(entry) : std::next(entry);
  }
}

void JobWaits::keep_alive() {
  for (const WaiterPtr& waiter : waiters_) waiter->out->write("\n");
  if (waiters_.empty()) return;
  keep_alive_timer_ = loop_.after(kAlive, [this] { keep_alive(); });
}

void JobWaits::close_all() {
  keep_alive_timer_.cancel();
  by_job_.clear();
  for (const WaiterPtr& waiter : std::exchange(waiters_, {})) waiter->out->close();
}

}  // namespace dove::server
