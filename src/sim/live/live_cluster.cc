#include "sim/live/live_cluster.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/check.h"

namespace dove::sim {
namespace {

constexpr int kRounds_max = 10'000;

}  // namespace

LiveCluster::LiveCluster(const core::Policies& policies, const ClusterSettings& settings,
                         Instant begin)
    : brain_(policies) {
  brain_.begin_batch(begin, Epoch(1));
  add(ControllerStarted{});
  declare(settings);
}

void LiveCluster::add(Event event) { brain_.apply(StampedEvent{std::move(event), {}}); }

void LiveCluster::declare(Declared object) { add(ObjectApplied{std::move(object)}); }

void LiveCluster::add_node(const std::string& name, std::shared_ptr<const Inventory> inventory) {
  NodeRegistered node;
  node.name = name;
  node.boot_id = "boot";
  node.inventory = std::move(inventory);
  add(std::move(node));
  add(NodeConnected{state_.nodes.back().id, "boot"});
}

Instant LiveCluster::next() const {
  Instant next = brain_.wake_at();
  if (!ends_.empty()) next = std::min(next, ends_.begin()->first);
  return std::max(next, state_.now);
}

void LiveCluster::pass_to(Instant at) {
  brain_.begin_batch(at, Epoch(1));
  eventful_ = false;
  bool ended = false;
  while (!ends_.empty() && ends_.begin()->first <= at) {
    const JobId id = ends_.begin()->second;
    ends_.erase(ends_.begin());
    LiveJob& job = this->at(id);
    job.runs = false;
    --running_;
    job.left = Span{};
    job.ended_at = at;
    report<PlacementEnded>(id, job.work.exit_code);
    ended = true;
  }
  if (ended) {
    eventful_ = true;
  } else {
    add(TimeReached{});
  }
}

JobId LiveCluster::submit(std::shared_ptr<const JobSpec> spec, Span work, Span loss) {
  return submit_each(std::move(spec), {LiveWork{work, loss}});
}

JobId LiveCluster::submit_each(std::shared_ptr<const JobSpec> spec,
                               const std::vector<LiveWork>& works) {
  const JobId first(state_.next_job);
  add(JobSubmitted{std::move(spec)});
  CHECK(state_.next_job == first.value + works.size(), "a piece of work for each element");
  for (std::size_t i = 0; i < works.size(); ++i) {
    const JobId id(first.value + i);
    LiveJob job;
    job.work = works[i];
    job.left = works[i].run;
    lossy_ = lossy_ || works[i].loss.us > 0;
    jobs_.reach(id);
    at(id) = job;
  }
  eventful_ = true;
  return first;
}

void LiveCluster::cancel(JobId job) { add(JobCancelRequested{job}); }

template <class Report>
void LiveCluster::report(JobId id, [[maybe_unused]] std::int32_t exit_code) {
  const core::Attempt& attempt = state_.find_job(id)->attempts.back();
  const AttemptNumber number = attempt.number;
  std::vector<NodeId> nodes;
  for (const core::PlacementRecord& record : attempt.placements) {
    if (record.stage != core::PlacementStage::kEnded) nodes.push_back(record.placement->node);
  }
  for (const NodeId node : nodes) {
    Report said;
    said.job = id;
    said.attempt = number;
    said.node = node;
    if constexpr (std::is_same_v<Report, PlacementEnded>) {
      said.exits.resize(1);
      said.exits.front().exit_code = exit_code;
    }
    add(std::move(said));
  }
}

void LiveCluster::begins(JobId id) {
  report<PlacementStarted>(id);
  LiveJob& job = at(id);
  job.runs = true;
  ++running_;
  job.checked_at = state_.now;
  job.started_at = std::min(job.started_at, state_.now);
  ++job.starts;
  if (job.left.us != kNever.us) ends_.emplace(state_.now + job.left, id);
}

void LiveCluster::stops(JobId id) {
  LiveJob& job = at(id);
  if (job.runs) {
    ends_.erase({job.checked_at + job.left, id});
    job.left.us -= (state_.now - job.checked_at).us;
    if (state_.find_job(id)->spec->preempt == Preempt::kRestart) job.left = job.work.run;
    job.runs = false;
    --running_;
  }
  report<PlacementEnded>(id);
}

void LiveCluster::carry_out(const Decision& decision) {
  if (const auto* launch = std::get_if<Launch>(&decision)) {
    report<PlacementPrepared>(launch->job);
    if (launch->placements.size() == 1) begins(launch->job);
  } else if (const auto* start = std::get_if<Start>(&decision)) {
    begins(start->job);
  } else if (const auto* stop = std::get_if<Stop>(&decision)) {
    if (state_.find_job(stop->job)->phase == JobPhase::kActive) stops(stop->job);
  }
}

// As Muri's simulator has it: whatever a job ran for since the last event, so much of it is lost.
void LiveCluster::progress_with_losses() {
  std::vector<JobId> running;
  for (const auto& [end, id] : ends_) running.push_back(id);
  ends_.clear();
  for (const JobId id : running) {
    LiveJob& job = at(id);
    const Span passed = state_.now - job.checked_at;
    job.checked_at = state_.now;
    job.left.us -= std::max<std::int64_t>(0, passed.us - job.work.loss.us);
    ends_.emplace(state_.now + job.left, id);
  }
}

Result<void> LiveCluster::settle() {
  if (lossy_ && eventful_) progress_with_losses();
  for (int i = 0; i < kRounds_max; ++i) {
    const std::vector<Decision> decisions = brain_.decide();
    if (decisions.empty()) return {};
    brain_.begin_batch(state_.now, Epoch(1));
    for (const Decision& decision : decisions) carry_out(decision);
  }
  return Error{ErrorKind::kInternal, "endless", "the brain decides without end", ""};
}

}  // namespace dove::sim
