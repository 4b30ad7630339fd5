#include "slurm/gate/gate_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "slurm/gate/array_tasks.h"
#include "slurm/gate/mark.h"
#include "telemetry/log.h"
#include "text/utf8.h"

namespace dove::slurm {
namespace {

constexpr const char kOurWords[] = "dovetail: ";
constexpr const char kBehindTheirs[] = " | dovetail: ";  // where its user has written a comment
constexpr std::size_t kWordsBytesMax = 200;
constexpr int kSays_per_look = 4;
constexpr std::size_t kTakeOuts_per_look = 16;
constexpr int kWhys_per_look = 8;
constexpr std::int64_t kWhyEvery_s = 30;
constexpr std::int64_t kRefusedAgain_s = 30;  // what was refused is handed in again
constexpr std::int64_t kEndAgain_s = 60;      // Slurm has its own grace
constexpr std::int64_t kEndFailed_s = 1;      // the first pause after a command that failed
constexpr std::int64_t kTakeOutAgain_s = 30;
constexpr int kFences_per_cycle = 4;
constexpr int kWarnings_per_cycle = 8;     // each is several commands
constexpr std::int64_t kFenceAgain_s = 3;  // on a node that had none

std::string line_of(std::string_view text) {
  std::string line(text.substr(0, text::utf8_bytes(text.substr(0, kWordsBytesMax))));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

// What the job's user wrote of its comment.
std::string own_comment(const std::string& comment) {
  if (comment.starts_with(kOurWords)) return "";
  return comment.substr(0, comment.find(kBehindTheirs));
}

}  // namespace

GateKeeper::GateKeeper(SlurmCluster& slurm, GateControl& control, Tell tell, GateFolder* folder,
                       std::string cluster, std::string incarnation, SchedulerWake* wake,
                       PastEnds* past_ends, std::int64_t signal_wait_s)
    : slurm_(slurm),
      control_(control),
      tell_(std::move(tell)),
      folder_(folder),
      cluster_(std::move(cluster)),
      incarnation_(std::move(incarnation)),
      wake_(wake),
      past_ends_(past_ends),
      signal_wait_s_(signal_wait_s) {}

void GateKeeper::move_back(std::int64_t back_s) {
  for (auto& [job, one] : known_) {
    one.told_s -= back_s;
    one.asked_why_s -= back_s;
  }
  for (auto& [job, one] : endings_) {
    one.again_s -= back_s;
    one.at_s -= back_s;
  }
  for (auto& [task, tried_s] : not_taken_out_s_) tried_s -= back_s;
  for (auto& [node, refused_s] : no_fence_s_) refused_s -= back_s;
  slurm::move_back(memory_, back_s);
}

void GateKeeper::read_words(const Observed& observed) {
  user_holds_.clear();
  words_.clear();
  std::map<std::int64_t, bool> words;
  if (folder_ != nullptr) words = folder_->holds();
  for (const JobSeen& job : observed.jobs) {
    if (!job.gate) continue;
    bool held = read_mark(job.mark).user_hold;
    if (const auto word = words.find(job.id); word != words.end()) {
      // A mark that shows it was written after the ledger had heard it, or by Lua.
      if (word->second == held) folder_->forget(job.id, held);
      held = word->second;
      words_[job.id] = held;
      words.erase(word);
    }
    if (held) user_holds_.insert(job.id);
  }
  // Slurm's numbers come again one day.
  const std::int64_t last = observed.jobs.empty() ? 0 : observed.jobs.back().id;
  for (const auto& [job, held] : words) {
    if (job < last) folder_->forget(job, held);
  }
}

// The ledger has heard them: they are kept in the marks. Their files go when a look shows that.
void GateKeeper::words_taken(const std::map<std::int64_t, const JobSeen*>& jobs) {
  for (const auto& [id, held] : words_) {
    const auto job = jobs.find(id);
    if (job == jobs.end()) continue;
    GateMark mark = read_mark(job->second->mark);
    if (std::exchange(mark.user_hold, held) == held) continue;
    (void)control_.mark(job->second->gate->handle, write_mark(mark));  // else at the next look
  }
}

// The ledger places tasks of arrays one by one. Slurm still counts how many run at once.
void GateKeeper::take_out(const Observed& observed, std::int64_t now_s) {
  std::map<std::int64_t, int> apart;
  for (const JobSeen& job : observed.jobs) {
    if (!job.gate || job.gate->array_job == 0 || !job.gate->array_tasks.empty()) continue;
    if (job.phase != JobPhase::kEnded) ++apart[job.gate->array_job];
  }
  took_out_ = false;
  std::size_t left = kTakeOuts_per_look;
  std::map<std::string, std::int64_t> failed;
  for (const JobSeen& job : observed.jobs) {
    if (!job.gate || job.gate->array_tasks.empty() || job.gate->depends) continue;
    if (!why_not_placed(job).empty() || user_holds_.contains(job.id)) continue;
    // Its user may have let go what was submitted with a hold; the word names the array alone.
    GateMark mark = read_mark(job.mark);
    mark.user_hold = false;
    const int most = tasks_at_once(job.gate->array_tasks);
    for (const int task : first_tasks(job.gate->array_tasks, kTakeOuts_per_look)) {
      int& running = apart[job.gate->array_job];
      if (left == 0 || (most > 0 && running >= most)) break;
      const std::string handle = fmt::format("{}_{}", job.gate->array_job, task);
      const auto before = not_taken_out_s_.find(handle);
      const bool is_known = before != not_taken_out_s_.end();
      if (is_known && now_s - before->second < kTakeOutAgain_s) {
        failed[handle] = before->second;
        break;
      }
      --left;
      const Result<void> taken = control_.mark(handle, write_mark(mark));
      if (taken.ok()) {
        ++running;
        took_out_ = true;
        continue;
      }
      failed[handle] = now_s;
      if (!is_known) {
        telemetry::log(
            telemetry::Level::kWarning, "array_task_not_taken_out",
            {{"slurm_job", job.gate->array_job}, {"task", task}, {"why", taken.error().message}});
      }
      break;
    }
  }
  not_taken_out_s_ = std::move(failed);
}

bool GateKeeper::is_told(const JobSeen& job, std::int64_t now_s) const {
  if (!job.gate || job.phase == JobPhase::kEnded || !job.gate->array_tasks.empty()) return false;
  if (job.phase != JobPhase::kWaiting) return true;
  // Its user may have made it depend on another one since: Slurm would not start it.
  if (job.gate->depends && job.gate->is_held) return false;
  const auto known = known_.find(job.id);
  if (known != known_.end() && known->second.job != 0) {
    // Its user or an administrator has named another one since, or there is none any more: the
    // ledger's job ends, and it is handed in again.
    const std::string& reservation = job.gate->reservation;
    return reservation.empty()
               ? known->second.reservation.empty()
               : known->second.reservation == reservation && job.gate->cannot.empty();
  }
  const bool is_begun = job.gate->restarts > 0 || job.gate->begins_s <= now_s;
  return !job.gate->depends && is_begun && why_not_placed(job).empty();
}

void GateKeeper::tell(const Observed& observed, std::int64_t now_s) {
  move_back(set_back_.look(now_s));
  says_left_ = kSays_per_look;
  check_marks(observed);
  read_words(observed);
  take_out(observed, now_s);
  GateRequest request;
  request.incarnation = incarnation_;
  request.number = ++number_;
  request.user_holds = user_holds_;
  std::map<std::int64_t, const JobSeen*> jobs;
  int whys = kWhys_per_look;
  has_waiting_ = false;
  for (const JobSeen& job : observed.jobs) {
    if (!is_told(job, now_s)) continue;
    jobs[job.id] = &job;
    const auto known = known_.find(job.id);
    const bool is_new = known == known_.end() || known->second.job == 0;
    GatePresent& present = request.present.emplace_back();
    present.id = job.id;
    if (!is_new) {
      present.job = known->second.job;
      // A hold is reported again: while the job was being placed, the ledger did not take it.
      if (user_holds_.contains(job.id)) {
        present.word = UserWord::kHold;
      } else if (words_.contains(job.id)) {
        present.word = UserWord::kRelease;
      }
    }
    if (job.phase != JobPhase::kWaiting) continue;
    has_waiting_ = true;
    const bool is_due = known == known_.end() || known->second.refused.empty() ||
                        now_s - known->second.told_s >= kRefusedAgain_s;
    if (is_new && is_due && request.jobs.size() < kGateJobsMax) {
      request.jobs.push_back(&job);
      Known& entry = known_[job.id];
      entry.restarts = job.gate->restarts;
      entry.reservation = job.gate->reservation;
      entry.told_s = now_s;
    }
    if (!is_new && whys > 0 && now_s - known->second.asked_why_s >= kWhyEvery_s) {
      --whys;
      known->second.asked_why_s = now_s;
      present.asks_why = true;
    }
  }
  std::erase_if(known_, [&](const auto& entry) { return !jobs.contains(entry.first); });
  std::erase_if(endings_, [&](const auto& entry) { return !jobs.contains(entry.first); });
  std::erase_if(said_, [&](const auto& entry) { return !jobs.contains(entry.first); });
  say_what_cannot(observed);
  const Result<std::vector<GateJob>> answer = tell_(request, observed.nodes);
  const std::string now = answer.ok() ? "" : answer.error().message;
  if (now != trouble_) {
    telemetry::log(now.empty() ? telemetry::Level::kInfo : telemetry::Level::kWarning, "gate",
                   {{"answers", now.empty()}, {"why", now}});
    trouble_ = now;
  }
  if (!answer.ok()) return;
  words_taken(jobs);
  for (const GateJob& said : *answer) {
    const auto job = jobs.find(said.id);
    if (job != jobs.end()) hear(said, *job->second, now_s);
  }
}

void GateKeeper::hear(const GateJob& said, const JobSeen& job, std::int64_t now_s) {
  const auto known = known_.find(job.id);
  switch (said.state) {
    case GateJob::State::kUnknown:
      if (known != known_.end()) known->second.job = 0;
      return;
    case GateJob::State::kWaiting:
    case GateJob::State::kActive: {
      Known& entry = known_[job.id];
      if (entry.job == 0) {
        entry.restarts = job.gate->restarts;
        entry.reservation = job.gate->reservation;
        telemetry::log(telemetry::Level::kInfo, "gate_job",
                       {{"slurm_job", job.id}, {"job", said.job}, {"user", job.user}});
      }
      entry.job = said.job;
      entry.refused.clear();
      if (said.state == GateJob::State::kWaiting) entry.restarts = job.gate->restarts;
      if (said.state == GateJob::State::kWaiting && !said.why.empty()) say(job, said.why);
      return;
    }
    case GateJob::State::kRefused: {
      Known& entry = known_[job.id];
      entry.job = 0;
      entry.refused = said.why;
      say(job, "not placed: " + said.why);
      return;
    }
    case GateJob::State::kEnded:
      break;
  }
  if (known == known_.end() || job.phase != JobPhase::kWaiting) return;
  // It was put back after that job of the ledger had ended: it is a new one.
  if (known->second.restarts != job.gate->restarts) {
    known_.erase(known);
    return;
  }
  if (!may_end(job, now_s)) return;
  put_back(job, {.slurm_job = job.id, .why = fmt::format("job {} here was cancelled", said.job)},
           now_s);
}

// A comment that its user wrote stays, before ours.
void GateKeeper::say(const JobSeen& job, const std::string& words) {
  const std::string own = own_comment(job.gate->comment);
  // Ours alone are cut: theirs has to come back whole.
  const std::string text =
      own.empty() ? line_of(kOurWords + words) : own + kBehindTheirs + line_of(words);
  if (text == job.gate->comment || said_[job.id] == text || says_left_ <= 0) return;
  --says_left_;
  if (control_.say(job.gate->handle, text).ok()) said_[job.id] = text;
}

void GateKeeper::say_what_cannot(const Observed& observed) {
  for (const JobSeen& job : observed.jobs) {
    if (!job.gate || job.phase != JobPhase::kWaiting || !job.gate->is_held) continue;
    const std::string why = why_not_placed(job);
    if (!why.empty()) say(job, "held: the gate has no place for " + why);
  }
}

// A fence that Lua has not marked is released as nobody's, and asked for anew.
void GateKeeper::check_marks(const Observed& observed) {
  for (const JobSeen& job : observed.jobs) {
    if (!new_fences_.contains(job.id) || !job.mark.empty()) continue;
    if (std::exchange(lua_marks_, false)) {
      telemetry::log(telemetry::Level::kWarning, "gate_lua_is_old",
                     {{"remedy", "install deploy/slurm/job_submit.lua of this version"}});
    }
  }
  new_fences_.clear();
}

bool GateKeeper::learn_ends(const std::set<std::int64_t>& gone, std::int64_t now_s) {
  std::map<std::int64_t, PastEnd> now;
  if (past_ends_ == nullptr) {
    for (const std::int64_t job : gone) now[job] = PastEnd{};
  } else {
    past_ends_->look(gone, now_s);
    now = past_ends_->known();
  }
  const bool changed = now != memory_.past;
  memory_.past = std::move(now);
  return changed;
}

GatePlan GateKeeper::plan(const Observed& observed, const std::vector<Wanted>& wanted,
                          const std::vector<WantedWork>& works, std::int64_t now_s) {
  move_back(set_back_.look(now_s));
  GatePlan plan = plan_gate(observed, wanted, works, memory_, cluster_, now_s);
  if (learn_ends(plan.gone, now_s)) {
    plan = plan_gate(observed, wanted, works, memory_, cluster_, now_s);
  }
  std::set<GateStart> starts;
  for (const Wanted& one : wanted) starts.insert({one.key.job, one.key.attempt});
  std::erase_if(memory_.refused, [&](const auto& one) { return !starts.contains(one.first); });
  std::erase_if(memory_.since_s, [&](const auto& one) { return !plan.tried.contains(one.first); });
  for (const GateStart& start : plan.tried) memory_.since_s.try_emplace(start, now_s);
  for (const auto& [start, why] : plan.newly_refused) memory_.refused[start] = why;
  for (const std::string& node : plan.surprises) memory_.surprised_s[node] = now_s;
  if (plan.fences.empty()) memory_.fence_trouble.clear();
  return plan;
}

// Slurm takes its time to end a job. A report on one run says nothing about the next.
bool GateKeeper::may_end(const JobSeen& job, std::int64_t now_s) const {
  const auto last = endings_.find(job.id);
  return last == endings_.end() || last->second.restarts != job.gate->restarts ||
         now_s >= last->second.again_s;
}

GateKeeper::Ending& GateKeeper::ending_of(const JobSeen& job) {
  Ending& ending = endings_[job.id];
  if (ending.restarts != job.gate->restarts) ending = {};
  ending.restarts = job.gate->restarts;
  return ending;
}

// A signal whose answer is lost is sent again.
bool GateKeeper::is_warned(const JobSeen& job, std::int64_t now_s) {
  Ending& ending = ending_of(job);
  if (ending.is_warned) return now_s >= ending.at_s;
  if (--warnings_left_ < 0) return false;
  const Result<std::int64_t> wait_s =
      send_last_signal(slurm_, job.id, job.gate->handle, signal_wait_s_);
  ending.is_warned = wait_s.ok();
  if (wait_s.ok()) ending.at_s = now_s + *wait_s;
  return wait_s.ok() && *wait_s == 0;
}

bool GateKeeper::put_back(const JobSeen& job, const GatePutBack& one, std::int64_t now_s) {
  const Result<void> done = control_.put_back(job.gate->handle, one);
  telemetry::log(telemetry::Level::kWarning, "gate_put_back",
                 {{"slurm_job", one.slurm_job},
                  {"why", one.why},
                  {"ended", !one.waits && !one.may_requeue},
                  {"why_not", done.ok() ? "" : done.error().message}});
  if (one.waits) return done.ok();
  Ending& ending = ending_of(job);
  ending.pause_s = done.ok() ? 0 : std::clamp(2 * ending.pause_s, kEndFailed_s, kEndAgain_s);
  ending.again_s = now_s + (done.ok() ? kEndAgain_s : ending.pause_s);
  return done.ok();
}

// Each blocks for a while, and the ledger waits for its answers.
bool GateKeeper::ask_fences(const std::vector<Ask>& fences, std::int64_t now_s) {
  std::erase_if(no_fence_s_, [&](const auto& one) { return now_s - one.second >= kFenceAgain_s; });
  bool changed = false;
  int left = kFences_per_cycle;
  for (Ask fence : fences) {
    if (no_fence_s_.contains(fence.node)) continue;
    if (left-- <= 0) break;
    fence.is_marked_by_gate = lua_marks_;
    const Result<std::int64_t> held = slurm_.ask(fence);
    changed = changed || held.ok();
    if (held.ok()) {
      if (lua_marks_) new_fences_.insert(*held);
      continue;
    }
    memory_.fence_trouble[fence.node] = held.error().message;
    no_fence_s_[fence.node] = now_s;
  }
  return changed;
}

bool GateKeeper::carry_out(const GatePlan& plan, const Observed& observed, std::int64_t now_s) {
  bool changed = false;
  std::map<std::int64_t, const JobSeen*> jobs;
  for (const JobSeen& job : observed.jobs) {
    if (job.gate) jobs[job.id] = &job;
  }
  warnings_left_ = kWarnings_per_cycle;
  for (const GatePutBack& one : plan.put_back) {
    const JobSeen& job = *jobs.at(one.slurm_job);
    if (!one.waits && !may_end(job, now_s)) continue;
    if (one.is_warned && !is_warned(job, now_s)) continue;
    changed = put_back(job, one, now_s) || changed;
  }
  for (const std::int64_t id : plan.cancel) {
    const JobSeen& job = *jobs.at(id);
    if (!may_end(job, now_s)) continue;
    changed = put_back(job, {.slurm_job = id, .why = "its job here is stopped"}, now_s) || changed;
  }
  for (const auto& [job, mark] : plan.marks) {
    changed = control_.mark(jobs.at(job)->gate->handle, mark).ok() || changed;
  }
  for (const std::int64_t fence : plan.release) changed = slurm_.release(fence).ok() || changed;
  for (const std::int64_t fence : plan.suspend) {
    const Result<void> suspended = slurm_.suspend(fence);
    changed = changed || suspended.ok();
    if (suspended.ok()) continue;
    telemetry::log(telemetry::Level::kWarning, "gate_fence_not_suspended",
                   {{"slurm_job", fence}, {"why", suspended.error().message}});
  }
  changed = ask_fences(plan.fences, now_s) || changed;
  // The ledger may not have been told by this look, nor by this process at all.
  if (!plan.place.empty()) read_words(observed);
  prepare_wake(plan, observed, now_s);
  changed = let_go(plan.place, jobs) || changed;
  if (wake_ != nullptr) wake_->fire();
  return changed;
}

// On a node where the first of them is to start: cores of its own are free there.
void GateKeeper::prepare_wake(const GatePlan& plan, const Observed& observed, std::int64_t now_s) {
  if (wake_ == nullptr) return;
  for (const GatePlacing& one : plan.place) {
    if (user_holds_.contains(one.slurm_job)) continue;
    const NodeSeen* node = observed.find_node(one.first_node);
    if (node != nullptr) wake_->prepare(*node, now_s);
    return;
  }
}

bool GateKeeper::let_go(const std::vector<GatePlacing>& places,
                        const std::map<std::int64_t, const JobSeen*>& jobs) {
  bool changed = false;
  for (GatePlacing one : places) {
    if (user_holds_.contains(one.slurm_job)) continue;  // the ledger has not heard it yet
    const JobSeen& job = *jobs.at(one.slurm_job);
    const std::string own = own_comment(job.gate->comment);
    if (own != job.gate->comment) one.comment = own;
    Result<void> done = control_.place(job.gate->handle, one);
    changed = done.ok() || changed;
    if (done.ok()) said_.erase(one.slurm_job);
    if (done.ok()) done = control_.let_go(job.gate->handle);
    telemetry::log(done.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning, "gate_let_go",
                   {{"slurm_job", one.slurm_job},
                    {"mark", one.mark},
                    {"nodes", one.nodes},
                    {"why_not", done.ok() ? "" : done.error().message}});
  }
  return changed;
}

}  // namespace dove::slurm
