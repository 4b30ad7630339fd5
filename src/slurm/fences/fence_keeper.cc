#include "slurm/fences/fence_keeper.h"

#include <algorithm>
#include <utility>

#include "telemetry/log.h"

namespace dove::slurm {
namespace {

// A standing fence that Slurm refused is asked for again: soon, since an allocation that has just
// ended may be in its way, and then after longer and longer pauses. Until it is there placeholders
// pin devices.
constexpr std::int64_t kFenceAgain_s = 1;
constexpr std::int64_t kFenceAgainMax_s = 30;
// A job that was asked for and runs still.
constexpr std::int64_t kPutBackAgain_s = 5;
// One that was to end longer ago, and was left alone then, gets its signal again.
constexpr std::int64_t kWarnedFor_s = 60;
// To find a signal, to send it and to say so takes several commands: the next look is not to wait
// for all of them.
constexpr int kChangesOfWarning = 4;

telemetry::Level level_of(const Result<void>& done) {
  return done.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning;
}

}  // namespace

FenceKeeper::FenceKeeper(SlurmCluster& slurm, Clock clock, std::string cluster,
                         std::int64_t signal_wait_s)
    : slurm_(slurm),
      clock_(std::move(clock)),
      cluster_(std::move(cluster)),
      signal_wait_s_(signal_wait_s) {}

// Each of these: whether Slurm answers.
bool FenceKeeper::release(std::int64_t id, bool& changed) {
  const Result<void> released = slurm_.release(id);
  telemetry::log(telemetry::Level::kInfo, "standing_fence_released",
                 {{"slurm_job", id}, {"why_not", released.ok() ? "" : released.error().message}});
  changed = changed || released.ok();
  return released.ok() || !is_silence(released.error());
}

bool FenceKeeper::suspend(std::int64_t id, bool& changed) {
  const Result<void> suspended = slurm_.suspend(id);
  const std::string trouble = suspended.ok() ? "" : suspended.error().message;
  if (trouble != suspend_trouble_) {
    telemetry::log(level_of(suspended), "suspend", {{"answers", suspended.ok()}, {"why", trouble}});
    suspend_trouble_ = trouble;
  }
  changed = changed || suspended.ok();
  return suspended.ok() || !is_silence(suspended.error());
}

bool FenceKeeper::ask(const Ask& ask, bool& changed) {
  const Result<std::int64_t> id = slurm_.ask(ask);
  telemetry::log(id.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning, "standing_fence",
                 {{"node", ask.node},
                  {"gres", ask.gres},
                  {"waits", ask.waits},
                  {"slurm_job", id.ok() ? *id : 0},
                  {"why_not", id.ok() ? "" : id.error().message}});
  if (id.ok()) {
    changed = true;
    no_fence_.erase(ask.node);
    bool ignored = false;
    if (!ask.waits) suspend(*id, ignored);  // else at the next look
    return true;
  }
  NoFence& next = no_fence_[ask.node];
  next.pause_s = std::clamp(2 * next.pause_s, kFenceAgain_s, kFenceAgainMax_s);
  next.again_s = now_s() + next.pause_s;
  return !is_silence(id.error());
}

// One whose answer is lost is sent again.
bool FenceKeeper::warn(const PutBackDue& one, Leaving& leaving) {
  const bool was_warned = one.at_s > now_s() - kWarnedFor_s;  // by a former adapter
  // It may be of another machine's clock, and of other settings.
  if (was_warned) leaving.at_s = std::min(one.at_s, now_s() + signal_wait_s_);
  leaving.is_warned = was_warned || signal_wait_s_ == 0;
  if (leaving.is_warned) return true;
  const Result<std::int64_t> wait_s = send_last_signal(slurm_, one.id, one.handle, signal_wait_s_);
  leaving.is_warned = wait_s.ok();
  if (!wait_s.ok() || *wait_s == 0) return wait_s.ok();
  leaving.at_s = now_s() + *wait_s;
  if (!one.may_say) return true;
  // For the next adapter, and for the job's owner.
  const Result<void> said =
      slurm_.mark(one.handle, put_back_words(one.job, cluster_, leaving.at_s));
  return said.ok() || !is_silence(said.error());
}

// What a job was told that goes on after all. Told again, it gets its signal again.
void FenceKeeper::take_back_words(const Observed& observed, const std::vector<PutBack>& put_backs) {
  const std::map<std::int64_t, std::string> told =
      told_in_vain(observed, put_backs, cluster_, now_s());
  std::erase_if(taken_back_, [&](std::int64_t id) { return !told.contains(id); });
  int done = 0;
  for (const auto& [id, handle] : told) {
    if (taken_back_.contains(id)) continue;
    if (++done > kChangesMax) return;
    const Result<void> taken = slurm_.mark(handle, "");
    if (!taken.ok() && is_silence(taken.error())) return;
    taken_back_.insert(id);
    telemetry::log(level_of(taken), "foreign_job_stays",
                   {{"slurm_job", id}, {"why_not", taken.ok() ? "" : taken.error().message}});
  }
}

bool FenceKeeper::put_back(const Observed& observed, const DevicesOfNodes& kept,
                           const std::vector<PutBack>& put_backs) {
  std::erase_if(leaving_, [&](const auto& entry) {
    return std::none_of(put_backs.begin(), put_backs.end(),
                        [&](const PutBack& one) { return one.id == entry.first; });
  });
  take_back_words(observed, put_backs);
  bool changed = false;
  int asked = 0;
  for (const PutBackDue& one : due_put_backs(observed, put_backs, kept, cluster_, now_s())) {
    Leaving& leaving = leaving_[one.id];
    if (leaving.started_s != one.started_s) leaving = {.started_s = one.started_s};
    if (leaving.asked_s != 0 && now_s() - leaving.asked_s < kPutBackAgain_s) continue;
    if (leaving.is_warned && now_s() < leaving.at_s) continue;
    asked += leaving.is_warned || signal_wait_s_ == 0 ? 1 : kChangesOfWarning;
    if (asked > kChangesMax) break;
    if (!leaving.is_warned && !warn(one, leaving)) break;
    if (now_s() < leaving.at_s) continue;
    const std::string why = one.may_say ? put_back_words(one.job, cluster_) : "";
    const Result<void> done = slurm_.requeue(one.handle, why);
    leaving.asked_s = now_s();
    telemetry::log(
        level_of(done), "foreign_job_put_back",
        {{"slurm_job", one.id}, {"why", why}, {"why_not", done.ok() ? "" : done.error().message}});
    changed = changed || done.ok();
    if (!done.ok() && is_silence(done.error())) break;
  }
  return changed;
}

void FenceKeeper::move_back(std::int64_t back_s) {
  for (auto& [node, one] : no_fence_) one.again_s -= back_s;
  for (auto& [job, one] : leaving_) {
    one.at_s -= back_s;
    if (one.asked_s != 0) one.asked_s -= back_s;
  }
}

bool FenceKeeper::keep(const Observed& observed, const DevicesOfNodes& kept,
                       const std::vector<PutBack>& put_backs, const std::set<std::int64_t>& lend) {
  move_back(set_back_.look(now_s()));
  StandingPlan plan =
      plan_standing_fences(observed, kept, cluster_, leaving_jobs(observed, put_backs));
  std::erase_if(plan.suspend, [&](std::int64_t fence) { return lend.contains(fence); });
  std::erase_if(no_fence_, [&](const auto& one) {
    return std::none_of(plan.ask.begin(), plan.ask.end(),
                        [&](const Ask& ask) { return ask.node == one.first; });
  });
  // Before fences are asked for: only the next look shows whether those wait.
  bool changed = put_back(observed, kept, put_backs);
  int done = 0;
  for (const std::int64_t id : plan.release) {
    if (++done > kChangesMax) break;
    if (!release(id, changed)) return changed;
  }
  for (const std::int64_t id : plan.suspend) {
    if (++done > kChangesMax) break;
    if (!suspend(id, changed)) return changed;
  }
  for (const Ask& ask : plan.ask) {
    const auto refused = no_fence_.find(ask.node);
    if (refused != no_fence_.end() && now_s() < refused->second.again_s) continue;
    if (++done > kChangesMax) break;
    if (!this->ask(ask, changed)) break;
  }
  return changed;
}

void FenceKeeper::stop_waiting(const Observed& observed) {
  bool changed = false;
  for (const std::int64_t id : waiting_fences(observed, cluster_)) {
    if (!release(id, changed)) return;
  }
}

}  // namespace dove::slurm
