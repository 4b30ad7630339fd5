// Submitting jobs, and what people do to them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "core/admit/admit.h"
#include "core/state/apply.h"
#include "server/context.h"
#include "server/executors/executor_jobs.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/notices/job_mail.h"
#include "server/offer_warnings.h"
#include "server/secrets/job_secrets.h"
#include "server/sessions/side_jobs.h"
#include "server/settings/job_settings.h"
#include "views/reasons.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::size_t kKeyBytesMax = 255;

Json submitted_json(const Committed& committed, const std::vector<std::string>& more) {
  Json ids = Json::array();
  for (std::int32_t i = 0; i < committed.jobs; ++i) {
    ids.push_back(committed.first_job.value + static_cast<std::uint64_t>(i));
  }
  std::vector<std::string> warnings = committed.warnings;
  warnings.insert(warnings.end(), more.begin(), more.end());
  return Json{{"id", committed.first_job.value},
              {"ids", std::move(ids)},
              {"warnings", std::move(warnings)},
              {"log_head", committed.head.value}};
}

Result<std::vector<const core::Job*>> own_jobs(Context& context, const Call& call) {
  TRY_ASSIGN(std::vector<const core::Job*> jobs, find_jobs(context.state(), call.parameters[0]));
  for (const core::Job* job : jobs) {
    if (!may_act(context.state(), call.caller, *job)) return not_yours(call.caller, *job);
  }
  return jobs;
}

// The events for each job that the path names; a whole array counts as done when one element was.
void act_with(Context& context, CallPtr call,
              const std::function<std::vector<Event>(const core::Job&)>& events_of,
              controller::InputKind kind = controller::InputKind::kRequest) {
  const Result<std::vector<const core::Job*>> jobs = own_jobs(context, *call);
  if (!jobs.ok()) return call->fail(jobs.error());
  controller::Input input;
  input.skips_refused = true;
  input.kind = kind;
  Json ids = Json::array();
  for (const core::Job* job : *jobs) {
    for (Event& each : events_of(*job)) {
      StampedEvent event{std::move(each), call->cause()};
      event.cause.project = job->spec->project;
      event.cause.queue = job->spec->queue;
      input.events.push_back(std::move(event));
    }
    ids.push_back(job->id.value);
  }
  context.desk.submit(std::move(input), [call,
                                         ids = std::move(ids)](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    if (committed->admitted == 0 && committed->first_refusal.has_value()) {
      return call->fail(*committed->first_refusal);
    }
    const std::size_t changed = std::min(static_cast<std::size_t>(committed->admitted), ids.size());
    call->reply(200, Json{{"ids", ids}, {"changed", changed}, {"log_head", committed->head.value}});
  });
}

void act(Context& context, CallPtr call, const std::function<Event(const core::Job&)>& event_of,
         controller::InputKind kind = controller::InputKind::kRequest) {
  act_with(
      context, std::move(call),
      [&](const core::Job& job) { return std::vector<Event>{event_of(job)}; }, kind);
}

struct SignalName {
  std::string_view name;
  int number;
};
constexpr std::array kSignals = {
    SignalName{"HUP", SIGHUP},   SignalName{"INT", SIGINT},    SignalName{"QUIT", SIGQUIT},
    SignalName{"KILL", SIGKILL}, SignalName{"USR1", SIGUSR1},  SignalName{"USR2", SIGUSR2},
    SignalName{"TERM", SIGTERM}, SignalName{"CONT", SIGCONT},  SignalName{"STOP", SIGSTOP},
    SignalName{"TSTP", SIGTSTP}, SignalName{"WINCH", SIGWINCH}};

struct SignalWish {
  int number = 0;
  backends::SignalTo to = backends::SignalTo::kAll;
  std::int32_t step = -1;  // -1: all tasks
};

