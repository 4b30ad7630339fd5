// May this be done: events that people and machines ask for, checked before they are logged.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/admit/admit.h"
#include "core/admit/admit_boot.h"
#include "core/admit/admit_executor.h"
#include "core/admit/admit_people.h"
#include "core/nodes/contact.h"
#include "core/place/score_board.h"
#include "core/queue/queue_tree.h"
#include "core/state/executors/foreign.h"

namespace dove::core {
namespace {

Error conflict(const char* code, std::string message) {
  return Error{ErrorKind::kConflict, code, std::move(message), ""};
}

Error not_found(const char* what, std::uint64_t id) {
  return Error{ErrorKind::kNotFound, fmt::format("{}_unknown", what),
               fmt::format("there is no {} {}", what, id), ""};
}

// Its machine is not ours to speak of.
Error stays_with_executor(const Node& node) {
  return conflict("no_agent", fmt::format("node {0} has no agent: it is there as long as the "
                                          "Executor {1} names it",
                                          node.name, node.backend));
}

// Most events are facts: they are recorded, not asked about. The overloads are the exceptions.
class Admission {
 public:
  Admission(const State& state, const Policies& policies) : state_(state), policies_(policies) {}

  template <class Fact>
  Result<void> operator()(const Fact&) const {
    return {};
  }

  // Warnings are for whoever submits, and are no part of the verdict.
  Result<void> operator()(const JobSubmitted& event) const {
    const auto admitted = admit(state_, *event.spec);
    if (!admitted.ok()) return admitted.error();
    return {};
  }

  // What a person asks of a job is refused once it has ended: accepted and without effect would
  // look like success.
  Result<void> operator()(const JobCancelRequested& event) const { return not_ended(event.job); }
  Result<void> operator()(const JobPriorityChanged& event) const {
    if (event.priority < -1'000'000 || event.priority > 1'000'000) {
      return Error{ErrorKind::kInvalid, "priority_out_of_range", "priority is -1000000 to 1000000",
                   "priority"};
    }
    return not_ended(event.job);
  }
  Result<void> operator()(const JobReleased& event) const { return not_ended(event.job); }
  Result<void> operator()(const JobShared& event) const {
    constexpr std::size_t kSharedMax = 200;
    TRY(not_ended(event.job));
    if (event.users.size() <= kSharedMax) return {};
    return conflict("shared_too_much",
                    fmt::format("a job is shared with {} users at most", kSharedMax));
  }

  Result<void> operator()(const JobHeld& event) const {
    TRY(not_ended(event.job));
    const Job* job = state_.find_job(event.job);
    // A job that is on its way back to the queue waits soon, and can be told now to stay there.
    if (job->phase == JobPhase::kWaiting || job->requeue_requested) return {};
    return conflict("job_active",
                    fmt::format("job {} has been started: requeue or cancel it", event.job.value));
  }

  // An ended job may be requeued too: it begins a new life under its old number.
  Result<void> operator()(const JobRequeueRequested& event) const {
    const Job* job = state_.find_job(event.job);
    if (job == nullptr) return not_found("job", event.job.value);
    switch (job->phase) {
      case JobPhase::kWaiting:
        return conflict("job_waiting", fmt::format("job {} is waiting already", event.job.value));
      case JobPhase::kActive:
        return {};
      case JobPhase::kEnded:
        break;
    }
    return admit_again(state_, *job);
  }

  Result<void> operator()(const CheckpointTaken& event) const {
    const Job* job = state_.find_job(event.job);
    if (job == nullptr) return not_found("job", event.job.value);
    // A late call of an earlier attempt must not mark work as saved that the present one has not
    // done.
    const bool runs =
        job->phase == JobPhase::kActive && job->attempts.back().number == event.attempt;
    if (runs) return {};
    return conflict("not_running", fmt::format("job {} is not running, so it has nothing to save",
                                               event.job.value));
  }

  // Removing a node takes its work as ended (core/state/apply_event.cc). A connected agent shows
  // that it has not.
  Result<void> operator()(const NodeRemoved& event) const {
    const Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed) return not_found("node", event.node.value);
    TRY(check_removal(state_, *node));
    if (!has_agent(*node)) return stays_with_executor(*node);
    // Its silence is our doing, and shows nothing.
    if (is_expelled(*node) && node->contact != Contact::kLost) return is_leaving(*node);
    if (node->contact != Contact::kConnected) return {};
    return conflict("node_connected",
                    fmt::format("node {0} is connected: stop its agent first, or cut it off with "
                                "`dove node expel {0}`",
                                node->name));
  }

