// The fold of decisions: how each changes the State.
#include <algorithm>

#include "core/collections/sorted.h"
#include "core/state/apply.h"
#include "core/state/books.h"
#include "core/state/dependency.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/placeholders.h"
#include "core/state/findings.h"
#include "core/state/fold.h"
#include "core/state/learned/learned.h"
#include "core/state/lost/lost_nodes.h"
#include "core/state/past/count_forgotten.h"
#include "core/state/round_robin.h"
#include "core/state/running/hang.h"
#include "core/state/running/sessions.h"

namespace dove::core {
namespace {

StopReason reason_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNone:
    case Outcome::kDependencyNeverMet:
    case Outcome::kDeadlineMissed:
      return StopReason::kNone;
    case Outcome::kCompleted:
      return StopReason::kFinished;
    case Outcome::kFailed:
      return StopReason::kTaskFailed;
    case Outcome::kCancelled:
      return StopReason::kCancelled;
    case Outcome::kTimedOut:
      return StopReason::kTimeLimit;
    case Outcome::kStoppedIdle:
      return StopReason::kIdle;
    case Outcome::kNodeLost:
      return StopReason::kNodeLost;
  }
  return StopReason::kNone;
}

class DecisionFold {
 public:
  explicit DecisionFold(State& state) : state_(state) {}

  void operator()(const Launch& decision) {
    Job* job = state_.find_job(decision.job);
    // The fold does not trust decisions, as another version of the program made them: what no
    // longer holds is passed over.
    if (job == nullptr || job->phase != JobPhase::kWaiting) return;
    // From now on it does not matter what becomes of what it depended on.
    if (job->eligible_at.us == 0) {
      job->eligible_at = std::min(state_.now, startable_at(state_, *job));
    }
    Attempt attempt;
    attempt.number = decision.attempt;
    attempt.allocated_at = state_.now;
    attempt.placements.reserve(decision.placements.size());
    for (const SharedPlacement& placement : decision.placements) {
      attempt.placements.push_back({placement, PlacementStage::kOrdered});
    }
    set_stage(state_, attempt, Stage::kPreparing);
    job->attempts.push_back(std::move(attempt));
    job->phase = JobPhase::kActive;
    job->at_head = false;
    // Before the places are taken: they may be the promised ones.
    release_promise(job->id);
    learn_leaves(state_, *job);
    count_waiting(state_, *job, -1);
    count_running(state_, *job, +1);
    for (const Placement& placement : decision.placements) {
      Node& node = *state_.find_node(placement.node);
      allocate(node, placement);
      // Sorted, so that whoever goes over the jobs of a node does so by age.
      add_sorted(node.jobs, job->id);
      count_placement(state_, *job, placement, +1);
      if (want_placeholders(state_, node, job->id, decision.attempt)) {
        // Other executors have to keep off before it may start (decision 18).
        job->attempts.back().held_back = true;
      }
      state_.changes.allocate(node.id);
    }
    state_.changes.touch(job->id);
    // Last, as the cursor of ties follows where it was really put.
    move_cursor(*job->spec, decision.placements);
  }

  void operator()(const Start& decision) {
    Attempt* attempt = attempt_of(decision.job, decision.attempt);
    // Another attempt, or one that is being stopped, is not started by an old decision.
    if (attempt != nullptr && attempt->stage == Stage::kBarrier) {
      set_stage(state_, *attempt, Stage::kStarting);
    }
  }

  void operator()(const Stop& decision) {
    Attempt* attempt = attempt_of(decision.job, decision.attempt);
    if (attempt == nullptr || attempt->stage == Stage::kStopping) return;
    if (decision.reason == StopReason::kLaunchFailed) avoid_unanswering(*attempt, decision.job);
    if (decision.reason == StopReason::kPlaceholder) avoid_unconfirmed(*attempt, decision.job);
    const auto hang = state_.hangs.find(decision.job);
    // Only one rank hung: that node is avoided. If several did, nobody knows which is to blame.
    if (decision.reason == StopReason::kHung && hang != state_.hangs.end() && hang->second.is_one) {
      avoid(*state_.find_job(decision.job), hang->second.node);
    }
    // The first reason stands: what follows is its consequence.
    if (attempt->stop_reason == StopReason::kNone) attempt->stop_reason = decision.reason;
    attempt->stop_at = state_.now;
    // The exits up to now are the job's own; those after it are our doing.
    attempt->exits_at_stop = static_cast<std::uint32_t>(attempt->exits.size());
    if (decision.reason == StopReason::kPreempted) {
      Job& job = *state_.find_job(decision.job);
      ++job.preemptions;
      job.preempted_at = state_.now;
      // It lost its place by no fault of its own, so it does not queue again.
      const bool by_node =
          decision.purpose == Purpose::kOutage && is_on_untrusted(*attempt, job.id);
      if (by_node) job.at_head = true;
    }
    set_stage(state_, *attempt, Stage::kStopping);
  }

