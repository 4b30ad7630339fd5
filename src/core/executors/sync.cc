#include "core/executors/sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "core/executors/placeholder_news.h"
#include "core/executors/unwatched_news.h"
#include "core/place/reservation.h"
#include "core/state/executors/core_numbers.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/kept_reservations.h"
#include "core/state/executors/placeholders.h"
#include "model/field_rules.h"
#include "text/hostlist.h"

namespace dove::core {
namespace {

// Every reader of JSON keeps 53 bits exactly: the bits of the epoch lie above those of the list.
constexpr int kListBits = 32;
constexpr std::uint64_t kEpochMask = (std::uint64_t{1} << 21) - 1;
constexpr std::ptrdiff_t kNamesPerList = 30;
// From which on the log holds an executor's features, and which of its jobs can be requeued.
constexpr std::int32_t kFeaturesLevel = 2;

// What the executor ran in its placeholder has ended with it, which a new one would not bring back.
bool has_run_in_lost(const State& state, const PlaceholderKey& key) {
  const PlacementRecord* record = placement_of(state, key);
  return record != nullptr && record->stage == PlacementStage::kStarted &&
         state.find_job(key.job)->spec->executor == key.executor;
}

// A placement of the job's current attempt that has not ended; null attempt: there is none.
struct Living {
  const Job* job = nullptr;
  const Attempt* attempt = nullptr;
  const PlacementRecord* record = nullptr;
};

// Reports may be old: what they name counts only as far as it is still what the ledger says.
Living living(const State& state, JobId id, NodeId node) {
  const Job* job = state.find_job(id);
  if (job == nullptr || job->phase != JobPhase::kActive) return {};
  const Attempt& attempt = job->attempts.back();
  for (const PlacementRecord& record : attempt.placements) {
    if (record.placement->node != node || record.stage == PlacementStage::kEnded) continue;
    return {job, &attempt, &record};
  }
  return {};
}

class News {
 public:
  News(const State& state, const Executor& executor, const Observation& said)
      : state_(state), executor_(executor), name_(executor.name), said_(said) {}

  std::vector<Event> all() {
    add_watch(state_, name_, said_, events_);  // first: what comes after it is news of its end
    for (const SaidNode& node : said_.nodes) {
      add_registration(node);
      add_node(node);
    }
    add_unlisted_nodes();
    add_reservations();
    add_allocations();
    add_works();
    add_placeholders(state_, name_, said_, events_);
    add_past(state_, name_, said_, events_);
    add_contact();  // last: until then nothing is placed there
    return std::move(events_);
  }

 private:
  const Node* node_of(const std::string& name) const {
    const Node* node = state_.find_node(name);
    // An executor speaks for its own nodes alone. What it says about others is not recorded.
    return node == nullptr || find_executor(*node, name_) == nullptr ? nullptr : node;
  }

  // Its state is told by the next report, when it has a number.
  void add_registration(const SaidNode& said) {
    const Node* known = state_.find_node(said.name);
    if (said.inventory == nullptr || !names_node(executor_, said.name)) return;
    if (known != nullptr && !known->removed) {
      // Where an agent is, its word counts.
      if (known->backend != name_ || *known->inventory == *said.inventory) return;
    }
    NodeRegistered event;
    event.name = said.name;
    event.boot_id = name_;  // never another one: the executor says itself what has ended
    event.backend = name_;
    event.inventory = said.inventory;
    events_.push_back(std::move(event));
  }

  void add_node(const SaidNode& said) {
    const Node* node = node_of(said.name);
    if (node == nullptr) return;
    const NodeExecutor& known = *find_executor(*node, name_);
    // Only differences become events: an adapter says everything every few seconds, and the log
    // must not grow by it.
    // What the log cannot hold yet would be news for ever.
    const bool keeps_features = state_.level >= kFeaturesLevel;
    const std::vector<std::string> features =
        keeps_features ? said.features : std::vector<std::string>{};
    if (known.state == said.state && known.why == said.why && known.features == features) return;
    events_.push_back(ExecutorNodeObserved{name_, node->id, said.state, said.why, features});
  }

  // It was removed there, or has another name, or never was: jobs that were placed there would be
  // refused, each of them. A report that names no node at all says nothing of them.
  void add_unlisted_nodes() {
    if (!said_.complete || said_.nodes.empty()) return;
    std::set<std::string_view> listed;
    for (const SaidNode& said : said_.nodes) listed.insert(said.name);
    for (const Node& node : state_.nodes) {
      if (node.removed || listed.contains(node.name)) continue;
      if (find_executor(node, name_) == nullptr) continue;
      add_node({node.name, ExecutorNodeState::kDown, "it does not list this node"});
    }
  }