  // The same word for a machine that comes back. It is taken as proof, so it is refused where the
  // node itself contradicts it.
  Result<void> operator()(const NodeDeclaredOff& event) const {
    const Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed) return not_found("node", event.node.value);
    if (!has_agent(*node)) return stays_with_executor(*node);
    if (node->contact != Contact::kConnected) return {};
    return conflict("node_connected",
                    fmt::format("node {} is connected, so its machine is not off", node->name));
  }

  // The only report that is asked about: it may end what runs elsewhere.
  Result<void> operator()(const NodeRegistered& event) const {
    // The agent itself, or its machine booted anew, is let in at once. Another machine under the
    // same name would share the node's ids with tasks that may still run.
    const Node* node = state_.find_node(event.name);
    if (node == nullptr || comer(*node, event) != Comer::kStranger) return {};
    if (!has_agent(*node)) {
      return conflict(
          "node_has_jobs",
          fmt::format("{} runs jobs on node {}, which has no agent so far. Drain it there and let "
                      "the agent join once they have ended",
                      node->backend, node->name));
    }
    if (node->contact == Contact::kConnected) {
      return conflict(
          "node_exists_elsewhere",
          fmt::format("an agent named {0} is connected from another machine, or from another copy "
                      "of this agent's directory; its work goes on there. On this machine, stop "
                      "the agent, empty its data directory, and let it join under a name of its "
                      "own (`dove join-token create NAME`)",
                      node->name));
    }
    // From then on the fence has passed, and nothing of the former machine can still run (decision
    // 2).
    const Instant at = lost_at(state_, *node);
    return conflict(
        "node_not_proven",
        fmt::format("tasks of node {0} may still run on the machine that was last heard of under "
                    "this name, and this one does not prove to be that machine, booted anew. It is "
                    "let in {1} s from now at the latest, or at once when an administrator says "
                    "that the other one is off (`dove node lost {0} --is-off`). If both are to "
                    "run, give this one a name and an empty data directory of its own",
                    node->name, (at - state_.now).us / 1'000'000));
  }

  Result<void> operator()(const NodeActionRequested& event) const {
    const Node* node = state_.find_node(event.node);
    if (node == nullptr || node->removed) return not_found("node", event.node.value);
    if (is_expelled(*node)) return is_leaving(*node);
    const bool needs_agent =
        event.action != NodeAction::kDrain && event.action != NodeAction::kResume;
    if (needs_agent && !has_agent(*node)) {
      return conflict("no_agent",
                      fmt::format("node {} has no agent that could do that: {} alone knows it",
                                  node->name, node->backend));
    }
    if (event.action == NodeAction::kExpel) return check_expulsion(event);
    // A time in the past would stop everything at once, which is what `now` is for.
    if (event.by.us == 0 || event.by > state_.now) return {};
    return Error{ErrorKind::kConflict, "time_passed",
                 "the time has passed: name a later one, or say `now`", "by"};
  }

  Result<void> operator()(const BootArmed& event) const { return check_boot(state_, event); }
  Result<void> operator()(const BootTokenIssued& event) const { return check_boot(state_, event); }

  Result<void> operator()(const KeyIssued& event) const { return check_key(state_, event.key); }

  // A code is good once: of two that show it, one finds it gone.
  Result<void> operator()(const KeyRevoked& event) const {
    const auto found = state_.keys.lower_bound(event.id);
    if (found != state_.keys.end() && found->second.id == event.id) return {};
    return Error{ErrorKind::kNotFound, "no_such_key",
                 fmt::format("there is no key {}, or no longer", event.id), "id"};
  }