  void operator()(const DeclareNodeLost& decision) {
    Node* node = state_.find_node(decision.node);
    if (node == nullptr || node->contact == Contact::kLost) return;
    lose_node(state_, *node);
  }

  void operator()(const Requeue& decision) {
    Job* job = state_.find_job(decision.job);
    if (job == nullptr || job->phase != JobPhase::kActive) return;
    job->requeues_in_a_row = requeues_after(state_, *job, decision.reason);
    if (decision.held) job->held = true;
    end_attempt(*job, decision.reason);
    if (decision.counted) ++job->retries_used;
    if (decision.reason == StopReason::kRequeued && state_.level > kFirstLevel) run_anew(*job);
    // The tests before the start failed: it has had nothing yet, and does not wait again.
    if (decision.reason == StopReason::kPreflight) job->at_head = true;
    if (decision.pause.us > 0) job->not_before = state_.now + decision.pause;
    if (decision.reason == StopReason::kPlaceholder) {
      // An executor that does not confirm is asked less and less often.
      job->not_before =
          state_.now +
          (only_gets_room(state_, *job->spec) ? room_backoff(*job) : placeholder_backoff(*job));
    }
    job->requeue_requested = false;
    job->phase = JobPhase::kWaiting;
    learn_waits(state_, *job);
    count_running(state_, *job, -1);
    count_waiting(state_, *job, +1);
    // Limits may let in others.
    state_.changes.note_usage_fell();
  }

  void operator()(const EndJob& decision) {
    Job* job = state_.find_job(decision.job);
    // A job that was forgotten has ended.
    if (job == nullptr) return;
    switch (job->phase) {
      case JobPhase::kWaiting:
        learn_leaves(state_, *job);
        count_waiting(state_, *job, -1);
        state_.changes.touch(job->id);
        break;
      case JobPhase::kActive:
        end_attempt(*job, reason_of(decision.outcome));
        count_running(state_, *job, -1);
        state_.changes.note_usage_fell();
        break;
      case JobPhase::kEnded:
        return;
    }
    // While its phase still says what it was: learn_end and the counts read that.
    count_asked(state_, *job, -1);
    if (job->phase == JobPhase::kActive) learn_end(state_, *job);
    job->phase = JobPhase::kEnded;
    release_promise(job->id);
    job->outcome = decision.outcome;
    job->exit_code = decision.exit_code;
    job->ended_at = state_.now;
    job->requeue_requested = false;
  }

  void operator()(const ForgetJob& decision) {
    const Job* job = state_.find_job(decision.job);
    if (job == nullptr) return;
    if (decision.counted) count_forgotten(state_, *job);
    state_.jobs.erase(decision.job);
    forget_session(state_, decision.job);
    state_.changes.touch(decision.job);
  }

  void operator()(const Promise& decision) {
    // Started or ended since: there is nothing to promise.
    const Job* job = state_.find_job(decision.job);
    if (job == nullptr || job->phase != JobPhase::kWaiting) return;
    // Another promise than before: others may start on the old places, and fewer on the new ones.
    if (release_promise(job->id)) {
      for (const Placement& placement : decision.placements)
        state_.changes.allocate(placement.node);
    }
    state_.promises[job->id] = {decision.start_at, state_.now, decision.placements,
                                decision.cleared};
    state_.changes.touch(job->id);
  }

  void operator()(const Withdraw& decision) {
    if (release_promise(decision.job)) state_.changes.touch(decision.job);
  }

