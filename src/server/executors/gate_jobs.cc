// Jobs of an executor's users that wait for the ledger: its adapter says which, and hears what has
// become of each.
#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/state/executors/foreign.h"
#include "server/context.h"
#include "server/executors/waiting_job.h"
#include "server/handlers.h"
#include "views/reasons.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using codec::JsonFields;
using controller::Committed;
using Json = nlohmann::json;

constexpr std::size_t kPresentMax = 200'000;
constexpr std::size_t kJobsMax = 1000;
constexpr std::size_t kWhysMax = 64;  // explained in one answer
constexpr TextRule kIdRule{128, TextRule::Kind::kName};
// Between the clocks of the executor and of this controller.
constexpr Span kSkew = seconds(60);

enum class Word { kNone, kHold, kRelease };

struct Present {
  std::string id;
  JobId job;
  Word word = Word::kNone;
  bool asks_why = false;
};

struct Said {
  std::string incarnation;
  std::uint64_t number = 0;
  bool room = false;  // they start there by themselves, and ask for room
  std::vector<Present> present;
  std::vector<WaitingJob> jobs;
  std::map<std::string, std::string> not_understood;  // why, by the job's name
};

void read_present(JsonFields& fields, Present& one) {
  constexpr std::array<std::string_view, 2> kWords{"hold", "release"};
  fields.text("id", one.id, kIdRule);
  std::uint64_t job = 0;
  fields.integer("job", job);
  one.job = JobId(job);
  const int word = fields.one_of("word", kWords);
  if (word >= 0) one.word = word == 0 ? Word::kHold : Word::kRelease;
  fields.boolean("asks_why", one.asks_why);
  if (one.id.empty()) fields.fail("id", "missing_field", "name the job as its executor does");
}

// One that is not understood is refused alone: the others go on.
void read_jobs(JsonFields& fields, Said& said) {
  const Json* jobs = fields.find("jobs");
  if (jobs == nullptr) return;
  if (!jobs->is_array()) return fields.fail("jobs", "wrong_type", "expected a list");
  if (jobs->size() > kJobsMax) {
    return fields.fail("jobs", "too_many",
                       fmt::format("{} entries are over the limit of {}", jobs->size(), kJobsMax));
  }
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    codec::Failure failure;
    JsonFields inner((*jobs)[i], fields.path_of(fmt::format("jobs[{}]", i)), failure);
    WaitingJob job;
    read_waiting_job(inner, job);
    inner.done();
    if (!failure.any()) {
      said.jobs.push_back(std::move(job));
    } else if (job.id.empty()) {  // there is none to answer about
      return fields.failure().set(failure.error(), failure.error().field);
    } else {
      said.not_understood[job.id] =
          fmt::format("{}: {}", failure.error().field, failure.error().message);
    }
  }
}

void read_said(JsonFields& fields, Said& said) {
  fields.text("incarnation", said.incarnation, kIdRule);
  fields.integer("number", said.number);
  fields.boolean("room", said.room);
  fields.objects("present", kPresentMax, [&](JsonFields& inner, std::size_t) {
    read_present(inner, said.present.emplace_back());
  });
  read_jobs(fields, said);
  if (said.incarnation.empty()) {
    fields.fail("incarnation", "missing_field", "name this process of the adapter");
  }
  if (said.number == 0) fields.fail("number", "missing_field", "count the calls from 1");
}

// The executor's, which have not ended, by their names there; the youngest of a name.
std::map<std::string, const core::Job*> live_jobs(const core::State& state,
                                                  const std::string& executor) {
  std::map<std::string, const core::Job*> jobs;
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kEnded || job.spec->executor != executor) continue;
    if (!job.spec->foreign_job.empty()) jobs[job.spec->foreign_job] = &job;
  }
  return jobs;
}

// One call, until all that it submits is written down.
struct Round {
  Context& context;
  CallPtr call;
  Executor executor;
  Said said;
  CoreThreads threads;
  std::map<std::string, JobId> taken;
  std::map<std::string, std::string> refused;
  std::size_t pending = 1;            // the call itself
  std::optional<Error> trouble = {};  // reports on known jobs are not written down
};
using RoundPtr = std::shared_ptr<Round>;