  // It lists nobody: the executor decides who gets in. And it is no outage, since the executor
  // stops nothing for it either.
  Reservation reservation_of(const SaidReservation& said) const {
    Reservation made;
    made.name = reservation_name(name_, said.name);
    made.starts_at = said.starts_at;
    made.ends_at = said.ends_at;
    std::vector<std::string> names;
    for (const std::string& list : said.nodes) {
      for (std::string& name : text::expand_hostlist(list)) {
        if (node_of(name) != nullptr) names.push_back(std::move(name));
      }
    }
    std::sort(names.begin(), names.end());
    // Some to a list, as people's are: an object may hold no long ones.
    for (auto from = names.begin(); from != names.end();) {
      const auto to = names.end() - from < kNamesPerList ? names.end() : from + kNamesPerList;
      made.nodes.push_back(text::fold_sorted_hostlist({from, to}));
      from = to;
    }
    return made;
  }

  void add_reservations() {
    std::set<std::string> named;
    for (const SaidReservation& said : said_.reservations) {
      Reservation now = reservation_of(said);
      const bool fits = now.name.size() <= kNameRule.bytes_max && !now.nodes.empty();
      if (!fits || now.ends_at <= state_.now) continue;
      named.insert(now.name);
      const auto known = state_.reservations.find(now.name);
      if (known != state_.reservations.end()) {
        now.labels = known->second.labels;  // ours, which the executor does not know
        if (known->second == now) continue;
      }
      events_.push_back(ObjectApplied{std::move(now)});
    }
    if (!said_.complete) return;
    const std::string begin = reservation_name(name_, "");
    for (auto it = state_.reservations.lower_bound(begin);
         it != state_.reservations.end() && it->first.starts_with(begin); ++it) {
      if (!named.contains(it->first)) events_.push_back(ObjectDeleted{"reservation", it->first});
    }
  }

  void add_allocations() {
    std::map<std::pair<NodeId, std::string>, ForeignAllocation> now;
    // The adapter may list what holds our places among all that is allocated there: that is no
    // foreign use.
    const std::set<std::string> ours = own_allocations();
    for (const SaidAllocation& said : said_.allocations) {
      if (ours.contains(said.allocation.id)) continue;
      // In such a log it would be held from now on.
      if (is_for_later(said.allocation) && state_.level < kToComeLevel) continue;
      if (const Node* node = node_of(said.node)) {
        ForeignAllocation& one = now[{node->id, said.allocation.id}] = said.allocation;
        one.cores = our_cores(*node, one.cores);
        // As features: what the log cannot hold would be news for ever.
        one.may_requeue = one.may_requeue && state_.level >= kFeaturesLevel;
      }
    }
    for (const Node& node : state_.nodes) {
      const NodeExecutor* executor = find_executor(node, name_);
      if (executor == nullptr) continue;
      for (const ForeignAllocation& known : executor->foreign) {
        const auto said = now.find({node.id, known.id});
        if (said == now.end()) {
          // What is missing from a list that is not complete may only not have been listed.
          if (said_.complete) events_.push_back(ForeignAllocationEnded{name_, node.id, known.id});
          continue;
        }
        // What remains in `now` afterwards is new or has changed. That its priority has is no news:
        // it runs, and an executor may compute those of all anew every few minutes.
        ForeignAllocation& one = said->second;
        const std::int64_t priority = std::exchange(one.priority, known.priority);
        if (one == known) {
          now.erase(said);
        } else {
          one.priority = priority;
        }
      }
    }
    for (auto& [key, allocation] : now) {
      events_.push_back(ForeignAllocationObserved{name_, key.first, std::move(allocation)});
    }
  }

  // What holds there what the ledger gave away: placeholders, and jobs that it placed.
  std::set<std::string> own_allocations() const {
    std::set<std::string> ids;
    for (const auto& [key, placeholder] : state_.placeholders) {
      if (key.executor != name_) continue;
      const Job* job = state_.find_job(key.job);
      const bool is_foreign = job != nullptr && !job->spec->foreign_job.empty();
      // A job of its users holds what it was given until it is confirmed otherwise, or put back.
      if (!placeholder.id.empty() && !is_foreign) ids.insert(placeholder.id);
    }
    for (const SaidPlaceholder& said : said_.placeholders) {
      if (!said.id.empty()) ids.insert(said.id);
    }
    return ids;
  }

  bool runs(const Living& it) const { return it.job != nullptr && it.job->spec->executor == name_; }

