#include "sim/traces/log_trace.h"

#include <algorithm>
#include <set>

#include "codec/state/snapshot.h"
#include "core/place/limits.h"
#include "core/state/apply.h"
#include "core/state/books.h"

namespace dove::sim {
namespace {

// A job that begins anew with each attempt took as long as its last one; others go on where they
// were.
Span run_of(const core::Job& job) {
  if (job.spec->preempt != Preempt::kRestart || job.attempts.empty()) return job.ran_before;
  const core::Attempt& last = job.attempts.back();
  if (last.started_at.us == 0 || last.ended_at <= last.started_at) return job.ran_before;
  return last.ended_at - last.started_at;
}

template <class Objects>
void all_of(const Objects& objects, std::vector<Declared>& into) {
  for (const auto& [name, object] : objects) into.push_back(object);
}

void add_queue(const core::State& state, const Queue& queue, std::set<std::string>& added,
               std::vector<Declared>& into) {
  if (!added.insert(queue.name).second) return;
  const auto parent = state.queues.find(queue.parent);
  if (parent != state.queues.end()) add_queue(state, parent->second, added, into);
  into.push_back(queue);
}

std::vector<Declared> objects_of(const core::State& state) {
  std::vector<Declared> objects;
  all_of(state.domains, objects);
  all_of(state.groups, objects);
  all_of(state.users, objects);
  all_of(state.projects, objects);
  all_of(state.bindings, objects);
  all_of(state.user_limits, objects);
  std::set<std::string> added;
  for (const auto& [name, queue] : state.queues) add_queue(state, queue, added, objects);
  for (const auto& [name, pool] : state.pools) {
    Pool opened = pool;
    opened.open = true;
    objects.push_back(std::move(opened));
  }
  all_of(state.reservations, objects);
  return objects;
}

}  // namespace

std::int64_t gpus_of(const Inventory& inventory) {
  return std::count_if(inventory.devices.begin(), inventory.devices.end(),
                       [](const Device& device) { return device.kind == "gpu"; });
}

Result<void> LogTrace::begin_after(std::string_view snapshot) {
  TRY_ASSIGN(state_, codec::decode_snapshot(snapshot));
  return {};
}

void LogTrace::begin(Instant at, Epoch epoch) { core::begin_batch(state_, at, epoch); }

void LogTrace::add(const StampedEvent& event) {
  if (const auto* released = std::get_if<JobReleased>(&event.event)) {
    const core::Job* job = state_.find_job(released->job);
    const bool was_held = job != nullptr && job->held;
    if (was_held && job->attempts.empty()) released_[job->id] = state_.now;
  }
  core::apply(state_, event);
}

void LogTrace::add(const Decision& decision) {
  core::apply(state_, decision);
  if (const auto* end = std::get_if<EndJob>(&decision)) {
    if (const core::Job* job = state_.find_job(end->job)) {
      ended(*job);
      ended_as_submitted(*job);
    }
  }
}

void LogTrace::ended(const core::Job& job) {
  const std::int64_t milli = core::least_amount(*job.spec).gpus_milli;
  if (milli <= 0 || job.ran_before.us <= 0) {
    ++trace_.left_out;
    return;
  }
  QueueJob made;
  made.submitted_at = job.submitted_at;
  made.run = job.ran_before;
  made.limit = std::max(job.spec->time_limit, job.ran_before);
  made.says_limit = job.spec->time_limit.us > 0;
  made.gpus = (milli + kWholeDevice_milli - 1) / kWholeDevice_milli;
  made.account = accounts_.number(trace_, job.spec->user);
  trace_.jobs.push_back(made);
}

void LogTrace::ended_as_submitted(const core::Job& job) {
  if (job.ran_before.us <= 0) {
    ++work_.left_out;
    return;
  }
  const bool is_new = !work_.jobs.contains(job.array ? job.array : job.id);
  LoggedJob& made = work_.jobs[job.array ? job.array : job.id];
  if (is_new) {
    made.spec = *job.spec;
    made.spec.priority = job.priority;
    made.spec.time_limit = core::time_limit_of(state_, *job.spec);
    made.submitted_at = job.submitted_at;
    made.eligible_at = job.eligible_at;
  }
  const Span run = run_of(job);
  const bool well = job.outcome == Outcome::kCompleted;
  made.runs.push_back({job.id, job.array_index, run, well ? 0 : std::max(job.exit_code, 1)});
  if (made.spec.time_limit.us > 0) made.spec.time_limit = std::max(made.spec.time_limit, run);
  made.spec.hold = false;
  if (const auto at = released_.extract(job.id)) {
    made.spec.begin_at = std::max(made.spec.begin_at, at.mapped());
  }
}

Result<QueueTrace> LogTrace::take(const std::string& path) {
  return finished_trace(std::move(trace_), path);
}

Result<LoggedWork> LogTrace::take_work(const std::string& path) {
  if (work_.jobs.empty()) return no_jobs(path);
  for (auto& [id, job] : work_.jobs) {
    std::sort(job.runs.begin(), job.runs.end(),
              [](const LoggedRun& a, const LoggedRun& b) { return a.array_index < b.array_index; });
  }
  for (const core::Node& node : state_.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    LoggedNode made{node.declared, node.inventory};
    made.declared.name = node.name;
    made.declared.drained = false;
    work_.nodes.push_back(std::move(made));
  }
  work_.objects = objects_of(state_);
  work_.countables = state_.settings.countables;
  return std::move(work_);
}

std::vector<std::int64_t> LogTrace::gpus_by_node() const {
  std::vector<std::int64_t> found;
  for (const core::Node& node : state_.nodes) {
    if (node.removed || node.inventory == nullptr) continue;
    if (const std::int64_t gpus = gpus_of(*node.inventory); gpus > 0) found.push_back(gpus);
  }
  return found;
}

}  // namespace dove::sim
