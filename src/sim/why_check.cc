#include "sim/why_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "codec/words.h"
#include "core/cycle/scheduler.h"
#include "core/explain/explain.h"
#include "core/explain/other_sets.h"
#include "core/queue/policy.h"
#include "core/queue/queue_tree.h"
#include "sim/removal.h"
#include "sim/scenario_words.h"

namespace dove::sim {
namespace {

using core::State;

class WhyCheck {
 public:
  WhyCheck(const State& state, const core::Policies& policies, JobId job)
      : state_(state),
        policies_(policies),
        job_(job),
        reasons_(core::explain(state, policies, job)) {}

  std::optional<std::string> run() const;

 private:
  static bool is_cause(const Reason& reason);
  // All reasons but one are gone; nobody else may start.
  State without(const Reason* left) const;
  std::vector<JobId> launched(State state) const;
  bool starts(State state) const;
  std::optional<std::string> check_order(const Reason& ahead) const;
  std::optional<std::string> check_number(const Reason& reason) const;
  std::optional<std::string> check_others() const;
  State without_others(const std::vector<core::OtherCause>& set, std::size_t left) const;
  bool shares_matter() const;
  std::string wrong(std::string what) const;

  const State& state_;
  const core::Policies& policies_;
  JobId job_;
  std::vector<Reason> reasons_;
};

// The others are about other jobs, or details.
bool WhyCheck::is_cause(const Reason& reason) {
  switch (reason.kind) {
    case ReasonKind::kAhead:
    case ReasonKind::kPromised:
    case ReasonKind::kFragmented:
    case ReasonKind::kNoPlan:
    case ReasonKind::kPreemption:
    case ReasonKind::kForeign:
      return false;
    case ReasonKind::kHeld:
    case ReasonKind::kBeginTime:
    case ReasonKind::kDependency:
    case ReasonKind::kArrayLimit:
    case ReasonKind::kQueueLimit:
    case ReasonKind::kUserLimit:
    case ReasonKind::kClusterLimit:
    case ReasonKind::kPoolClosed:
    case ReasonKind::kTimeLimit:
    case ReasonKind::kResources:
    case ReasonKind::kNeverFits:
    case ReasonKind::kNodesUnavailable:
    case ReasonKind::kExcluded:
    case ReasonKind::kProjectLimit:
    case ReasonKind::kDomainLimit:
    case ReasonKind::kDomain:
    case ReasonKind::kLabels:
    case ReasonKind::kReserved:
    case ReasonKind::kReservation:
    case ReasonKind::kExecutor:
      return true;
  }
  return true;
}

// A job that is held is promised nothing.
void hold_others(State& state, std::initializer_list<JobId> but) {
  state.promises.clear();
  for (auto& [id, job] : state.jobs) {
    const bool spared = std::find(but.begin(), but.end(), id) != but.end();
    if (job.phase == JobPhase::kWaiting && !spared) job.held = true;
  }
}

void bring_back_nodes(State& state) {
  for (core::Node& node : state.nodes) {
    node.contact = Contact::kConnected;
    node.declared.drained = false;
  }
}

// Where it stands in the order stays: what its size was worth there becomes waiting time.
void ask_for_nothing(const State& state, const core::Policies& policies, core::Job& job) {
  const auto by_sum = std::find_if(
      policies.orders.begin(), policies.orders.end(),
      [](const core::OrderPolicy* order) { return order->basis() == core::Basis::kRank; });
  const bool sums = by_sum != policies.orders.end();
  const std::int64_t rank = sums ? (*by_sum)->rank(state, job) : 0;
  auto spec = std::make_shared<JobSpec>();
  spec->user = job.spec->user;
  spec->queue = job.spec->queue;
  spec->pool = job.spec->pool;
  spec->time_limit = job.spec->time_limit;
  spec->groups.resize(1);
  job.spec = spec;
  job.array = JobId{};
  job.held = false;
  const bool by_rank = core::order_of(state, policies, "").basis() == core::Basis::kRank;
  if (sums && by_rank) job.submitted_at.us -= rank - (*by_sum)->rank(state, job);
}

State WhyCheck::without(const Reason* left) const {
  State copy = state_;
  hold_others(copy, {job_});
  for (const Reason& reason : reasons_) {
    if (&reason != left) remove_reason(copy, job_, reason);
  }
  return copy;
}

std::vector<JobId> WhyCheck::launched(State state) const {
  // Books that were edited say nothing about what is free when somebody ends or is stopped.
  core::CycleOptions options;
  options.switch_off(core::Pass::kPromise);
  options.switch_off(core::Pass::kPreempt);
  std::vector<JobId> jobs;
  for (const Decision& decision : core::decide(state, policies_, options)) {
    if (const auto* launch = std::get_if<Launch>(&decision)) jobs.push_back(launch->job);
  }
  return jobs;
}

bool WhyCheck::starts(State state) const {
  const std::vector<JobId> jobs = launched(std::move(state));
  return std::find(jobs.begin(), jobs.end(), job_) != jobs.end();
}

std::string text_of(const Request& request) {
  std::string text = fmt::format("cores={} memory={} gpus={} share={} {}x{} {}", request.cores,
                                 request.memory_bytes >> 30, request.gpus, request.share_milli,
                                 request.slices, request.slice, request.gpu_model);
  for (const Countable& one : request.countables) {
    text += fmt::format(" {}={}", one.name, one.amount);
  }
  return text;
}

std::string text_of(const JobSpec& spec) {
  std::string text =
      fmt::format("user={} queue={} pool={} domain={}{} spread={} exclusive={}", spec.user,
                  spec.queue, spec.pool, spec.domain, spec.domain_required ? "!" : "",
                  static_cast<int>(spec.spread), spec.exclusive);
  for (const TaskGroup& group : spec.groups) {
    text += fmt::format("\n  {} tasks on {}-{} nodes, {} each: {}; per node: {}", group.tasks,
                        group.nodes_min, group.nodes_max, group.tasks_per_node,
                        text_of(group.per_task), text_of(group.per_node));
  }
  return text;
}

std::string WhyCheck::wrong(std::string what) const {
  State gone = without(nullptr);
  const Names names{[](JobId id) { return fmt::format("job{}", id.value); },
                    [](NodeId id) { return fmt::format("node{}", id.value); }};
  std::string text =
      fmt::format("job {}: {}; {}", job_.value, what, text_of(*state_.find_job(job_)->spec));
  text += fmt::format(" order={} promises={}{}", state_.settings.order, state_.promises.size(),
                      core::comes_first(*state_.find_job(job_)) ? " at head" : "");
  for (const Reason& reason : reasons_) text += "\n  " + sim::text_of(reason, names);
  text += "\nwithout them:";
  for (const Reason& reason : core::explain(gone, policies_, job_)) {
    text += "\n  " + sim::text_of(reason, names);
  }
  for (const Reason& ahead : reasons_) {
    if (ahead.kind != ReasonKind::kAhead) continue;
    text += "\nwho is ahead: " + text_of(*state_.find_job(ahead.other)->spec);
    for (const Reason& reason : core::explain(state_, policies_, ahead.other)) {
      text += "\n  " + sim::text_of(reason, names);
    }
  }
  return text;
}

// With other nodes shares would be others.
bool WhyCheck::shares_matter() const {
  const auto by_share = [&](const std::string& queue) {
    return core::order_of(state_, policies_, queue).basis() != core::Basis::kJob;
  };
  return by_share("") || std::any_of(state_.queues.begin(), state_.queues.end(),
                                     [&](const auto& each) { return by_share(each.first); });
}

std::optional<std::string> WhyCheck::check_order(const Reason& ahead) const {
  if (!ahead.subject.empty()) {
    // Nothing but its queue's order is in the way.
    const bool only = std::none_of(reasons_.begin(), reasons_.end(), is_cause);
    if (only && starts(state_)) return wrong("it starts although its queue lets nothing pass");
  }
  State copy = state_;
  hold_others(copy, {job_, ahead.other});
  if (!shares_matter()) bring_back_nodes(copy);
  for (auto& [name, pool] : copy.pools) {
    pool.open = true;
    pool.time_limit_max = {};
  }
  for (auto& [name, queue] : copy.queues) queue.limits = {};
  copy.user_limits.clear();
  copy.reservations.clear();
  for (auto& [name, project] : copy.projects) project.limits = {};
  for (const JobId id : {job_, ahead.other})
    ask_for_nothing(state_, policies_, copy.jobs.find(id)->second);
  const std::vector<JobId> jobs = launched(std::move(copy));
  const auto mine = std::find(jobs.begin(), jobs.end(), job_);
  const auto theirs = std::find(jobs.begin(), jobs.end(), ahead.other);
  if (mine < theirs) return wrong("it starts before the job that the explanation calls ahead");
  return std::nullopt;
}

std::optional<std::string> WhyCheck::check_number(const Reason& reason) const {
  if (reason.kind == ReasonKind::kFragmented &&
      (reason.free < reason.needs || reason.total >= reason.needs)) {
    return wrong("it is not fragments");
  }
  if (reason.kind != ReasonKind::kNeverFits) return std::nullopt;
  State copy = without(&reason);
  empty_nodes(copy);
  if (starts(std::move(copy))) return wrong("what never fits does on empty nodes");
  return std::nullopt;
}

bool is_about_places(ReasonKind kind) {
  constexpr ReasonKind kPlaces[] = {ReasonKind::kLabels,    ReasonKind::kDomain,
                                    ReasonKind::kExcluded,  ReasonKind::kReservation,
                                    ReasonKind::kReserved,  ReasonKind::kNodesUnavailable,
                                    ReasonKind::kResources, ReasonKind::kNeverFits};
  return std::find(std::begin(kPlaces), std::end(kPlaces), kind) != std::end(kPlaces);
}

// All is gone but what is about places; of that the set is gone, without its entry `left`.
State WhyCheck::without_others(const std::vector<core::OtherCause>& set, std::size_t left) const {
  State copy = state_;
  hold_others(copy, {job_});
  for (const Reason& reason : reasons_) {
    if (!is_about_places(reason.kind)) remove_reason(copy, job_, reason);
  }
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i == left) continue;
    if (set[i].kind == ReasonKind::kReserved) {
      const std::string own = state_.find_job(job_)->spec->reservation;
      std::erase_if(copy.reservations, [&](const auto& each) { return each.first != own; });
      continue;
    }
    Reason reason;
    reason.kind = set[i].kind;
    reason.resource = set[i].resource;
    remove_reason(copy, job_, reason);
  }
  return copy;
}

