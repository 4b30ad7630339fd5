// The fold of events: how each changes the State.
#include <algorithm>

#include "base/check.h"
#include "core/state/apply.h"
#include "core/state/books.h"
#include "core/state/boot/boots.h"
#include "core/state/declared/fold_declared.h"
#include "core/state/executors/fold_executors.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/unwatched.h"
#include "core/state/findings.h"
#include "core/state/fold.h"
#include "core/state/health.h"
#include "core/state/learned/learned.h"
#include "core/state/lost/lost_nodes.h"
#include "core/state/people.h"
#include "core/state/restored/restored.h"
#include "core/state/running/hang.h"
#include "core/state/running/sessions.h"
#include "core/state/usage.h"

namespace dove::core {
namespace {

class EventFold {
 public:
  EventFold(State& state, const Cause& cause) : state_(state), cause_(cause) {}

  // Silence starts anew for every node, and orders are sent anew: their deadlines too.
  void operator()(const ControllerStarted& event) {
    raise_level(state_, event.level);
    for (Node& node : state_.nodes) {
      // What was lost stays lost: its placements have ended, and its tasks may run elsewhere.
      if (node.contact == Contact::kLost) continue;
      // Nobody calls from there: its executor has a contact of its own.
      if (!has_agent(node)) continue;
      set_contact(state_, node, Contact::kSilent);
      node.awaited = true;
    }
    node_settled(state_);  // a cluster without nodes waits for none
    for (auto& [id, job] : state_.jobs) {
      if (Attempt* attempt = current_attempt(job)) {
        // From now on, or every deadline that passed while nobody listened would stop an attempt at
        // once.
        attempt->stage_at = state_.now;
        state_.changes.touch(id);
      }
    }
    renew_idle(state_);
  }

  // Time passes by the batch's stamp; the event only makes the batch.
  void operator()(const TimeReached&) {}

  void operator()(const JobSubmitted& event) {
    const auto& indices = event.spec->array.indices;
    // An array is one record, and as many jobs. All share the spec.
    const std::size_t count = std::max<std::size_t>(indices.size(), 1);
    const Job first = job_of(state_, event.spec);
    for (std::size_t i = 0; i < count; ++i) {
      Job job = first;
      job.id = JobId(state_.next_job++);
      if (!indices.empty()) job.array_index = indices[i];
      // Learned and counted before it is in the state: the job is as it will be, and nobody has
      // seen it yet.
      learn_waits(state_, job);
      count_waiting(state_, job, +1);
      count_asked(state_, job, +1);
      state_.changes.touch(job.id);
      const JobId id = job.id;
      state_.jobs.emplace(id, std::move(job));
    }
  }

  void operator()(const JobCancelRequested& event) {
    change(event.job, [this](Job& job) {
      if (job.phase == JobPhase::kEnded) return;
      if (!job.cancel_requested) job.cancelled_by = cause_.principal;
      job.cancel_requested = true;
    });
  }

  void operator()(const JobHeld& event) {
    change(event.job, [](Job& job) {
      // An active job cannot be held, except that it will wait again once its requeue is carried
      // out.
      if (job.phase == JobPhase::kWaiting || job.requeue_requested) job.held = true;
    });
  }

  void operator()(const JobReleased& event) {
    change(event.job, [](Job& job) {
      job.held = false;
      // Somebody has looked at it: the count of failures in a row begins anew.
      job.requeues_in_a_row = 0;
    });
  }

  void operator()(const JobRequeueRequested& event) {
    change(event.job, [this](Job& job) {
      switch (job.phase) {
        case JobPhase::kWaiting:
          return;
        // The attempt has to be stopped first; a decision does that.
        case JobPhase::kActive:
          job.requeue_requested = true;
          return;
        // A new life: what earlier attempts used up or avoided does not count against it.
        case JobPhase::kEnded:
          job.phase = JobPhase::kWaiting;
          job.outcome = Outcome::kNone;
          job.exit_code = 0;
          job.ended_at = {};
          job.retries_used = 0;
          job.requeues_in_a_row = 0;
          job.cancel_requested = false;
          job.cancelled_by.clear();
          job.requeue_requested = false;
          job.nodes_avoided.clear();
          // Programs of the first level kept its idle notice and the time that it had used up.
          if (state_.level > kFirstLevel) {
            end_idle(state_, job.id);
            job.ran_before = {};
          }
          learn_waits(state_, job);
          count_waiting(state_, job, +1);
          count_asked(state_, job, +1);
          return;
      }
    });
  }

  void operator()(const JobPriorityChanged& event) {
    change(event.job, [&](Job& job) { job.priority = event.priority; });
    // Others may come before it now, whom its promise does not bind.
    const auto promise = state_.promises.find(event.job);
    if (promise == state_.promises.end()) return;
    for (const Placement& placement : promise->second.placements)
      state_.changes.touch(placement.node);
  }