int read_signal_number(codec::JsonFields& fields) {
  const Json* given = fields.find("signal");
  if (given != nullptr && given->is_number_integer() && *given >= 1 && *given <= 64) {
    return given->get<int>();
  }
  if (given != nullptr && given->is_string()) {
    std::string_view name = given->get_ref<const std::string&>();
    if (name.starts_with("SIG")) name.remove_prefix(3);
    for (const SignalName& each : kSignals) {
      if (each.name == name) return each.number;
    }
  }
  fields.fail("signal", "bad_signal", "signal is a number from 1 to 64, or a name such as USR1");
  return 0;
}

void signal_step(Context& context, const Call& call, const core::Job& job, const SignalWish& wish) {
  const bool known =
      job.phase == JobPhase::kActive &&
      context.nodes.steps.send_signal(job.id, job.attempts.back().number, wish.step, wish.number);
  if (known) return call.reply(200, Json{{"nodes", 1}});
  call.fail(Error{ErrorKind::kNotFound, "no_such_step",
                  fmt::format("job {} runs no such step now", job.id.value), "step"});
}

// What nodes said last is in the ledger, so it holds for those that are not back yet, too.
bool all_have_overlay(const core::State& state) {
  bool any = false;
  for (const core::Node& node : state.nodes) {
    if (node.removed || node.contact == Contact::kLost) continue;
    if (!node.inventory->has_overlay) return false;
    any = true;
  }
  return any;
}

// Nodes of one attempt have to agree on the network of its containers. Where every node offers one
// of the gang's, a job that may be on several has it; else they decide by themselves
// (agent/attempts/order.cc).
void choose_network(const Context& context, const JobSpec& spec, ContainerSpec& container) {
  if (container.image.empty() || container.network != ContainerNetwork::kDefault) return;
  const bool is_one = spec.groups.size() == 1 && spec.groups.front().nodes_min <= 1 &&
                      (spec.groups.front().tasks == 1 || spec.groups.front().nodes_max == 1);
  if (!is_one && all_have_overlay(context.state())) container.network = ContainerNetwork::kGang;
}

// What only administrators may do later, nobody else does at once: a priority goes before the jobs
// of others. Settings may give one, which only administrators declare.
Result<void> check_priority(const core::State& state, const accounts::Caller& caller,
                            const codec::Submission& given) {
  if (given.spec.priority <= 0 || caller.admin) return {};
  codec::Submission without = given;
  without.spec.priority = 0;
  std::vector<std::string> applied;
  TRY_ASSIGN(without, with_settings(state, std::move(without), 0, applied));
  const std::int32_t most = std::max(without.spec.priority, 0);
  if (given.spec.priority <= most) return {};
  return Error{
      ErrorKind::kDenied, "admin_only",
      fmt::format("priority {} is above {}, and only administrators may give a higher one: "
                  "give your other jobs a lower one, or ask an administrator",
                  given.spec.priority, most),
      "priority"};
}

struct Taken {
  codec::Submission submission;
  std::vector<std::string> warnings;
};

// The submission as it is to be run: with its caller, and what settings add.
Result<Taken> take_submission(Context& context, const accounts::Caller& caller, Json body) {
  TRY_ASSIGN(const JobId main, take_side_of(context, caller, body));
  TRY_ASSIGN(codec::Submission read, codec::read_submission(body));
  read.spec.user = caller.user;
  read.spec.parent = caller.job;
  TRY(check_priority(context.state(), caller, read));
  std::vector<std::string> warnings;
  TRY_ASSIGN(codec::Submission submission,
             with_settings(context.state(), std::move(read), context.routed++, warnings));
  if (main) TRY(make_side(submission, main));
  TRY(check_executor_exec(submission.spec, submission.exec));
  TRY(check_secrets(context.state(), submission.spec, submission.exec));
  choose_network(context, submission.spec, submission.exec.container);
  TRY_ASSIGN(const std::vector<std::string> mailed, take_mail(context, submission.spec));
  const bool is_ours = submission.spec.executor.empty();
  for (const auto& more : {is_ours ? offer_warnings(context, submission.spec, submission.exec)
                                   : executor_warnings(submission.spec, submission.exec),
                           mailed}) {
    warnings.insert(warnings.end(), more.begin(), more.end());
  }
  return Taken{std::move(submission), std::move(warnings)};
}