  void operator()(const MoveNode& decision) {
    Node* node = state_.find_node(decision.node);
    if (node == nullptr || node->removed) return;
    node->life = decision.to;
    node->life_since = state_.now;
    node->life_why = decision.why;
    node->life_who = decision.who;
    node->remedy = decision.remedy;
    // Each stage asks anew; the former answer was to something else.
    node->answer = Answer::kAwaited;
    // To be drained outlasts a repair that came in between, and to be expelled everything.
    const NodeAction asked = node->request.action;
    const bool met = decision.to == LifeStage::kProduction && asked != NodeAction::kDrain &&
                     asked != NodeAction::kExpel;
    if (met || asked == NodeAction::kResume) node->request = {};
    state_.changes.touch(node->id);
  }

 private:
  // Others may start on what is promised no more.
  // The nodes are touched, as what a promise keeps free counts as changed books.
  bool release_promise(JobId id) {
    const auto promise = state_.promises.find(id);
    if (promise == state_.promises.end()) return false;
    for (const Placement& placement : promise->second.placements)
      state_.changes.touch(placement.node);
    state_.promises.erase(promise);
    return true;
  }

  void move_cursor(const JobSpec& spec, const std::vector<SharedPlacement>& placements) {
    if (!is_round_robin(state_.settings) || !moves_cursor(spec) || placements.empty()) return;
    const Pool* pool = pool_of(state_, spec);
    if (pool != nullptr) state_.round_robin[pool->name] = placements.front()->node;
  }

  Attempt* attempt_of(JobId id, AttemptNumber number) {
    Job* job = state_.find_job(id);
    Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
    // The number: orders and reports are keyed by attempt, and the latest may be a newer one.
    if (attempt == nullptr || attempt->number != number) return nullptr;
    state_.changes.touch(id);
    return attempt;
  }

  void end_attempt(Job& job, StopReason reason) {
    Attempt& attempt = job.attempts.back();
    // Ended without a stop: the decision that ends it says why.
    if (attempt.stop_reason == StopReason::kNone) attempt.stop_reason = reason;
    attempt.ended_at = state_.now;
    // What never started has run for no time, and teaches nothing.
    if (attempt.started_at.us != 0) {
      const Span before = job.ran_before;
      job.ran_before = before + (state_.now - attempt.started_at);
      learn_attempt(state_, job, before);
    }
    set_stage(state_, attempt, Stage::kEnded);
    end_hang(state_, job.id);
    if (attempt.stop_reason != StopReason::kIdle) end_idle(state_, job.id);  // else it says why
    state_.changes.touch(job.id);
  }

  // Asked for while its attempt was stopped for what would have ended the job.
  void run_anew(Job& job) {
    end_idle(state_, job.id);
    if (job.attempts.back().stop_reason == StopReason::kTimeLimit) job.ran_before = {};
  }

  bool is_on_untrusted(const Attempt& attempt, JobId job) const {
    return std::any_of(
        attempt.placements.begin(), attempt.placements.end(), [&](const PlacementRecord& record) {
          return is_untrusted(state_, *state_.find_node(record.placement->node), job);
        });
  }

  // A deadline has passed: the next attempt goes elsewhere, if it can.
  void avoid_unanswering(const Attempt& attempt, JobId id) {
    // By what was asked of it last: a start is answered by "started", all before by "prepared".
    const PlacementStage answered =
        attempt.stage == Stage::kStarting ? PlacementStage::kStarted : PlacementStage::kPrepared;
    for (const PlacementRecord& record : attempt.placements) {
      if (record.stage < answered) avoid(*state_.find_job(id), record.placement->node);
    }
  }

  void avoid_unconfirmed(const Attempt& attempt, JobId id) {
    each_placeholder(state_, id, attempt.number,
                     [&](const PlaceholderKey& key, const Placeholder& placeholder) {
                       // Those that did confirm are not to blame.
                       if (placeholder.stage == PlaceholderStage::kConfirmed) return;
                       avoid(*state_.find_job(id), key.node);
                     });
  }

  State& state_;
};

}  // namespace

void apply(State& state, const Decision& decision) {
  ++state.head.value;
  std::visit(DecisionFold(state), decision);
}

}  // namespace dove::core