  void operator()(const NodeRegistered& event) {
    // A token to join with is good for one node. It is spent by the record that it let in.
    const bool joins = state_.join_tokens.erase(cause_.body_sha256) > 0;
    const Node* known = state_.find_node(event.name);
    if (known != nullptr && !may_register(*known, event, joins)) return;
    if (known == nullptr) {
      Node node;
      // Ids are dense and never used again: a removed node keeps its own, for the jobs that name
      // it.
      node.id = NodeId(static_cast<std::uint32_t>(state_.nodes.size() + 1));
      node.name = event.name;
      node.contact_since = state_.now;
      node.declared.name = event.name;
      const bool is_tested = event.backend == kNative_backend && state_.settings.node_tests;
      if (is_tested) move(node, LifeStage::kOnboard, "joined");
      // It may have been declared before it was ever seen.
      const auto declared = state_.node_declarations.find(event.name);
      if (declared != state_.node_declarations.end()) node.declared = declared->second;
      state_.nodes.push_back(std::move(node));
      known = &state_.nodes.back();
    }
    Node& node = *state_.find_node(known->id);
    if (is_expelled(node)) node.request = {};
    // An agent that comes where an executor alone was is not there yet.
    const bool was_here = !node.boot_id.empty() && !node.removed &&
                          node.contact != Contact::kLost && node.backend == event.backend;
    // Another boot is proof that nothing of the one before still runs (decision 2).
    if (node.boot_id != event.boot_id) booted(node);
    node.boot_id = event.boot_id;
    node.machine_id = event.machine_id;
    node.backend = event.backend;
    node.address = event.address;
    node.agent_token_sha256 = event.agent_token_sha256;
    // Shared and never changed in place: equal pointers are equal inventories.
    const auto before = std::exchange(node.inventory, event.inventory);
    node.removed = false;
    if (!was_here) {
      set_contact(state_, node, has_agent(node) ? Contact::kSilent : Contact::kConnected);
    }
    settle_executors(state_, node);
    rebuild_books(state_, node);
    if (state_.counts_models && before != nullptr && before->devices != node.inventory->devices) {
      // What was counted as one model may be another now.
      rebuild_usage(state_);
      state_.changes.note_declared();
      return;
    }
    state_.changes.touch(node.id);
  }

  void operator()(const NodeConnected& event) {
    Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed) return;
    // Its sync was under way, and its agent may believe that it is counted on.
    if (is_expelled(*node)) return expel_node(state_, *node);
    // A reboot may be noticed here first, when the agent came back faster than its silence was.
    if (node->boot_id != event.boot_id) {
      booted(*node);
      node->boot_id = event.boot_id;
    }
    const bool was_awaited = std::exchange(node->awaited, false);
    const ClusterSettings& settings = state_.settings;
    // What the agent was told it may count on. Fences are computed from that, not from settings
    // that changed since.
    node->agreed = {settings.fence, settings.disconnect_grace, settings.outage_grace};
    node->version = event.version;
    node->preflight_port = event.preflight_port;
    if (node->contact != Contact::kConnected) set_contact(state_, *node, Contact::kConnected);
    if (was_awaited) node_settled(state_);
  }

  void operator()(const NodeDisconnected& event) {
    Node* node = state_.find_node(event.node);
    if (node == nullptr) return;
    switch (node->contact) {
      case Contact::kConnected:
        // A broken connection is proof that the agent is not reached from now on, silence only that
        // it may be not: the waits differ.
        set_contact(state_, *node, event.silent ? Contact::kSilent : Contact::kBroken);
        return;
      case Contact::kBroken:
      case Contact::kSilent:
        // Its agent may have been told since that it is counted on: a grace anew.
        if (event.silent) set_contact(state_, *node, Contact::kSilent);
        return;
      case Contact::kLost:
        return;
    }
  }

  void operator()(const NodeRemoved& event) {
    Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed) return;
    // An administrator's word that the machine is gone is the one proof that nobody checks.
    lose_node(state_, *node);
    node->removed = true;
  }