// What would become of it now; nothing is written down.
void try_job(Context& context, const CallPtr& call, JobSpec spec,
             const std::vector<std::string>& more) {
  Result<std::vector<std::string>> warnings = core::admit(context.state(), spec);
  if (!warnings.ok()) return call->fail(warnings.error());
  warnings->insert(warnings->end(), more.begin(), more.end());
  const core::State& state = context.state();
  const core::Job job = core::job_of(state, std::make_shared<const JobSpec>(std::move(spec)));
  const std::vector<Reason> reasons = context.desk.explain(job);
  const auto may_name = [&](const core::Job& other) { return may_see(state, call->caller, other); };
  call->reply(200, Json{{"warnings", std::move(warnings).value()},
                        {"starts_at_once", reasons.empty()},
                        {"reasons", views::reasons_json(state, job, reasons, may_name)}});
}

}  // namespace

void submit_job(Context& context, CallPtr call) {
  Result<Json> body = codec::parse_json(call->request.body, 8 << 20, call->values_max);
  if (!body.ok()) return call->fail(body.error());
  const std::string key(call->request.header("Idempotency-Key"));
  if (key.size() > kKeyBytesMax) {
    return call->fail(invalid("bad_idempotency_key",
                              fmt::format("an Idempotency-Key has at most {} bytes", kKeyBytesMax),
                              "Idempotency-Key"));
  }
  Result<Taken> taken = take_submission(context, call->caller, std::move(body).value());
  if (!taken.ok()) return call->fail(taken.error());
  codec::Submission& submission = taken->submission;
  std::vector<std::string>& warnings = taken->warnings;
  if (call->query_flag("dry_run")) {
    return try_job(context, call, std::move(submission.spec), warnings);
  }
  std::string blob = codec::encode_exec(submission.exec);
  const std::string sha256 = wire::sha256_hex(blob);
  submission.spec.exec_digest = sha256;
  StampedEvent event;
  event.cause = call->cause();
  event.cause.project = submission.spec.project;
  event.cause.queue = submission.spec.queue;
  event.cause.idempotency_key = key;
  if (!key.empty()) event.cause.body_sha256 = wire::sha256_hex(call->request.body);
  event.event = JobSubmitted{std::make_shared<const JobSpec>(std::move(submission.spec))};
  context.desk.blobs.put(sha256, blob);
  controller::Input input;
  input.events.push_back(std::move(event));
  input.blobs.emplace_back(sha256, std::move(blob));
  input.kind = controller::InputKind::kNewWork;
  context.desk.submit(
      std::move(input), [call, warnings = std::move(warnings)](const Result<Committed>& committed) {
        if (!committed.ok()) return call->fail(committed.error());
        wire::Pairs headers{{"Location", fmt::format("/v1/jobs/{}", committed->first_job.value)}};
        if (committed->replayed) headers.emplace_back("Idempotent-Replayed", "true");
        call->reply(201, submitted_json(*committed, warnings), std::move(headers));
      });
}

void cancel_job(Context& context, CallPtr call) {
  if (call->caller.job) context.nodes.work.expect_own_end(call->caller.job);
  act(
      context, std::move(call),
      [](const core::Job& job) { return Event(JobCancelRequested{job.id}); },
      controller::InputKind::kRelief);
}

void hold_job(Context& context, CallPtr call) {
  act(context, std::move(call), [](const core::Job& job) { return Event(JobHeld{job.id}); });
}

void release_job(Context& context, CallPtr call) {
  act(context, std::move(call), [](const core::Job& job) { return Event(JobReleased{job.id}); });
}