  Result<void> operator()(const ObjectApplied& event) const {
    // Objects are folded as they are. What would leave the state inconsistent, or silently without
    // effect, is refused here; all else is a warning (declared_warnings).
    if (const auto* queue = std::get_if<Queue>(&event.object)) return check_queue(*queue);
    if (const auto* cluster = std::get_if<ClusterSettings>(&event.object)) {
      TRY(check_order(cluster->order));
      return check_placement(cluster->placement);
    }
    if (const auto* executor = std::get_if<Executor>(&event.object)) {
      TRY(check_executor(state_, *executor));
    }
    if (const auto* reservation = std::get_if<Reservation>(&event.object)) {
      const auto known = state_.reservations.find(reservation->name);
      // A file with everything that is declared may be applied again, and labels are ours.
      Reservation own = *reservation;
      if (known != state_.reservations.end()) own.labels = known->second.labels;
      const bool stays = known != state_.reservations.end() && known->second == own;
      if (!stays) TRY(check_keeper(state_, reservation->name));
    }
    TRY(check_boot(state_, event.object));
    return check_people(state_, event.object);
  }

  Result<void> operator()(const ObjectDeleted& event) const {
    // Queues below would lose their parent, and with it the limits and the order that they inherit.
    if (event.kind == "queue") {
      for (const auto& [name, queue] : state_.queues) {
        if (queue.parent != event.name) continue;
        return conflict(
            "queue_has_children",
            fmt::format("queue \"{}\" is below it: delete or move that one first", name));
      }
    }
    // They are there from the start, for jobs that name none.
    if ((event.kind == "pool" || event.kind == "queue") && event.name == "default") {
      return conflict("default_stays", fmt::format("the default {} cannot be deleted", event.kind));
    }
    const bool known = (event.kind == "pool" && state_.pools.contains(event.name)) ||
                       (event.kind == "queue" && state_.queues.contains(event.name)) ||
                       (event.kind == "limit" && state_.user_limits.contains(event.name)) ||
                       (event.kind == "user" && state_.users.contains(event.name)) ||
                       (event.kind == "project" && state_.projects.contains(event.name)) ||
                       (event.kind == "reservation" && state_.reservations.contains(event.name)) ||
                       (event.kind == "node" && state_.node_declarations.contains(event.name)) ||
                       (event.kind == "domain" && state_.domains.contains(event.name)) ||
                       (event.kind == "group" && state_.groups.contains(event.name)) ||
                       (event.kind == "binding" && state_.bindings.contains(event.name)) ||
                       (event.kind == "executor" && state_.executors.contains(event.name)) ||
                       (event.kind == "idle_rule" && state_.idle_rules.contains(event.name)) ||
                       (event.kind == "app" && state_.apps.contains(event.name)) ||
                       (event.kind == "settings" && state_.job_settings.contains(event.name)) ||
                       (event.kind == "secret" && state_.secrets.contains(event.name)) ||
                       (event.kind == "boot_config" && state_.boot_configs.contains(event.name));
    if (!known) {
      return Error{ErrorKind::kNotFound, "object_unknown",
                   fmt::format("nothing is declared as {} \"{}\"", event.kind, event.name), ""};
    }
    // Then what would be left behind without its owner.
    if (event.kind == "domain") return domain_empty(state_, event.name);
    if (event.kind == "user") return user_idle(state_, event.name);
    if (event.kind == "executor") return executor_idle(state_, event.name);
    if (event.kind == "reservation") return check_keeper(state_, event.name);
    return event.kind == "queue" ? queue_empty(event.name) : Result<void>();
  }

 private:
  Error is_leaving(const Node& node) const {
    const Instant at = lost_at(state_, node);
    return conflict(
        "node_expelled",
        fmt::format("node {0} was expelled by {1}. It goes {2}, or at once when an administrator "
                    "says that its machine is off (`dove node lost {0} --is-off`)",
                    node.name, node.request.who,
                    at == kNever ? "once its executor's jobs have ended and it is removed"
                                 : fmt::format("{} s from now, when none of its tasks can run",
                                               (at - state_.now).us / 1'000'000)));
  }

  Result<void> check_expulsion(const NodeActionRequested& event) const {
    constexpr std::int32_t kExpelLevel = 2;
    if (state_.level < kExpelLevel) {
      return conflict("level_needed",
                      fmt::format("controllers of the former version do not know that nodes are "
                                  "expelled: the cluster is at level {} until an administrator "
                                  "runs `dove upgrade finish`, and this needs level {}. Until "
                                  "then, stop the node's agent and remove the node",
                                  state_.level, kExpelLevel));
    }
    if (!event.now && event.by.us == 0) return {};
    return Error{ErrorKind::kInvalid, "bad_value",
                 "a node is expelled at once, and its jobs run elsewhere once its tasks must have "
                 "ended: say neither `now` nor `by`",
                 event.now ? "now" : "by"};
  }