  void add_works() {
    // In order of key, each once: a doubled line in a report is no second event.
    std::set<PlaceholderKey> named;
    for (const SaidWork& said : said_.works) {
      const Node* node = state_.find_node(said.node);
      if (node == nullptr) continue;
      const Living it = living(state_, said.job, node->id);
      // The attempt number guards against a report about an earlier life of the job.
      if (!runs(it) || it.attempt->number != said.attempt) continue;
      if (!named.insert({said.job, said.attempt, node->id, name_}).second) continue;
      add_work(it, said);
    }
    if (!said_.complete) return;
    std::set<PlaceholderKey> held;
    // A job whose allocation is held is not lost, even if no work is listed for it.
    for (const SaidPlaceholder& said : said_.placeholders) {
      const Node* node = state_.find_node(said.node);
      if (node == nullptr || said.stage == PlaceholderStage::kGone) continue;
      held.insert({said.job, said.attempt, node->id, name_});
    }
    for (const auto& [key, known] : state_.placeholders) {
      if (key.executor != name_ || named.contains(key) || held.contains(key)) continue;
      // Only what was confirmed can be lost. What was just asked for may not have got to the
      // executor's list. A report that was not complete may have said that the placeholder ended,
      // and nothing of what ran in it.
      const bool is_lost =
          known.stage == PlaceholderStage::kConfirmed ||
          (known.stage == PlaceholderStage::kWanted && has_run_in_lost(state_, key));
      if (is_lost) add_lost(key);
    }
  }

  void add_work(const Living& it, const SaidWork& said) {
    const NodeId node = it.record->placement->node;
    const bool has_started = it.record->stage == PlacementStage::kStarted;
    const bool may_start = it.attempt->stage >= Stage::kStarting;
    // An executor polls: a short task may have started and ended between two looks.
    const bool starts = may_start && !has_started && (!said.has_ended || !said.exits.empty());
    if (starts) events_.push_back(PlacementStarted{said.job, said.attempt, node});
    if (!said.has_ended) {
      for (const TaskExit& exit : said.exits) {
        if (may_start && !is_told(it, exit.rank)) {
          events_.push_back(TaskEnded{said.job, said.attempt, node, exit});
        }
      }
      return;
    }
    const bool stops = it.attempt->stage == Stage::kStopping;
    // It never began, and the executor says why: no exit codes are made up for it.
    if (said.exits.empty() && !has_started && !stops && !said.why.empty()) {
      events_.push_back(LaunchFailed{said.job, said.attempt, node, said.why});
      return;
    }
    PlacementEnded ended{said.job,    said.attempt,           node, said.exits,
                         said.cpu_us, said.memory_peak_bytes, {}};
    if (has_started || starts) add_lost_ranks(it, ended.exits);
    events_.push_back(std::move(ended));
  }

  // The executor no longer holds what the job runs in, and does not say how it ended. What waits
  // for its start in an allocation of ours gets another one.
  void add_lost(const PlaceholderKey& key) {
    const Living it = living(state_, key.job, key.node);
    if (!runs(it) || it.attempt->number != key.attempt) return;
    // In an allocation of ours that has not started: the placeholder is asked for again, and
    // nothing was lost.
    if (it.job->spec->foreign_job.empty() && it.attempt->stage < Stage::kStarting) return;
    PlacementEnded ended{key.job, key.attempt, key.node, {}, 0, 0, {}};
    add_lost_ranks(it, ended.exits);
    events_.push_back(std::move(ended));
  }

  static bool is_told(const Living& it, Rank rank) {
    return std::any_of(it.attempt->exits.begin(), it.attempt->exits.end(),
                       [&](const TaskExit& exit) { return exit.rank == rank; });
  }

  static void add_lost_ranks(const Living& it, std::vector<TaskExit>& exits) {
    // What a script has on other nodes is given up when the job stops, and nothing is lost there.
    const bool stops = it.attempt->stage == Stage::kStopping;
    if (stops && only_holds(*it.job->spec, *it.record->placement)) return;
    for (const TaskGrant& task : it.record->placement->tasks) {
      const bool is_said = std::any_of(
          exits.begin(), exits.end(), [&](const TaskExit& exit) { return exit.rank == task.rank; });
      if (is_said || is_told(it, task.rank)) continue;
      // As if by SIGKILL: the executor took the node away, and no better code is known.
      exits.push_back(TaskExit{task.rank, 0, SIGKILL, std::string(kExecutor_lost)});
    }
  }

  void add_contact() {
    const auto standing = state_.standings.find(name_);
    const ExecutorContact now =
        // Mute as soon as it cannot list everything: then nothing new is placed there.
        said_.complete ? ExecutorContact::kAnswering : ExecutorContact::kMute;
    if (standing == state_.standings.end() || standing->second.contact == now) return;
    events_.push_back(ExecutorContactChanged{name_, now, ""});
  }

