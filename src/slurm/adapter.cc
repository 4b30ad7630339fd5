#include "slurm/adapter.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codec/quantity.h"
#include "slurm/holders.h"
#include "slurm/rooms/room_plan.h"
#include "telemetry/log.h"

namespace dove::slurm {
namespace {

// The same but for what differs from one call to the next.
std::string content_of(SyncRequest request) {
  request.number = request.seen = request.wait_s = 0;
  return write_request(request);
}

}  // namespace

Result<std::int64_t> read_interval(const std::string& text) {
  const Result<Span> interval = codec::parse_span(text);
  if (interval.ok() && *interval >= milliseconds(100) && *interval <= seconds(60)) {
    return interval->us;
  }
  return Error{ErrorKind::kInvalid, "bad_setting",
               "--interval: give a time from 100ms to 60s, such as 1s or 500ms", "--interval"};
}

Result<std::int64_t> read_signal_wait(const std::string& text) {
  const Result<Span> wait = codec::parse_span(text);
  if (wait.ok() && *wait >= Span{} && *wait <= seconds(kSignalWaitMax_s)) {
    return wait->us / 1'000'000;
  }
  return Error{ErrorKind::kInvalid, "bad_setting",
               "--signal-wait: give a time from 0s (no signal) to 10m, such as 2m",
               "--signal-wait"};
}

Adapter::Adapter(SlurmCluster& slurm, Sync sync, Clock clock, AdapterOptions options, Steps* steps,
                 GateKeeper* gate, RoomKeeper* rooms)
    : slurm_(slurm),
      steps_(steps),
      gate_(gate),
      rooms_(rooms),
      sync_(std::move(sync)),
      clock_(std::move(clock)),
      options_(std::move(options)),
      fences_(slurm, clock_, options_.cluster, options_.signal_wait_s) {}

void Adapter::log_trouble(std::string& last, const char* event, const std::string& now) const {
  if (now == last) return;
  if (now.empty()) {
    telemetry::log(telemetry::Level::kInfo, event, {{"answers", true}});
  } else {
    telemetry::log(telemetry::Level::kWarning, event, {{"answers", false}, {"why", now}});
  }
  last = now;
}

// A job that is ending, or has GRES without files, does not say which devices it has. They are
// those that it had, else all that no other job is known to have: too many rather than too few.
void Adapter::recall_devices(JobSeen& job) const {
  if (job.devices_known || !holds(job)) return;
  if (const auto last = last_held_.find(job.id); last != last_held_.end()) {
    job.allocations = last->second;
    return;
  }
  for (NodeAllocation& held : job.allocations) {
    const NodeSeen* node = observed_.find_node(held.node);
    std::set<int> taken;
    for (const JobSeen& other : observed_.jobs) {
      if (other.phase != JobPhase::kHolding || !other.devices_known) continue;
      for (const NodeAllocation& theirs : other.allocations) {
        if (theirs.node == held.node) taken.insert(theirs.devices.begin(), theirs.devices.end());
      }
    }
    const int count = node == nullptr ? 0 : static_cast<int>(node->device_types.size());
    held.devices.clear();
    for (int index = 0; index < count; ++index) {
      if (!taken.contains(index)) held.devices.push_back(index);
    }
  }
}

bool Adapter::observe(Look look) {
  if (look == Look::kJobs && slurm_answers_) {
    Result<std::vector<JobSeen>> jobs = slurm_.observe_jobs(observed_.nodes);
    log_trouble(slurm_trouble_, "slurm", jobs.ok() ? "" : jobs.error().message);
    if (!jobs.ok()) return false;
    observed_.jobs = std::move(jobs).value();
  } else {
    Result<Observed> seen = slurm_.observe();
    log_trouble(slurm_trouble_, "slurm", seen.ok() ? "" : seen.error().message);
    if (!seen.ok()) return false;
    observed_ = std::move(seen).value();
    machines_.look(observed_.nodes);
  }
  const std::int64_t now_s = clock_() / 1'000'000;
  std::map<std::int64_t, std::vector<NodeAllocation>> held;
  for (JobSeen& job : observed_.jobs) {
    recall_devices(job);
    if (job.gate) check_reservation(*job.gate);
    // To the ledger it is one that stays; it hears of the end of the pause by the next report.
    // While a job is ending, Slurm counts its next start already.
    const bool is_ending = job.phase == JobPhase::kEnding;
    if (!is_ending && is_spared(job, now_s)) job.may_requeue = false;
    if (holds(job)) held[job.id] = job.allocations;
  }
  last_held_ = std::move(held);
  return true;
}

// The ledger knows those of whole nodes.
void Adapter::check_reservation(GateSeen& gate) const {
  if (gate.reservation.empty()) return;
  const auto& known = observed_.reservations;
  const auto one = std::find_if(known.begin(), known.end(), [&](const ReservationSeen& each) {
    return each.name == gate.reservation;
  });
  if (one != known.end() && !one->floats) {
    gate.begins_s = std::max(gate.begins_s, one->starts_s);
  } else if (gate.cannot.empty()) {
    gate.cannot =
        "a reservation other than one of whole nodes that begins (a new one is known in seconds)";
  }
}

// It holds what the ledger gave away, or keeps it from others for a moment.
bool Adapter::is_ours(const JobSeen& job) const {
  return is_placeholder(job, options_.cluster) || is_fence(job, options_.cluster) ||
         is_standing_fence(job, options_.cluster) || gate_confirmed_.contains(job.id);
}

SyncRequest Adapter::request() {
  SyncRequest request;
  request.incarnation = options_.incarnation;
  request.number = ++number_;
  request.seen = seen_;
  request.agentless = options_.agentless;
  for (NodeSeen node : observed_.nodes) {
    // Our own drain is no news to the ledger.
    if (is_drained_by_us(node, options_.cluster)) node.state = NodeSeen::State::kUp;
    machines_.close(node);
    request.nodes.push_back(std::move(node));
  }
  request.reservations = observed_.reservations;
  request.kept_cores = kept_cores(observed_);
  // A controller of the first level would hold from now on what is kept from a later instant on.
  // One that has just begun to lead takes nothing before it has said its own level.
  if (level_ == kFirstLevel) {
    std::erase_if(request.kept_cores, [](const KeptCores& one) { return one.starts_s != 0; });
  }
  request.placeholders = reports_;
  for (const JobSeen& job : observed_.jobs) {
    if (holds(job) && !is_ours(job)) request.foreign.push_back(job);
  }
  return request;
}

// The controller has taken this report.
void Adapter::told(const SyncRequest& request, const std::string& content) {
  told_ = content;
  if (request.complete) {
    std::vector<JobSeen> theirs;
    for (const JobSeen& job : observed_.jobs) {
      if (!is_ours(job)) theirs.push_back(job);
    }
    exposure_.reported(theirs, clock_());
  }
  for (const PlaceholderReport& one : request.placeholders) {
    if (one.state == PlaceholderState::kEnded) memory_.ended_told.insert(one.id);
    const auto refusal = memory_.refused.find(one.key);
    if (one.state == PlaceholderState::kRefused && refusal != memory_.refused.end()) {
      refusal->second.told = true;
    }
  }
}

void Adapter::refuse(const PlaceholderKey& key, const std::string& why, bool is_final) {
  telemetry::log(telemetry::Level::kWarning, "placeholder_refused",
                 {{"job", key.job}, {"attempt", key.attempt}, {"node", key.node}, {"why", why}});
  memory_.refused[key] = {why, clock_() / 1'000'000, false, is_final};
}

bool Adapter::submit(const Submission& one, const std::vector<std::int64_t>& released) {
  const Result<std::int64_t> id = slurm_.ask(one.ask);
  if (id.ok()) {
    // A user's may have yet to start: the next look shows it.
    if (one.ask.is_users) memory_.starting[one.key] = {*id, clock_() / 1'000'000};
    telemetry::log(telemetry::Level::kInfo, "placeholder_asked",
                   {{"name", one.ask.name}, {"node", one.key.node}, {"slurm_job", *id}});
    return true;
  }
  if (is_silence(id.error())) return false;
  const bool is_final = one.ask.is_users && id.error().code == kUser_refused;
  auto leaving = leaving_placeholders(observed_, one.key.node, released, options_.cluster);
  // Once: Slurm has heard by now of all that was stopped for it.
  if (!is_final && !leaving.empty() && !memory_.awaited.contains(one.key)) {
    telemetry::log(telemetry::Level::kInfo, "placeholder_awaits_end",
                   {{"name", one.ask.name}, {"node", one.key.node}, {"why", id.error().message}});
    memory_.awaited[one.key] = std::move(leaving);
    return true;
  }
  refuse(one.key, id.error().message, is_final);
  return true;
}

void Adapter::set_limits(const std::vector<LimitChange>& limits) {
  for (const LimitChange& limit : limits) {
    const Result<void> set = slurm_.set_limit(limit.id, limit.limit_minutes);
    if (set.ok()) continue;
    telemetry::log(telemetry::Level::kWarning, "limit_not_set",
                   {{"slurm_job", limit.id}, {"why", set.error().message}});
    if (is_silence(set.error())) return;
  }
}

bool Adapter::carry_out(const Plan& plan) {
  bool changed = !plan.newly_refused.empty();
  for (const auto& [key, why] : plan.newly_refused) refuse(key, why);
  for (const std::int64_t id : plan.cancel) {
    const Result<void> released = slurm_.release(id);
    telemetry::log(telemetry::Level::kInfo, "placeholder_released",
                   {{"slurm_job", id}, {"why", released.ok() ? "" : released.error().message}});
    changed = changed || released.ok();
  }
  set_limits(plan.limits);
  int submitted = 0;
  for (const Submission& one : plan.submit) {
    if (++submitted > kChangesMax) break;
    changed = submit(one, plan.cancel) || changed;
  }
  return changed || submitted > kChangesMax;
}

WorkPlan Adapter::look_at_works() {
  if (steps_ == nullptr) return {};
  const Result<std::vector<StepSeen>> steps = steps_->all();
  log_trouble(steps_trouble_, "steps", steps.ok() ? "" : steps.error().message);
  Allocations allocations;
  allocations.known = slurm_answers_;
  allocations.begun = begun_placeholders(observed_, options_.cluster);
  if (!steps.ok()) {
    WorkPlan none;
    none.reports = unseen_works(works_, allocations);
    return none;
  }
  allocations.living = living_placeholders(observed_, options_.cluster);
  for (const PlaceholderReport& one : reports_) {
    if (one.state == PlaceholderState::kConfirmed) allocations.held[one.key] = one.id;
  }
  for (const PlaceholderKey& key : ending_placeholders(observed_, options_.cluster)) {
    allocations.held.emplace(key, kEnding_job);
  }
  std::erase_if(not_begun_, [&](const auto& entry) {
    return std::none_of(works_.begin(), works_.end(),
                        [&](const WantedWork& work) { return work.key == entry.first; });
  });
  return plan_works(works_, *steps, allocations, not_begun_, clock_() / 1'000'000);
}

bool Adapter::begin(const WantedWork& work) {
  StepWanted step;
  step.work = work;
  for (const PlaceholderReport& one : reports_) {
    if (one.key == work.key) step.slurm_job = one.id;
  }
  const NodeSeen* node = observed_.find_node(work.key.node);
  if (node != nullptr) step.cpus_per_core = node->cpus_per_core;
  if (runs_script_of_several(work)) {
    step.all_nodes = held_nodes(work, works_, reports_, observed_);
    // One of them is lost: the ledger hears of it, and stops the job.
    if (step.all_nodes.empty()) return false;
  }
  const std::string name = placeholder_name(work.key.job, work.key.attempt, options_.cluster);
  if (away_.waits(work.key, work.user, clock_() / 1'000'000)) return false;
  // Before it begins: whoever comes after this process, on whatever machine, does not begin it
  // again.
  const Result<void> marked = slurm_.mark(std::to_string(step.slurm_job), begun_mark(name));
  log_trouble(mark_trouble_, "mark", marked.ok() ? "" : marked.error().message);
  if (!marked.ok()) return false;
  const Result<void> begun = steps_->begin(step);
  telemetry::log(begun.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning,
                 begun.ok() ? "work_begun" : "work_not_begun",
                 {{"job", work.key.job},
                  {"attempt", work.key.attempt},
                  {"node", work.key.node},
                  {"slurm_job", step.slurm_job},
                  {"user", work.user},
                  {"why", begun.ok() ? "" : begun.error().message}});
  if (!begun.ok()) not_begun_[work.key] = begun.error().message;
  return true;
}

bool Adapter::carry_out(const WorkPlan& plan) {
  bool changed = false;
  for (const WantedWork* work : plan.begin) {
    // After slurmctld's start it has not heard of the node yet. srun would be refused the step, and
    // ask again after SlurmctldTimeout only, a minute at least (22.05).
    const NodeSeen* node = observed_.find_node(work->key.node);
    if (node != nullptr && (node->settles || !node->registered)) continue;
    changed = begin(*work) || changed;
  }
  for (const StepSignal& one : plan.signals) {
    const Result<void> sent =
        one.number == 0 ? steps_->warn(one.step, one.warning)
                        : steps_->signal(one.step, one.signal, one.number, clock_() / 1'000'000);
    telemetry::log(telemetry::Level::kInfo, "work_signalled",
                   {{"job", one.step.key.job},
                    {"node", one.step.key.node},
                    {"signal", one.signal},
                    {"why_not", sent.ok() ? "" : sent.error().message}});
  }
  for (const std::int64_t id : plan.release) {
    const Result<void> released = slurm_.release(id);
    telemetry::log(telemetry::Level::kWarning, "work_lost",
                   {{"slurm_job", id}, {"why_not", released.ok() ? "" : released.error().message}});
    changed = changed || released.ok();
  }
  for (const PlaceholderKey& key : plan.give_up) {
    const Result<void> given_up = steps_->give_up(key);
    telemetry::log(telemetry::Level::kWarning, "work_given_up",
                   {{"job", key.job},
                    {"node", key.node},
                    {"why", "its allocation has ended"},
                    {"why_not", given_up.ok() ? "" : given_up.error().message}});
  }
  for (const PlaceholderKey& key : plan.forget) steps_->forget(key);
  return changed;
}

void Adapter::drain(const std::vector<WantedDrain>& wanted) {
  const std::vector<DrainChange> all = plan_drains(observed_, wanted, options_.cluster);
  for (const DrainChange& change : drain_pace_.due(all, clock_() / 1'000'000)) {
    const Result<void> set = slurm_.set_drain(change.node, change.reason);
    telemetry::log(set.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning,
                   change.reason.empty() ? "node_opened" : "node_drained",
                   {{"node", change.node},
                    {"reason", change.reason},
                    {"why_not", set.ok() ? "" : set.error().message}});
  }
}

DevicesOfNodes Adapter::kept() const {
  DevicesOfNodes all = not_lent_;
  for (const auto& [node, devices] : kept_for_ours_) {
    all[node].insert(devices.begin(), devices.end());
  }
  const DevicesOfNodes fenced = fenced_devices(observed_, options_.cluster);
  const std::set<std::string> waiting = waiting_fence_names(observed_, options_.cluster);
  const DevicesOfPlaceholders held = devices_of_placeholders(observed_, options_.cluster);
  for (const Wanted& one : *wanted_) {
    // What Slurm runs gets its devices from Slurm.
    if (one.runs || !one.foreign_job.empty()) continue;
    const auto here = fenced.find(one.key.node);
    const auto own = held.find(one.key);
    for (const int device : one.devices) {
      const bool is_fenced = here != fenced.end() && here->second.contains(device);
      const bool has_lost_fence = own != held.end() && !own->second.contains(device);
      // It begins in a moment: what it waited for has ended.
      const bool is_awaited =
          waiting.contains(standing_fence_name(one.key.node, device, options_.cluster));
      if (is_fenced || has_lost_fence || is_awaited) all[one.key.node].insert(device);
    }
  }
  return all;
}

Plan Adapter::plan_placeholders(std::int64_t now_s) const {
  DevicesOfNodes kept = this->kept();
  std::erase_if(kept, [this](const auto& one) { return fences_.was_refused(one.first); });
  return plan(observed_, *wanted_, kept, memory_, options_.cluster, now_s);
}

// Fences of the gate that nobody sees to, now or any more. One that is suspended does not end by
// itself.
void Adapter::end_old_fences(std::int64_t now_s) {
  const std::set<std::int64_t> leave = observed_.jobs_to_leave();
  for (const JobSeen& job : observed_.jobs) {
    if (job.phase != JobPhase::kHolding || leave.contains(job.id)) continue;
    if (!is_fence(job, options_.cluster)) continue;
    const bool is_old = job.is_suspended() && now_s - job.started_s > 60 * kFence_minutes;
    if (gate_ != nullptr && !is_old) continue;
    const Result<void> released = slurm_.release(job.id);
    telemetry::log(
        telemetry::Level::kInfo, "gate_fence_released",
        {{"slurm_job", job.id}, {"why_not", released.ok() ? "" : released.error().message}});
    if (!released.ok() && is_silence(released.error())) return;
  }
}

bool Adapter::keep_fences(std::int64_t now_s) {
  if (gate_ == nullptr) end_old_fences(now_s);
  return fences_.keep(observed_, kept(), put_backs_,
                      fences_that_lend_cores(observed_, *wanted_, options_.cluster));
}

// What is wanted from now on; its drains are the caller's.
void Adapter::take(SyncAnswer& answer, Look look) {
  seen_ = answer.version;
  level_ = answer.level;
  wanted_ = std::move(answer.wanted);
  works_ = std::move(answer.works);
  put_backs_ = std::move(answer.put_backs);
  kept_for_ours_ = std::move(answer.kept);
  yields_to_ = std::move(answer.yields_to);
  if (look == Look::kAll || lent_ != answer.lent) {
    lent_ = std::move(answer.lent);
    not_lent_ = kept_devices(lent_, observed_.nodes);
  }
  if (look == Look::kAll) machines_.look(observed_.nodes, std::move(answer.machines));
}

std::vector<WorkReport> Adapter::look_at_gate(std::int64_t now_s) {
  if (gate_ == nullptr) {
    if (!yields_to_) return {};  // they wait at a gate that another process has to see to
    RoomPlan now = plan_rooms(observed_, *wanted_, works_, options_.cluster);
    reports_.insert(reports_.end(), now.reports.begin(), now.reports.end());
    return std::move(now.works);
  }
  GatePlan now = gate_->plan(observed_, *wanted_, works_, now_s);
  reports_.insert(reports_.end(), now.reports.begin(), now.reports.end());
  gate_confirmed_ = std::move(now.confirmed);
  return std::move(now.works);
}

CycleEnd Adapter::cycle(Look look) {
  CycleEnd end;
  if (look != Look::kNone) slurm_answers_ = observe(look);
  end.slurm_answers = slurm_answers_;
  const std::int64_t now_s = clock_() / 1'000'000;
  move_back(memory_, set_back_.look(now_s));
  if (end.slurm_answers && wanted_) {
    // What the placeholders are like; what is to be done waits for the controller's answer.
    Plan now = plan_placeholders(now_s);
    reports_ = std::move(now.reports);
  }
  if (end.slurm_answers && wanted_) gate_works_ = look_at_gate(now_s);
  SyncRequest request = this->request();
  request.complete = end.slurm_answers;
  request.works = look_at_works().reports;
  for (const std::vector<WorkReport>& more : {gate_works_, refused_works(memory_)}) {
    request.works.insert(request.works.end(), more.begin(), more.end());
  }
  const std::string content = content_of(request);
  // A client that waits for an answer does not hear that a job has come to the gate.
  request.wait_s = content == told_ && gate_ == nullptr ? options_.wait_s : 0;
  Result<SyncAnswer> answer = sync_(request);
  log_trouble(controller_trouble_, "controller", answer.ok() ? "" : answer.error().message);
  if (!answer.ok()) {
    end.replaced = answer.error().code == "adapter_replaced";
    if (end.slurm_answers && !end.replaced) {
      set_limits(longer_stays(observed_, options_.cluster, now_s));
      end_old_fences(now_s);
      fences_.stop_waiting(observed_);
    }
    return end;
  }
  end.controller_answers = true;
  // With a version that we had not seen, the controller may have begun anew since, and has not
  // looked at what we said.
  const bool taken = answer->version == request.seen;
  if (taken) {
    told(request, content);
  } else {
    told_.clear();
  }
  take(*answer, look);
  end.changed = !taken;
  if (!end.slurm_answers) return end;
  forget_unwanted(observed_, *wanted_, memory_);
  if (look == Look::kAll) drain(answer->drains);
  // Before placeholders: what is kept is not theirs to ask for.
  end.changed = keep_fences(now_s) || !taken;
  end.changed = carry_out(plan_placeholders(now_s)) || end.changed;
  end.changed = carry_out(look_at_works()) || end.changed;
  // As with the gate below: after the report.
  if (rooms_ != nullptr && gate_ == nullptr && yields_to_ && look != Look::kNone && taken) {
    rooms_->tell(observed_, *yields_to_, now_s);
  }
  if (gate_ != nullptr) {
    // After the report: the ledger is to place jobs by what is free now, and hears of the gate from
    // an adapter that it knows.
    if (look != Look::kNone && taken) gate_->tell(observed_, now_s);
    const GatePlan due = gate_->plan(observed_, *wanted_, works_, now_s);
    end.changed = gate_->carry_out(due, observed_, now_s) || end.changed;
    end.gate_starts = gate_->is_starting();
    end.gate_waits = gate_->has_waiting();
  }
  return end;
}

}  // namespace dove::slurm
