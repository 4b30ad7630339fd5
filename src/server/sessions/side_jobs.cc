#include "server/sessions/side_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "accounts/access.h"
#include "server/job_select.h"
#include "server/sessions/session_app.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

// Whether the job may be a side job, as far as its spec says.
bool waits_for_parent(const JobSpec& spec) {
  return spec.parent && std::any_of(spec.dependencies.begin(), spec.dependencies.end(),
                                    [&](const Dependency& one) {
                                      return one.kind == DependencyKind::kAfter &&
                                             one.job == spec.parent;
                                    });
}

bool has_ended(const core::State& state, JobId id) {
  const core::Job* job = state.find_job(id);
  return job == nullptr || job->phase == JobPhase::kEnded;
}

}  // namespace

Result<JobId> take_side_of(const Context& context, const Caller& caller, Json& body) {
  const auto given = body.is_object() ? body.find("side_of") : body.end();
  if (given == body.end() || given->is_null()) return JobId{};
  if (!given->is_number_integer() || *given < 1) {
    return invalid("wrong_type", "side_of is the number of the main job", "side_of");
  }
  const std::string id = given->dump();
  body.erase("side_of");
  TRY_ASSIGN(const core::Job* main, find_job(context.state(), id));
  if (main->spec->user != caller.user || !may_act(context.state(), caller, *main)) {
    return not_yours(caller, *main);
  }
  if (main->array) {
    return Error{
        ErrorKind::kConflict, "no_side_of_array",
        fmt::format("job {} is of an array: a side job goes with one job; start the app by "
                    "itself, with `dove app start`",
                    id),
        "side_of"};
  }
  if (main->phase == JobPhase::kEnded) {
    return Error{
        ErrorKind::kConflict, "job_ended",
        fmt::format("job {} has ended: start the app by itself, with `dove app start`", id),
        "side_of"};
  }
  return main->id;
}

Result<void> make_side(codec::Submission& submission, JobId main) {
  if (submission.exec.app.name.empty()) {
    return invalid("no_app", "a side job is a session: give it an `app`", "app");
  }
  submission.spec.parent = main;
  submission.spec.dependencies.push_back({DependencyKind::kAfter, main, {}});
  return {};
}

SideJobs::SideJobs(Context& context) : context_(context) {
  context_.desk.on_batch(
      [this](const listener::RecentBatch& recent) { look_at(recent.committed->batch); });
  // What ended when nobody looked.
  timer_ = context_.desk.loop.after(std::chrono::microseconds(0), [this] {
    learn_new();
    std::vector<JobId> over;
    for (const auto& [main, side] : sides_) {
      if (has_ended(context_.state(), main)) over.push_back(main);
    }
    for (const JobId main : over) end_those_of(main);
  });
}

void SideJobs::look_at(const store::Batch& batch) {
  const bool is_new = std::any_of(
      batch.events.begin(), batch.events.end(),
      [](const StampedEvent& each) { return std::holds_alternative<JobSubmitted>(each.event); });
  if (is_new) learn_new();
  for (const Decision& decision : batch.decisions) {
    if (const auto* end = std::get_if<EndJob>(&decision)) end_those_of(end->job);
  }
}

void SideJobs::learn_new() {
  const core::State& state = context_.state();
  for (auto at = state.jobs.lower_bound(next_); at != state.jobs.end(); ++at) {
    next_ = JobId(at->first.value + 1);
    const core::Job& job = at->second;
    if (job.phase == JobPhase::kEnded || !waits_for_parent(*job.spec)) continue;
    sides_.emplace(job.spec->parent, job.id);
  }
}

void SideJobs::end_those_of(JobId main) {
  const auto [first, last] = sides_.equal_range(main);
  if (first == last) return;
  std::vector<JobId> ending;
  for (auto at = first; at != last; ++at) ending.push_back(at->second);
  sides_.erase(first, last);
  for (const JobId side : ending) {
    const core::Job* job = context_.state().find_job(side);
    if (job == nullptr) continue;
    context_.desk.blobs.fetch({job->spec->exec_digest}, listener::Blobs::kForever,
                              [this, side](const auto&) { end_session(side); });
  }
}

void SideJobs::end_session(JobId side) {
  const core::Job* job = context_.state().find_job(side);
  if (job == nullptr || job->phase == JobPhase::kEnded || app_of(context_, *job).name.empty()) {
    return;
  }
  if (!context_.desk.stopping()) context_.desk.observe(JobCancelRequested{side});
}

}  // namespace dove::server
