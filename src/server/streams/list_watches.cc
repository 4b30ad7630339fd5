#include "server/streams/list_watches.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "accounts/access.h"
#include "listener/route.h"
#include "server/record_json.h"

namespace dove::server {
namespace {

constexpr std::int64_t kWaitUsual_s = 60;
constexpr std::int64_t kWaitMost_s = 300;
// From the first change to the answer: a client that asks again at once has ten answers a second at
// most, however busy the cluster is.
constexpr std::chrono::milliseconds kTogether{100};

template <class... Kinds, class Record>
bool is_one_of(const Record& record) {
  return (std::holds_alternative<Kinds>(record) || ...);
}

bool touches_nodes(const Event& event) {
  return !is_one_of<TimeReached, JobSubmitted, JobHeld, JobReleased, JobPriorityChanged, KeyIssued,
                    KeyRevoked, CheckpointTaken, ProgressReported, JobKept, JobShared, CallsRefused,
                    JoinTokenIssued, ClockLeapt, ClockAccepted, LevelRaised, ForeignWatchResumed,
                    ForeignUseFound, BootArmed, BootTokenIssued>(event);
}

bool touches_nodes(const Decision& decision) {
  return !is_one_of<Promise, Withdraw, ForgetJob, Start, Stop>(decision);
}

}  // namespace

struct ListWatches::Touched {
  explicit Touched(const listener::RecentBatch& batch) {
    for (const StampedEvent& each : batch.committed->batch.events) {
      if (const JobId job = job_of(each.event)) jobs.push_back(job);
      nodes = nodes || touches_nodes(each.event);
      objects = objects || is_one_of<ObjectApplied, ObjectDeleted>(each.event);
    }
    for (const Decision& each : batch.committed->batch.decisions) {
      if (const JobId job = job_of(each)) jobs.push_back(job);
      nodes = nodes || touches_nodes(each);
    }
    for (const JobId job : batch.new_jobs) {
      if (job) jobs.push_back(job);
    }
  }

  std::vector<JobId> jobs;
  bool nodes = false;
  bool objects = false;
  bool any(ListOf what) const {
    switch (what) {
      case ListOf::kJobs:
        return !jobs.empty();
      case ListOf::kNodes:
        return nodes || objects;  // what was declared of a node is shown with it
      case ListOf::kObjects:
        return objects;
      case ListOf::kUse:
        return nodes || objects || !jobs.empty();
    }
    return true;
  }
};

struct ListWatches::Held {
  ListOf what = ListOf::kJobs;
  listener::CallPtr call;
  JobQuery wanted;
  std::function<void(listener::CallPtr)> answer;
  std::shared_ptr<const listener::OpenAccess::Held> access;
  bool is_due = false;
  wire::Timer timer;
};

ListWatches::ListWatches(wire::Loop& loop, const listener::Projection& projection,
                         listener::OpenAccess& access)
    : loop_(loop), projection_(projection), access_(access) {}

ListWatches::~ListWatches() = default;

void ListWatches::answer(ListOf what, listener::CallPtr call, JobQuery wanted,
                         std::function<void(listener::CallPtr)> answer) {
  const auto since = call->query_number("since", -1, 0, INT64_MAX);
  if (!since.ok()) return call->fail(since.error());
  const auto wait_s = call->query_number("wait_s", kWaitUsual_s, 1, kWaitMost_s);
  if (!wait_s.ok()) return call->fail(wait_s.error());
  if (*since < 0 && !call->query_text("wait_s").empty()) {
    return call->fail(listener::invalid(
        "bad_parameter", "wait_s goes with since, the log_head of the answer before", "wait_s"));
  }
  if (*since < 0) return answer(std::move(call));
  const auto held = std::make_shared<Held>();
  held->what = what;
  held->wanted = std::move(wanted);
  held->answer = std::move(answer);
  const std::weak_ptr<Held> weak = held;
  held->access = access_.hold(call->caller, [this, weak] {
    const HeldPtr own = weak.lock();
    if (own == nullptr || held_.erase(own) == 0) return;
    own->call->fail(Error{ErrorKind::kUnauthenticated, "access_ended",
                          "the key has ended, or its user may no longer call", ""});
  });
  held->call = std::move(call);
  held->timer = loop_.after(std::chrono::seconds(*wait_s), [this, weak] {
    if (const HeldPtr own = weak.lock()) let_go(own);
  });
  held_.insert(held);
  if (has_changed(*held, Seq(static_cast<std::uint64_t>(*since)))) answer_soon(held);
}

bool ListWatches::has_changed(const Held& held, Seq seen) const {
  const auto& recent = projection_.recent();
  const Seq head = projection_.state().head;
  // Whoever is ahead has read another log: that of a controller from before a restore, say.
  if (seen >= head) return seen > head;
  const bool all_known =
      !recent.empty() && recent.front().committed->batch.first_seq.value <= seen.value + 1;
  if (!all_known) return true;
  for (auto batch = recent.rbegin(); batch != recent.rend(); ++batch) {
    if (batch->committed->last() <= seen) return false;
    if (concerns(held, Touched(*batch))) return true;
  }
  return false;
}

bool ListWatches::concerns(const Held& held, const Touched& touched) const {
  if (held.what != ListOf::kJobs) return touched.any(held.what);
  const core::State& state = projection_.state();
  return std::any_of(touched.jobs.begin(), touched.jobs.end(), [&](JobId id) {
    const core::Job* job = state.find_job(id);
    if (job == nullptr) return true;  // forgotten: it may have been on the list
    if (held.wanted.ids &&
        !std::binary_search(held.wanted.ids->begin(), held.wanted.ids->end(), id))
      return false;
    return is_wanted(state, *job, held.wanted) &&
           accounts::may_see(state, held.access->caller, *job);
  });
}

void ListWatches::published(const listener::RecentBatch& batch) {
  if (held_.empty()) return;
  const Touched touched(batch);
  for (const HeldPtr& held : held_) {
    if (!held->is_due && concerns(*held, touched)) answer_soon(held);
  }
}

void ListWatches::answer_soon(const HeldPtr& held) {
  held->is_due = true;
  held->timer = loop_.after(kTogether, [this, weak = std::weak_ptr<Held>(held)] {
    if (const HeldPtr own = weak.lock()) let_go(own);
  });
}

void ListWatches::let_go(const HeldPtr& held) {
  if (held_.erase(held) == 0) return;
  if (!held->call->responder->peer_alive()) return;
  held->call->caller = held->access->caller;
  listener::run_guarded(held->call, held->answer);
}

void ListWatches::close_all() {
  for (const HeldPtr& held : std::exchange(held_, {})) {
    held->timer.cancel();
    listener::run_guarded(held->call, held->answer);
  }
}

}  // namespace dove::server