  const State& state_;
  const Executor& executor_;
  const std::string& name_;
  const Observation& said_;
  std::vector<Event> events_;
};

// A refused one that its attempt waited for is not asked for again: the attempt ends.
bool is_wanted(const State& state, const PlaceholderKey& key, const Placeholder& placeholder) {
  switch (placeholder.stage) {
    case PlaceholderStage::kWanted:
      return !has_run_in_lost(state, key);
    case PlaceholderStage::kAsked:
    case PlaceholderStage::kConfirmed:
      return true;
    case PlaceholderStage::kRefused: {
      const Job* job = state.find_job(key.job);
      return job != nullptr && !job->attempts.empty() &&
             job->attempts.back().stop_reason != StopReason::kPlaceholder;
    }
    case PlaceholderStage::kReleased:
    case PlaceholderStage::kGone:
      return false;
  }
  return false;
}

std::uint64_t version_of(const State& state, const Wanted& wanted, const Executor& executor) {
  Digest digest;
  for (const WantedPlaceholder& one : wanted.placeholders) {
    digest.add(one.job.value);
    digest.add(std::uint64_t{one.attempt});
    digest.add(std::uint64_t{one.node->id.value});
  }
  for (const WantedDrain& one : wanted.drains) {
    digest.add(std::uint64_t{one.node->id.value});
    digest.add(std::string_view(one.why));
  }
  for (const WantedWork& one : wanted.works) {
    digest.add(one.job->id.value);
    digest.add(std::uint64_t{one.attempt});
    digest.add(std::uint64_t{one.node->id.value});
    digest.add(std::uint64_t{one.stops ? 2u : one.has_started ? 1u : 0u});
  }
  for (const WantedPutBack& one : wanted.put_backs) {
    digest.add(std::string_view(one.id));
    digest.add(one.job.value);
  }
  for (const KeptDevices& one : wanted.kept) {
    digest.add(std::uint64_t{one.node->id.value});
    for (const std::int32_t device : one.devices) digest.add(static_cast<std::uint64_t>(device));
    digest.add(std::uint64_t{one.devices.size()});
  }
  digest.add(std::uint64_t{executor.placeholders});
  for (const std::string& nodes : executor.nodes) digest.add(std::string_view(nodes));
  for (const Lendable& lent : executor.lendable) {
    for (const std::string& nodes : lent.nodes) digest.add(std::string_view(nodes));
    for (const std::int32_t device : lent.devices) digest.add(static_cast<std::uint64_t>(device));
    digest.add(std::uint64_t{lent.devices.size()});
  }
  for (const std::string& partition : executor.yields_to) digest.add(std::string_view(partition));
  // Never 0, which stands for "no version yet".
  const std::uint64_t list = std::max<std::uint64_t>(digest.value() >> kListBits, 1);
  // The epoch above the digest: a version of another controller's term is never mistaken for this
  // one's.
  return (state.epoch.value & kEpochMask) << kListBits | list;
}

void add_work(const State& state, const Node& node, JobId id, const std::string& executor,
              std::vector<WantedWork>& works) {
  const Living it = living(state, id, node.id);
  if (it.job == nullptr || it.job->spec->executor != executor) return;
  // Until the barrier is open, the executor only holds places; work is what it may start.
  if (it.attempt->stage < Stage::kStarting) return;
  works.push_back({it.job, it.attempt->number, &node, &*it.record->placement,
                   it.record->stage == PlacementStage::kStarted,
                   it.attempt->stage == Stage::kStopping, limit_stop_at(state, *it.job)});
}

}  // namespace

std::vector<Event> news(const State& state, const Executor& executor, const Observation& said) {
  return News(state, executor, said).all();
}

Wanted wanted(const State& state, const std::string& executor) {
  Wanted wanted;
  for (const auto& [key, placeholder] : state.placeholders) {
    if (key.executor != executor || !is_wanted(state, key, placeholder)) continue;
    const PlacementRecord* record = placement_of(state, key);
    if (record == nullptr) continue;
    const bool is_held = placeholder.stage == PlaceholderStage::kConfirmed;
    wanted.placeholders.push_back(
        {key.job, key.attempt, state.find_node(key.node), &*record->placement,
         places_free_at(state, *state.find_job(key.job)), is_held ? placeholder.id : ""});
  }
  // Works are found by node, as many as run there, and not by a walk over all jobs.
  for (const Node& node : state.nodes) {
    for (const JobId id : node.jobs) add_work(state, node, id, executor, wanted.works);
  }
  wanted.drains = wanted_drains(state, executor);
  wanted.put_backs = wanted_put_backs(state, executor);
  wanted.kept = kept_for_promises(state, executor);
  static const Executor nobody;
  const auto declared = state.executors.find(executor);
  wanted.version =
      version_of(state, wanted, declared == state.executors.end() ? nobody : declared->second);
  return wanted;
}

bool is_of_this_epoch(const State& state, std::uint64_t version) {
  return version != 0 && version >> kListBits == (state.epoch.value & kEpochMask);
}

}  // namespace dove::core
