#include "slurm/rooms/room_keeper.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "slurm/cluster.h"
#include "telemetry/log.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kRefusedAgain_s = 60;  // what was refused is handed in again

// Fences wait in Slurm's queue, too.
bool is_ours(const JobSeen& job) {
  return job.mark == kMark || job.mark.starts_with(placeholder_mark(""));
}

// As the ledger takes it: with what it asks for in the place where the gate's jobs have that.
JobSeen described(const JobSeen& job) {
  JobSeen one = job;
  one.gate = job.asks;
  one.mark.clear();  // the site's own words
  return one;
}

// Whether the ledger can place it for certain, where Slurm would start it once that is free.
bool may_get_room(const JobSeen& job) {
  if (!job.asks) return false;
  const GateSeen& asks = *job.asks;
  if (asks.is_held || asks.depends || !asks.array_tasks.empty()) return false;
  return asks.reservation.empty() && why_not_placed(described(job)).empty();
}

// These come and go while Slurm looks at its queue.
bool is_passing(std::string_view reason) {
  return reason.empty() || reason == "None" || reason == "Priority";
}

// Jobs of Slurm's users that wait in one of the partitions. One that waits in several may start in
// any of them, so it is in no list of these.
std::vector<const JobSeen*> waiting_in(const Observed& observed,
                                       const std::vector<std::string>& partitions) {
  std::vector<const JobSeen*> all;
  for (const JobSeen& job : observed.jobs) {
    if (job.phase != JobPhase::kWaiting || job.gate || is_ours(job)) continue;
    if (std::find(partitions.begin(), partitions.end(), job.partition) != partitions.end()) {
      all.push_back(&job);
    }
  }
  return all;
}

}  // namespace

RoomKeeper::RoomKeeper(Tell tell, std::string incarnation)
    : tell_(std::move(tell)), incarnation_(std::move(incarnation)) {}

bool RoomKeeper::is_refused(const JobSeen& job) const {
  const auto known = known_.find(job.id);
  return known != known_.end() && known->second.job == 0 && !known->second.refused.empty();
}

std::vector<const JobSeen*> RoomKeeper::to_tell(std::vector<const JobSeen*> waiting) const {
  std::erase_if(waiting, [this](const JobSeen* job) {
    return !known_.contains(job->id) && !may_get_room(*job);
  });
  // What gets no room takes no other one's turn.
  const auto rank = [this](const JobSeen* job) {
    return std::tuple(is_refused(*job), -job->priority, job->id);
  };
  std::sort(waiting.begin(), waiting.end(),
            [&](const JobSeen* a, const JobSeen* b) { return rank(a) < rank(b); });
  if (waiting.size() > kRoomsMax) waiting.resize(kRoomsMax);
  return waiting;
}

void RoomKeeper::forget_all_but(const std::vector<const JobSeen*>& waiting,
                                const std::set<std::int64_t>& told) {
  std::set<std::int64_t> kept = told;
  for (const JobSeen* job : waiting) {
    if (is_refused(*job)) kept.insert(job->id);
  }
  std::erase_if(known_, [&](const auto& one) { return !kept.contains(one.first); });
}

GatePresent RoomKeeper::present(const JobSeen& job, Known& known, std::int64_t now_s) const {
  GatePresent one;
  one.id = job.id;
  one.job = known.job;
  const bool lacks_room = job.reason == kLacksRoom;
  if (lacks_room) known.lacked_room_s = now_s;
  if (known.job == 0) return one;
  if (lacks_room) {
    one.word = UserWord::kRelease;
  } else if (!is_passing(job.reason) || now_s - known.lacked_room_s >= kPassedOver_s) {
    // Slurm would give the room to another one.
    one.word = UserWord::kHold;
  }
  return one;
}

void RoomKeeper::tell(const Observed& observed, const std::vector<std::string>& partitions,
                      std::int64_t now_s) {
  const std::vector<const JobSeen*> waiting = waiting_in(observed, partitions);
  const std::vector<const JobSeen*> jobs = to_tell(waiting);
  if (jobs.empty() && !has_told_) return;
  GateRequest request;
  request.incarnation = incarnation_;
  request.number = ++number_;
  request.room = true;
  std::vector<JobSeen> handed_in;
  handed_in.reserve(jobs.size());
  std::set<std::int64_t> told;
  for (const JobSeen* job : jobs) {
    told.insert(job->id);
    Known& known = known_[job->id];
    request.present.push_back(present(*job, known, now_s));
    const bool is_due = known.refused.empty() || now_s - known.told_s >= kRefusedAgain_s;
    if (known.job != 0 || !is_due || !may_get_room(*job)) continue;
    known.told_s = now_s;
    handed_in.push_back(described(*job));
    request.jobs.push_back(&handed_in.back());
  }
  forget_all_but(waiting, told);
  // Whom a former process told is seen once it lacks room again. Until then its job here stays.
  const bool is_new = !heard_s_ || now_s - *heard_s_ < kPassedOver_s;
  for (const JobSeen* job : waiting) {
    if (is_new && !job->asks && !told.contains(job->id)) request.present.push_back({job->id});
  }
  const Result<std::vector<GateJob>> answer = tell_(request, observed.nodes);
  const std::string now = answer.ok() ? "" : answer.error().message;
  if (now != trouble_) {
    telemetry::log(now.empty() ? telemetry::Level::kInfo : telemetry::Level::kWarning, "rooms",
                   {{"answers", now.empty()}, {"why", now}});
    trouble_ = now;
  }
  if (!answer.ok()) return;
  if (!heard_s_) heard_s_ = now_s;
  has_told_ = !request.present.empty();
  for (const GateJob& said : *answer) hear(said);
}

void RoomKeeper::hear(const GateJob& said) {
  const auto known = known_.find(said.id);
  if (known == known_.end()) return;
  switch (said.state) {
    case GateJob::State::kUnknown:
      known->second.job = 0;
      return;
    case GateJob::State::kRefused:
      if (known->second.refused != said.why) {
        telemetry::log(telemetry::Level::kWarning, "room_not_asked",
                       {{"slurm_job", said.id}, {"why", said.why}});
      }
      known->second.job = 0;
      known->second.refused = said.why;
      return;
    case GateJob::State::kEnded:
      // Handed in again, it is another one, unless somebody cancelled it here: that stands.
      known->second.job = 0;
      known->second.refused = "its job here has ended";
      return;
    case GateJob::State::kWaiting:
    case GateJob::State::kActive:
      break;
  }
  if (known->second.job == 0) {
    telemetry::log(telemetry::Level::kInfo, "room_asked",
                   {{"slurm_job", said.id}, {"job", said.job}});
  }
  known->second.job = said.job;
  known->second.refused.clear();
}

}  // namespace dove::slurm
