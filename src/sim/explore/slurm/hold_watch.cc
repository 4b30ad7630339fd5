#include "sim/explore/slurm/hold_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "slurm/fences/standing_fences.h"
#include "slurm/plan.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr const char kCluster[] = "dove";
// The ledger may have heard of an end just after the first of them had asked it.
constexpr int kOrphanCycles = 2;
// An end is told before it is asked for again, and so is a refusal (slurm::kAskAgain_s).
constexpr int kBareCycles = 4;
constexpr std::int64_t kBare_us = 180 * kSecond_us;
constexpr std::int64_t kFenceAge_s = 300;
// What a look leaves has two minutes at least (slurm/plan.cc), which Slurm counts in seconds.
constexpr std::int64_t kLimitMargin_us = 110 * kSecond_us;
constexpr std::int64_t kSoon_s = 600;

bool is_standing(const slurm::JobSeen& job) { return job.name.starts_with("dove-keep-"); }

}  // namespace

HoldWatch::HoldWatch(const Agenda& agenda, SimulatedSlurm& slurm, Oracle& oracle)
    : agenda_(agenda), slurm_(slurm), oracle_(oracle), rooms_(slurm, oracle) {
  slurm_.on_limit([this](const slurm::JobSeen& job) { check_limit(job); });
}

bool HoldWatch::ends_soon() const {
  const auto all = slurm_.ours();
  return std::any_of(all.begin(), all.end(), [&](const slurm::JobSeen* job) {
    return job->ends_s != 0 && job->ends_s - slurm_.now_s() < kSoon_s;
  });
}

bool HoldWatch::is_orphan(const slurm::JobSeen& job) const {
  if (is_standing(job)) return false;
  const auto key = slurm::read_placeholder_name(job.name, kCluster);
  if (!key) return slurm_.now_s() - job.started_s > kFenceAge_s;
  return oracle_.has_ended(static_cast<std::uint64_t>(key->first),
                           static_cast<std::uint32_t>(key->second));
}

// Jobs whose hold somebody has ended, though Slurm could hold all their devices again.
std::set<HoldWatch::Work> HoldWatch::bare_works() const {
  std::set<Work> bare;
  std::uint32_t number = 0;
  for (const std::string& node : slurm_.nodes()) {
    for (const auto& [job, devices] : oracle_.unguarded_devices(++number)) {
      // One placeholder holds them all.
      const bool has_room = std::all_of(devices.begin(), devices.end(), [&](std::int32_t device) {
        return slurm_.has_room(node, device);
      });
      if (has_room) bare.emplace(node, job);
    }
  }
  return bare;
}

void HoldWatch::begins() {
  begun_us_ = agenda_.now_us();
  troubles_ = slurm_.troubles();
  orphans_.clear();
  for (const slurm::JobSeen* job : slurm_.ours()) {
    if (is_orphan(*job)) orphans_.insert(job->id);
  }
  bare_ = bare_works();
  rooms_.begins();
}

void HoldWatch::ends(const slurm::CycleEnd& end, slurm::Look look) {
  const bool is_obeyed = end.slurm_answers && slurm_.troubles() == troubles_;
  if (!is_obeyed || slurm_.caller_is_dead() || end.replaced) return;
  looked_us_ = begun_us_;
  if (!end.controller_answers) return;
  check_orphans();
  rooms_.ends();
  if (look == slurm::Look::kAll) check_bare();
}

void HoldWatch::check_orphans() {
  std::erase_if(orphan_cycles_, [&](const auto& one) { return !orphans_.contains(one.first); });
  for (const std::int64_t id : orphans_) {
    const slurm::JobSeen* job = slurm_.find_job(id);
    // What runs in it is being ended.
    if (job == nullptr || job->phase == slurm::JobPhase::kEnding) continue;
    if (++orphan_cycles_[id] < kOrphanCycles) continue;
    oracle_.fail(
        fmt::format("Slurm job {} {} on {} is there still, though {} cycles saw that nothing is "
                    "to be held by it",
                    id, job->name, job->allocations.front().node, kOrphanCycles));
  }
}

void HoldWatch::check_bare() {
  const std::set<Work> now = bare_works();
  std::erase_if(bare_cycles_, [&](const auto& one) { return !now.contains(one.first); });
  for (const Work& work : now) {
    if (!bare_.contains(work)) continue;
    Bare& bare = bare_cycles_[work];
    if (bare.cycles++ == 0) bare.since_us = begun_us_;
    if (bare.cycles < kBareCycles || agenda_.now_us() - bare.since_us < kBare_us) continue;
    oracle_.fail(
        fmt::format("job {} runs on {} with devices that nobody holds in Slurm, though it could",
                    work.second, work.first));
  }
}

void HoldWatch::check_limit(const slurm::JobSeen& job) {
  const auto key = slurm::read_placeholder_name(job.name, kCluster);
  if (!key || looked_us_ < 0 || agenda_.now_us() - looked_us_ >= kLimitMargin_us) return;
  const std::string& node = job.allocations.front().node;
  const auto at = std::find(slurm_.nodes().begin(), slurm_.nodes().end(), node);
  const auto number = static_cast<std::uint32_t>(at - slurm_.nodes().begin() + 1);
  if (!oracle_.runs_there(number, static_cast<std::uint64_t>(key->first))) return;
  oracle_.fail(
      fmt::format("Slurm job {} {} on {} met its time limit, though its job {} runs, and the "
                  "adapter looked just before",
                  job.id, job.name, node, key->first));
}

}  // namespace dove::sim
