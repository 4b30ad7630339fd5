#include "slurm/fences/put_back.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "model/preempt_pause.h"

namespace dove::slurm {
namespace {

constexpr const char kWords[] = "put back by dovetail";
constexpr std::string_view kAt = " at ";

const JobSeen* find_job(const Observed& observed, std::int64_t id) {
  const auto at = std::find_if(observed.jobs.begin(), observed.jobs.end(),
                               [id](const JobSeen& job) { return job.id == id; });
  return at == observed.jobs.end() ? nullptr : &*at;
}

// Whether a fence waits for each kept device that the job has, and it has one.
bool is_awaited(const JobSeen& job, const DevicesOfNodes& kept,
                const std::set<std::string>& waiting, const std::string& cluster) {
  bool has_kept = false;
  for (const NodeAllocation& held : job.allocations) {
    const auto here = kept.find(held.node);
    if (here == kept.end()) continue;
    for (const int device : held.devices) {
      if (!here->second.contains(device)) continue;
      if (!waiting.contains(standing_fence_name(held.node, device, cluster))) return false;
      has_kept = true;
    }
  }
  return has_kept;
}

// When the comment says that it is put back; 0: it says nothing of this run of it.
std::int64_t time_said(const JobSeen& job) {
  const std::size_t at = job.mark.rfind(kAt);
  if (!job.mark.starts_with(kWords) || at == std::string::npos) return 0;
  const std::string_view digits = std::string_view(job.mark).substr(at + kAt.size());
  std::int64_t said = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), said);
  const bool is_number = end.ec == std::errc() && end.ptr == digits.data() + digits.size();
  return is_number && said > job.started_s ? said : 0;
}

bool is_by(const std::string& cluster, const JobSeen& job) {
  return job.mark.starts_with(fmt::format("{}@{} ", kWords, cluster));
}

// By a former version, whoever's it was.
bool is_by_any(const JobSeen& job) { return job.mark.starts_with(fmt::format("{} ", kWords)); }

}  // namespace

std::string put_back_words(std::int64_t job, const std::string& cluster, std::int64_t at_s) {
  const std::string words =
      fmt::format("{}@{} for its job {} of higher priority", kWords, cluster, job);
  return at_s == 0 ? words : fmt::format("{}{}{}", words, kAt, at_s);
}

bool is_spared(const JobSeen& job, std::int64_t now_s) {
  return now_s - job.started_s < pause_after(job.restarts).us / 1'000'000;
}

std::set<std::int64_t> leaving_jobs(const Observed& observed, const std::vector<PutBack>& wanted) {
  std::set<std::int64_t> leaving;
  for (const PutBack& one : wanted) {
    const JobSeen* job = find_job(observed, one.id);
    if (job == nullptr) continue;
    // One that is ending does so by our word or by its own: what it has becomes free.
    const bool holds = job->phase == JobPhase::kHolding && job->may_requeue && !job->gate;
    if (holds || job->phase == JobPhase::kEnding) leaving.insert(job->id);
  }
  return leaving;
}

std::map<std::int64_t, std::string> told_in_vain(const Observed& observed,
                                                 const std::vector<PutBack>& wanted,
                                                 const std::string& cluster, std::int64_t now_s) {
  std::map<std::int64_t, std::string> told;
  for (const JobSeen& job : observed.jobs) {
    const std::int64_t said_s = job.phase == JobPhase::kHolding ? time_said(job) : 0;
    if (said_s == 0) continue;
    if (is_by(cluster, job) || (is_by_any(job) && said_s < now_s)) told[job.id] = job.handle;
  }
  for (const PutBack& one : wanted) told.erase(one.id);
  return told;
}

std::vector<PutBackDue> due_put_backs(const Observed& observed, const std::vector<PutBack>& wanted,
                                      const DevicesOfNodes& kept, const std::string& cluster,
                                      std::int64_t now_s) {
  std::vector<PutBackDue> due;
  if (wanted.empty()) return due;
  const std::set<std::string> waiting = waiting_fence_names(observed, cluster);
  const std::set<std::int64_t> leave = observed.jobs_to_leave();
  std::set<std::int64_t> named;  // one may make room for two
  for (const PutBack& one : wanted) {
    const JobSeen* job = find_job(observed, one.id);
    const bool holds = job != nullptr && job->phase == JobPhase::kHolding;
    if (!holds || !job->may_requeue || job->gate || leave.contains(one.id)) continue;
    if (!is_awaited(*job, kept, waiting, cluster) || !named.insert(one.id).second) continue;
    const std::int64_t said_s = time_said(*job);
    // Words whose time has passed may be those of an adapter that is gone.
    const bool is_ours = is_by(cluster, *job) || is_by_any(*job);
    const bool is_anothers = !is_ours && said_s >= now_s;
    const bool may_say = job->mark.empty() || (job->mark.starts_with(kWords) && !is_anothers);
    due.push_back({job->id, job->handle, one.job, may_say, job->started_s, is_ours ? said_s : 0});
  }
  return due;
}

}  // namespace dove::slurm