  // Names are kept as they were written and looked up at each use; one that is not known would
  // silently mean the default.
  Result<void> check_order(const std::string& order) const {
    if (order.empty() || find_order(policies_, order) != nullptr) return {};
    std::vector<std::string_view> known;
    for (const OrderPolicy* each : policies_.orders) {
      known.push_back(each->name().substr(0, each->name().find('/')));
    }
    return Error{
        ErrorKind::kInvalid, "order_unknown",
        fmt::format("there is no order \"{}\": known are {}", order, fmt::join(known, ", ")),
        "order"};
  }

  Result<void> check_placement(const std::string& name) const {
    const auto plain = [](std::string_view full) { return full.substr(0, full.find('/')); };
    const PlacementPolicy* placement = policies_.placement;
    // The version after the slash is for digests; people write the plain name.
    const std::string_view common = placement == nullptr ? name : plain(placement->name());
    if (name == common || find_score(policies_, name) != nullptr) return {};
    std::vector<std::string_view> known{common};
    for (const ScorePolicy* each : policies_.scores) known.push_back(plain(each->name()));
    return Error{
        ErrorKind::kInvalid, "placement_unknown",
        fmt::format("there is no placement \"{}\": known are {}", name, fmt::join(known, ", ")),
        "placement"};
  }

  Result<void> check_queue(const Queue& queue) const {
    TRY(check_order(queue.order));
    if (queue.parent.empty()) return {};
    // Ends, as the queues that are declared already form no circle: only this one could close it.
    for (std::string above = queue.parent; !above.empty();) {
      if (above == queue.name) {
        return Error{
            ErrorKind::kInvalid, "queue_below_itself",
            fmt::format("queue \"{}\" would be below itself: choose another parent", queue.name),
            "parent"};
      }
      const auto at = state_.queues.find(above);
      if (at == state_.queues.end()) {
        return Error{ErrorKind::kInvalid, "queue_unknown",
                     fmt::format("there is no queue \"{}\": declare the parent first", above),
                     "parent"};
      }
      above = at->second.parent;
    }
    return holds_no_jobs(queue.parent);
  }

  // Jobs would be left in a queue that has others below it.
  Result<void> holds_no_jobs(const std::string& queue) const {
    const auto below = [&](const auto& each) { return each.second.parent == queue; };
    // It has queues below it already, so it holds none, or was checked before.
    if (std::any_of(state_.queues.begin(), state_.queues.end(), below)) return {};
    const auto usage = state_.usage_by_queue.find(queue);
    if (usage == state_.usage_by_queue.end()) return {};
    const std::int32_t jobs = usage->second.jobs_waiting + usage->second.jobs_running;
    if (jobs == 0) return {};
    return conflict("queue_has_jobs",
                    fmt::format("queue \"{}\" holds {} jobs and would take none any more: let them "
                                "end, then declare queues below it",
                                queue, jobs));
  }

  // A job of a queue that is gone could not be ordered, limited or told why it waits.
  Result<void> queue_empty(const std::string& name) const {
    const auto found = state_.usage_by_queue.find(name);
    if (found == state_.usage_by_queue.end()) return {};
    const Usage& usage = found->second;
    if (usage.jobs_waiting == 0 && usage.jobs_running == 0) return {};
    return conflict("queue_in_use",
                    fmt::format("queue {} has {} waiting and {} running jobs: cancel them or let "
                                "them end; until then `open: false` keeps others out",
                                name, usage.jobs_waiting, usage.jobs_running));
  }

  Result<void> not_ended(JobId id) const {
    const Job* job = state_.find_job(id);
    if (job == nullptr) return not_found("job", id.value);
    if (job->phase != JobPhase::kEnded) return {};
    return conflict("job_ended", fmt::format("job {} has ended", id.value));
  }

  const State& state_;
  const Policies& policies_;
};

}  // namespace

Result<void> admit(const State& state, const Policies& policies, const Event& event) {
  return std::visit(Admission(state, policies), event);
}

}  // namespace dove::core