// One of the same name that the adapter does not name by our id is looked at once it is described.
const core::Job* job_of(const core::State& state, const Round& round, const Present& one) {
  const auto is_its = [&](const core::Job* job) {
    return job != nullptr && job->spec->executor == round.executor.name &&
           job->spec->foreign_job == one.id;
  };
  if (const auto taken = round.taken.find(one.id); taken != round.taken.end()) {
    if (const core::Job* job = state.find_job(taken->second); is_its(job)) return job;
  }
  const core::Job* told = one.job ? state.find_job(one.job) : nullptr;
  return is_its(told) ? told : nullptr;
}

std::string why_of(Context& context, const core::Job& job) {
  const core::State& state = context.state();
  const std::vector<Reason> reasons = context.desk.explain(job);
  const Json words = views::reasons_json(state, job, reasons, views::names_of_own(job));
  return words.empty() ? "" : words.front().value("text", "");
}

void answer(const RoundPtr& round) {
  const core::State& state = round->context.state();
  Json jobs = Json::array();
  std::size_t whys = 0;
  for (const Present& one : round->said.present) {
    Json said{{"id", one.id}, {"job", 0}, {"state", "unknown"}, {"why", ""}};
    const core::Job* job = job_of(state, *round, one);
    if (const auto refused = round->refused.find(one.id); refused != round->refused.end()) {
      said["state"] = "refused";
      said["why"] = refused->second;
    } else if (job != nullptr) {
      said["job"] = job->id.value;
      switch (job->phase) {
        case JobPhase::kWaiting:
          said["state"] = "waiting";
          if (one.asks_why && ++whys <= kWhysMax) said["why"] = why_of(round->context, *job);
          break;
        case JobPhase::kActive:
          said["state"] = "active";
          break;
        case JobPhase::kEnded:
          said["state"] = "ended";
          break;
      }
    }
    jobs.push_back(std::move(said));
  }
  round->call->reply(200, Json{{"jobs", std::move(jobs)}});
}

void one_done(const RoundPtr& round) {
  if (--round->pending > 0) return;
  if (round->trouble) return round->call->fail(*round->trouble);
  answer(round);
}

// `after`: the job of the same key that has ended; none: 0.
std::string key_of(const Round& round, const WaitingJob& job, JobId after) {
  const std::string key = fmt::format("gate {} {} {} {}", round.executor.name, job.id,
                                      job.submitted_at.us, job.restarts);
  return after ? fmt::format("{} after {}", key, after.value) : key;
}

// While it waited here, by whom else than the adapter.
bool was_cancelled(const Round& round, JobId id) {
  const core::Job* job = round.context.state().find_job(id);
  return job != nullptr && job->outcome == Outcome::kCancelled && !job->cancelled_by.empty() &&
         job->cancelled_by.text() != round.call->cause().principal;
}

bool has_ended(const core::State& state, JobId id) {
  const core::Job* job = state.find_job(id);
  return job == nullptr || job->phase == JobPhase::kEnded;
}

void submit(const RoundPtr& round, const WaitingJob& job, JobId after = {}) {
  Context& context = round->context;
  Result<codec::Submission> made =
      round->said.room ? room_of(context.state(), round->executor, job, round->threads)
                       : submission_of(context.state(), round->executor, job, round->threads);
  if (!made.ok()) {
    round->refused[job.id] = made.error().message;
    return;
  }
  std::string blob = codec::encode_exec(made->exec);
  const std::string sha256 = wire::sha256_hex(blob);
  made->spec.exec_digest = sha256;
  StampedEvent event;
  event.cause = round->call->cause();
  event.cause.project = made->spec.project;
  event.cause.queue = made->spec.queue;
  // The same start of the same job, whoever tells it: once.
  event.cause.idempotency_key = key_of(*round, job, after);
  event.event = JobSubmitted{std::make_shared<const JobSpec>(std::move(made->spec))};
  context.desk.blobs.put(sha256, blob);
  controller::Input input;
  input.events.push_back(std::move(event));
  input.blobs.emplace_back(sha256, std::move(blob));
  input.kind = controller::InputKind::kNewWork;
  ++round->pending;
  context.desk.submit(std::move(input), [round, job, after](const Result<Committed>& committed) {
    const bool is_over = committed.ok() && committed->replayed && committed->first_job != after &&
                         has_ended(round->context.state(), committed->first_job);
    if (is_over && was_cancelled(*round, committed->first_job)) {
      round->taken[job.id] = committed->first_job;
    } else if (is_over) {  // it waits there still: it is a new one
      submit(round, job, committed->first_job);
    } else if (committed.ok()) {
      round->taken[job.id] = committed->first_job;
    } else {
      round->refused[job.id] = committed.error().message;
    }
    one_done(round);
  });
}