std::optional<std::string> WhyCheck::check_others() const {
  const bool is_shut_out = std::any_of(reasons_.begin(), reasons_.end(), [](const Reason& one) {
    return one.kind == ReasonKind::kReservation && one.needs == 0;
  });
  if (is_shut_out) return std::nullopt;  // its own reservation is closed, wherever there is room
  const core::OtherSets others = core::other_sets(state_, policies_, *state_.find_job(job_));
  for (const std::vector<core::OtherCause>& set : others.sets) {
    const State gone = without_others(set, set.size());
    // Which nodes it gets may break a limit that the named causes would not.
    const std::vector<Reason> rest = core::explain(gone, policies_, job_);
    const bool has_places = std::none_of(
        rest.begin(), rest.end(), [](const Reason& one) { return is_about_places(one.kind); });
    if (!starts(gone) && (!has_places || rest.empty())) {
      return wrong(fmt::format("it does not start without {} {}", codec::word(set[0].kind),
                               set[0].resource));
    }
    for (std::size_t left = 0; left < set.size(); ++left) {
      if (!starts(without_others(set, left))) continue;
      return wrong(fmt::format("another set is too large: {} {}", codec::word(set[left].kind),
                               set[left].resource));
    }
  }
  return std::nullopt;
}

std::optional<std::string> WhyCheck::run() const {
  if (reasons_.empty()) return wrong("nothing says why it waits");
  if (!starts(without(nullptr))) return wrong("it does not start with all reasons gone");
  for (const Reason& reason : reasons_) {
    if (is_cause(reason) && starts(without(&reason))) {
      return wrong(fmt::format("it starts with a reason left: {} {}", codec::word(reason.kind),
                               reason.resource));
    }
    if (auto found = check_number(reason)) return found;
    if (reason.kind != ReasonKind::kAhead) continue;
    if (auto found = check_order(reason)) return found;
  }
  return check_others();
}

}  // namespace

std::optional<std::string> find_wrong_reason(const State& state, const core::Policies& policies,
                                             JobId job) {
  return WhyCheck(state, policies, job).run();
}

}  // namespace dove::sim