void requeue_job(Context& context, CallPtr call) {
  bool holds = false;
  const Result<void> read =
      call->request.body.empty()
          ? Result<void>()
          : call->read_body([&](codec::JsonFields& fields) { fields.boolean("hold", holds); });
  if (!read.ok()) return call->fail(read.error());
  if (call->caller.job) context.nodes.work.expect_own_end(call->caller.job);
  act_with(context, std::move(call), [holds](const core::Job& job) {
    std::vector<Event> events;
    if (!holds || job.phase != JobPhase::kWaiting) events.emplace_back(JobRequeueRequested{job.id});
    if (holds) events.emplace_back(JobHeld{job.id});
    return events;
  });
}

// The job itself knows when its work is saved; its user may say so for it.
void note_checkpoint(Context& context, CallPtr call) {
  const Result<const core::Job*> job = find_job(context.state(), call->parameters[0]);
  if (!job.ok()) return call->fail(job.error());
  if (call->caller.job && call->caller.job != (*job)->id) {
    return call->fail(
        Error{ErrorKind::kDenied, "not_yours",
              "only the job itself, with its own token, can say that it has saved its work", ""});
  }
  act(context, std::move(call), [](const core::Job& each) {
    const AttemptNumber attempt = each.attempts.empty() ? 0 : each.attempts.back().number;
    return Event(CheckpointTaken{each.id, attempt});
  });
}

void set_job_priority(Context& context, CallPtr call) {
  constexpr std::int32_t kMost = 1'000'000'000;
  std::int32_t priority = 0;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    if (!fields.has("priority")) fields.fail("priority", "missing_field", "give the new priority");
    fields.integer("priority", priority, -kMost, kMost);
  });
  if (!read.ok()) return call->fail(read.error());
  const Result<std::vector<const core::Job*>> jobs = own_jobs(context, *call);
  if (!jobs.ok()) return call->fail(jobs.error());
  const bool raises = std::any_of(jobs->begin(), jobs->end(),
                                  [&](const core::Job* job) { return priority > job->priority; });
  if (raises && !call->caller.admin) {
    return call->fail(Error{ErrorKind::kDenied, "admin_only",
                            "only administrators may raise a job's priority; you may lower it",
                            "priority"});
  }
  act(context, std::move(call), [priority](const core::Job& job) {
    return Event(JobPriorityChanged{job.id, priority});
  });
}

void signal_job(Context& context, CallPtr call) {
  SignalWish wish;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    wish.number = read_signal_number(fields);
    bool batch_only = false;
    bool steps_only = false;
    fields.boolean("batch_only", batch_only);
    fields.boolean("steps_only", steps_only);
    if (batch_only && steps_only) {
      fields.fail("steps_only", "given_twice", "give batch_only or steps_only, or neither for all");
    }
    wish.to = batch_only   ? backends::SignalTo::kScript
              : steps_only ? backends::SignalTo::kSteps
                           : backends::SignalTo::kAll;
    fields.integer("step", wish.step, 0, INT32_MAX);
  });
  if (!read.ok()) return call->fail(read.error());
  const Result<std::vector<const core::Job*>> jobs = own_jobs(context, *call);
  if (!jobs.ok()) return call->fail(jobs.error());
  const Result<void> reached_from_here = check_reachable(*jobs->front(), "its processes");
  if (!reached_from_here.ok()) return call->fail(reached_from_here.error());
  if (wish.step >= 0) return signal_step(context, *call, *jobs->front(), wish);
  int reached = 0;
  for (const core::Job* job : *jobs) {
    if (job->phase != JobPhase::kActive) continue;
    reached += context.nodes.work.signal(*job, wish.number, wish.to);
  }
  if (reached == 0) {
    return call->fail(Error{ErrorKind::kConflict, "not_running",
                            "the job has no running task on a connected node", "id"});
  }
  call->reply(200, Json{{"nodes", reached}});
}

}  // namespace dove::server