// Jobs that wait here and no longer there, and what users there have said.
controller::Input changes(const Round& round, const std::map<std::string, const core::Job*>& live) {
  controller::Input input;
  input.kind = controller::InputKind::kReport;
  input.skips_refused = true;
  const auto add = [&](Event event) {
    input.events.push_back(StampedEvent{std::move(event), round.call->cause()});
  };
  std::map<std::string_view, const Present*> present;
  for (const Present& one : round.said.present) present[one.id] = &one;
  const core::State& state = round.context.state();
  for (const auto& [id, job] : state.jobs) {
    if (job.phase == JobPhase::kEnded || job.spec->executor != round.executor.name) continue;
    if (job.spec->foreign_job.empty() || job.cancel_requested) continue;
    // What was given a place is the executor's to end; room is over with the wait there.
    const bool waits = job.phase == JobPhase::kWaiting;
    if (!waits && !core::only_gets_room(state, *job.spec)) continue;
    const auto there = present.find(job.spec->foreign_job);
    const bool is_other = live.at(job.spec->foreign_job) != &job;
    if (there == present.end() || is_other) {
      add(JobCancelRequested{job.id});
      continue;
    }
    if (!waits) continue;
    if (there->second->word == Word::kHold && !job.held) add(JobHeld{job.id});
    if (there->second->word == Word::kRelease && job.held) add(JobReleased{job.id});
  }
  return input;
}

void take(const RoundPtr& round) {
  const auto live = live_jobs(round->context.state(), round->executor.name);
  controller::Input input = changes(*round, live);
  for (const WaitingJob& job : round->said.jobs) {
    const auto known = live.find(job.id);
    if (known == live.end()) {
      submit(round, job);
      continue;
    }
    // The executor's numbers may have begun anew, or its clock is ahead of ours: the key of the
    // submission tells. The next call cancels a former one of the same number.
    // One that was put back says when that was: it is the same, and may be active here.
    const bool was_put_back = job.restarts > 0;
    if (was_put_back || known->second->submitted_at + kSkew >= job.submitted_at) {
      round->taken[job.id] = known->second->id;
      continue;
    }
    submit(round, job);
  }
  if (!input.events.empty()) {
    ++round->pending;
    round->context.desk.submit(std::move(input), [round](const Result<Committed>& committed) {
      if (!committed.ok()) round->trouble = committed.error();
      one_done(round);
    });
  }
  one_done(round);
}

// Whether such jobs may be told. What was told before may always be taken back.
Result<void> check_told(const Executor& executor, const Said& said) {
  const auto conflict = [&](const char* code, const char* what, const char* remedy) {
    return Error{ErrorKind::kConflict, code,
                 fmt::format("{} executor {}: {}", what, executor.name, remedy), ""};
  };
  if (!said.room && !executor.gate) {
    return conflict("executor_no_gate", "no job waits for the ledger in",
                    "an administrator declares it with `gate: true`");
  }
  if (said.room && executor.gate) {
    return conflict("executor_has_gate", "no job asks for room beside the gate of",
                    "start the adapter with `gate`, or have an administrator declare it without");
  }
  if (said.room && executor.yields_to.empty() && !said.jobs.empty()) {
    return conflict("executor_yields_to_nobody", "nothing makes room for jobs of",
                    "an administrator names their partitions in `yields_to`");
  }
  return {};
}

}  // namespace

void sync_waiting_jobs(Context& context, CallPtr call) {
  const Result<const Executor*> executor = executor_of(context.state(), *call);
  if (!executor.ok()) return call->fail(executor.error());
  Said said;
  const Result<void> read = call->read_body([&](JsonFields& fields) { read_said(fields, said); });
  if (!read.ok()) return call->fail(read.error());
  const Result<void> may = check_told(**executor, said);
  if (!may.ok()) return call->fail(may.error());
  const Result<void> begun =
      context.syncs.begin_waiting((*executor)->name, said.incarnation, said.number);
  if (!begun.ok()) return call->fail(begun.error());
  std::map<std::string, std::string> refused = std::move(said.not_understood);
  CoreThreads threads;
  if (!said.jobs.empty()) threads = threads_of_cores(context.state(), (*executor)->name);
  take(std::make_shared<Round>(Round{context,
                                     std::move(call),
                                     **executor,
                                     std::move(said),
                                     std::move(threads),
                                     {},
                                     std::move(refused)}));
}

}  // namespace dove::server