  void operator()(const NodeDeclaredOff& event) {
    // Off, not gone: it may come back and register.
    Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed || node->contact == Contact::kLost) return;
    lose_node(state_, *node);
  }

  void operator()(const PlacementPrepared& event) {
    report(event, [](Attempt&, PlacementRecord& record) {
      // A report may come twice, or late. It only ever moves the stage forward.
      if (record.stage == PlacementStage::kOrdered) record.stage = PlacementStage::kPrepared;
    });
  }

  void operator()(const PlacementStarted& event) {
    report(event, [&](Attempt& attempt, PlacementRecord& record) {
      record.stage = PlacementStage::kStarted;
      note_start(attempt, event.started_ago);
    });
  }

  void operator()(const TaskEnded& event) {
    report(event, [&](Attempt& attempt, PlacementRecord&) { add_exit(attempt, event.exit); });
  }

  void operator()(const PlacementEnded& event) {
    report(event, [&](Attempt& attempt, PlacementRecord& record) {
      for (const TaskExit& exit : event.exits) add_exit(attempt, exit);
      if (event.started_ago.us > 0) note_start(attempt, event.started_ago);
      end_placement(state_, *state_.find_job(event.job), record);
    });
  }

  void operator()(const LaunchFailed& event) {
    report(event, [&](Attempt& attempt, PlacementRecord& record) {
      Job& job = *state_.find_job(event.job);
      end_placement(state_, job, record);
      // Somebody stopped it already, and knows a better reason.
      if (attempt.stop_reason != StopReason::kNone) return;
      attempt.stop_reason = StopReason::kLaunchFailed;
      avoid(job, event.node);
    });
  }

  void operator()(const UnknownTaskObserved& event) { adopt(state_, event); }
  void operator()(const CallsRefused&) {}
  // The instants of the batches say what became of the time.
  void operator()(const ClockLeapt&) {}
  void operator()(const ClockAccepted&) {}
  void operator()(const LevelRaised& event) { raise_level(state_, event.level); }

  void operator()(const ObjectApplied& event) { fold_applied(state_, event.object); }
  void operator()(const ObjectDeleted& event) { fold_deleted(state_, event); }

  void operator()(const ForeignAllocationObserved& event) { fold(state_, event); }
  void operator()(const ForeignAllocationEnded& event) { fold(state_, event); }
  void operator()(const ForeignWatchResumed& event) { fold(state_, event); }
  void operator()(const ForeignUseFound& event) { fold(state_, event); }
  void operator()(const PlaceholderMoved& event) { fold(state_, event); }
  void operator()(const ExecutorContactChanged& event) { fold(state_, event); }
  void operator()(const ExecutorNodeObserved& event) { fold(state_, event); }

  void operator()(const JoinTokenIssued& event) { fold(state_, event); }
  void operator()(const BootArmed& event) { fold(state_, event); }
  void operator()(const BootTokenIssued& event) { fold(state_, event); }

  void operator()(const KeyIssued& event) { add_key(state_, event); }
  void operator()(const KeyRevoked& event) {
    std::erase_if(state_.keys, [&](const auto& entry) { return entry.second.id == event.id; });
  }

  void operator()(const CheckpointTaken& event) {
    change(event.job, [&](Job& job) {
      Attempt* attempt = current_attempt(job);
      if (attempt == nullptr || attempt->number != event.attempt) return;
      job.checkpoint_at = state_.now;
      attempt->saved_at = state_.now;
    });
  }

  void operator()(const FindingReported& event) {
    Node* node = state_.find_node(event.node);
    if (node != nullptr && !node->removed) open_finding(state_, *node, event.finding);
  }

  void operator()(const NodeActionRequested& event) {
    Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed || is_expelled(*node)) return;
    node->request = {event.action, event.now, event.by, event.why, cause_.principal};
    if (is_expelled(*node)) return expel_node(state_, *node);
    const bool resumed =
        event.action == NodeAction::kResume && node->life == LifeStage::kProduction;
    if (resumed) node->request = {};
    state_.changes.touch(node->id);
  }

  void operator()(const NodeTested& event) {
    Node* node = state_.find_node(event.node);
    if (node == nullptr || node->life != LifeStage::kTest) return;
    // Asked once, answered once: a second answer belongs to a former test.
    if (node->answer != Answer::kAwaited) return;
    node->answer = event.passed ? Answer::kDone : Answer::kFailed;
    if (event.passed) {
      close_findings(state_, *node);
      return settle_executors(state_, *node);
    }
    open_finding(state_, *node, {"node_test", Severity::kFault, Remedy::kNone, -1, event.evidence});
  }

  void operator()(const RemedyEnded& event) {
    Node* node = state_.find_node(event.node);
    if (node == nullptr || node->life != LifeStage::kRepair) return;
    if (node->remedy != event.remedy || node->answer != Answer::kAwaited) return;
    node->answer = event.done ? Answer::kDone : Answer::kFailed;
    node->life_why = event.why;
    state_.changes.touch(node->id);
  }

  // The next attempt goes elsewhere. Where the network failed both ends are avoided: which of them
  // is to blame is for the votes of others to say.
  void operator()(const PreflightFailed& event) {
    report(event, [&](Attempt& attempt, PlacementRecord& record) {
      Job& job = *state_.find_job(event.job);
      end_placement(state_, job, record);
      avoid(job, event.node);
      if (state_.find_node(event.peer) != nullptr && event.peer != event.node) {
        avoid(job, event.peer);
        vote_on_link(state_, event.node, event.peer);
      } else {
        open_finding(state_, *state_.find_node(event.node),
                     {std::string(kPreflight_check), Severity::kFault, Remedy::kNone, -1,
                      event.check + ": " + event.evidence});
      }
      if (attempt.stop_reason == StopReason::kNone) attempt.stop_reason = StopReason::kPreflight;
    });
  }

  // What a job says counts for links between its own nodes alone.
  void operator()(const LinkBlamed& event) {
    report(event, [&](Attempt& attempt, PlacementRecord&) {
      const bool is_peer = event.peer != event.node && find_placement(attempt, event.peer);
      if (!is_peer || attempt.started_at.us == 0 || !state_.settings.job_link_votes) return;
      vote_on_link(state_, event.node, event.peer, event.job);
    });
  }

  void operator()(const ProgressReported& event) {
    report(event, [&](Attempt& attempt, PlacementRecord& record) {
      fold_progress(state_, attempt, record, event);
    });
  }

  void operator()(const ExecStarted&) {}  // for the record alone

  void operator()(const HangObserved& event) {
    report(event, [&](Attempt&, PlacementRecord&) {
      fold_hang(state_, *state_.find_job(event.job), event);
    });
  }

  void operator()(const IdleObserved& event) {
    Job* job = state_.find_job(event.job);
    const Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
    // Reports of an earlier attempt say nothing about this one.
    if (attempt == nullptr || attempt->number != event.attempt) return;
    fold_idle(state_, *job, event);
    state_.changes.touch(event.job);
  }

  void operator()(const IdleEnded& event) {
    const auto idle = state_.idle.find(event.job);
    if (idle == state_.idle.end() || idle->second.attempt != event.attempt) return;
    end_idle(state_, event.job);
    state_.changes.touch(event.job);
  }

  void operator()(const JobKept& event) {
    change(event.job, [&](Job& job) { fold_kept(state_, job, event); });
  }

  void operator()(const JobShared& event) {
    change(event.job, [&](Job& job) { fold_shared(state_, job, event); });
  }

  void operator()(const ClusterRestored& event) { fold_restored(state_, event); }

  void operator()(const HangEnded& event) {
    const auto hang = state_.hangs.find(event.job);
    if (hang == state_.hangs.end() || hang->second.attempt != event.attempt) return;
    end_hang(state_, event.job);
    state_.changes.touch(event.job);
  }

 private:
  void move(Node& node, LifeStage to, const char* why) {
    node.life = to;
    node.life_since = state_.now;
    node.life_why = why;
  }

  // Nothing of its former life is left, and a reboot that was asked for is done.
  void booted(Node& node) {
    lose_placements(state_, node);
    const bool asked = node.life == LifeStage::kRepair && node.remedy != Remedy::kNone &&
                       node.remedy != Remedy::kAgent;
    if (asked && node.answer == Answer::kAwaited) node.answer = Answer::kDone;
  }

  template <class Change>
  void change(JobId id, Change change_job) {
    Job* job = state_.find_job(id);
    if (job == nullptr) return;
    change_job(*job);
    state_.changes.touch(id);
  }

  // Reports about attempts that are over, or placements that have ended, change nothing.
  template <class Event, class Change>
  void report(const Event& event, Change change_placement) {
    Job* job = state_.find_job(event.job);
    Attempt* attempt = job == nullptr ? nullptr : current_attempt(*job);
    if (attempt == nullptr || attempt->number != event.attempt) return;
    PlacementRecord* record = find_placement(*attempt, event.node);
    if (record == nullptr || record->stage == PlacementStage::kEnded) return;
    change_placement(*attempt, *record);
    advance_stage(state_, *attempt);
    state_.changes.touch(event.job);
  }

  void note_start(Attempt& attempt, Span ago) const {
    // The first start counts; ranks of a gang report one after the other.
    if (attempt.started_at.us != 0) return;
    // Agents say how long ago, not when: their clocks are not trusted. Nothing starts before it was
    // allocated.
    attempt.started_at = std::max(attempt.allocated_at, Instant{state_.now.us - ago.us});
  }

  State& state_;
  const Cause& cause_;
};

}  // namespace

void begin_batch(State& state, Instant at, Epoch epoch) {
  CHECK(at >= state.now, "time never goes back");
  CHECK(epoch >= state.epoch, "epochs never go back");
  state.now = at;
  state.epoch = epoch;
  // What was settled in one batch is settled again in the next: time has passed.
  state.settled = {};
}

void apply(State& state, const StampedEvent& event) {
  // Every record moves the head, also one that changes nothing: it is the log's position, and equal
  // on every replica.
  ++state.head.value;
  std::visit(EventFold(state, event.cause), event.event);
}

}  // namespace dove::core
