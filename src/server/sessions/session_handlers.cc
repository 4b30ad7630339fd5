// Ways in to the apps of jobs, for browsers: codes, entries, and what whoever enters sees.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/sessions/session_app.h"
#include "views/job_view.h"
#include "views/reasons.h"
#include "views/state_words.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kEntryLasts_s = 12 * 3600;
constexpr std::int64_t kAgoMax_ms = 3'600'000;
constexpr std::size_t kActivityMost = 10'000;

Result<const core::Job*> job_to_use(const Context& context, const Call& call) {
  TRY_ASSIGN(const core::Job* job, find_job(context.state(), call.parameters[0]));
  if (may_enter(context.state(), call.caller, *job)) return job;
  return Error{ErrorKind::kDenied, "not_yours",
               fmt::format("job {} is of user {}, and not shared with you: `dove share {} {}` by "
                           "its user lets you in",
                           job->id.value, job->spec->user, job->id.value, call.caller.user),
               ""};
}

constexpr std::chrono::seconds kProgramWait{5};
constexpr TextRule kSecretRule{128, TextRule::Kind::kName};

// Why it does not run, in a line; "" when there is nothing to say.
std::string why_not(const Context& context, const core::Job& job) {
  if (job.phase == JobPhase::kEnded) return "";
  const core::State& state = context.state();
  const Json reasons =
      views::reasons_json(state, job, context.desk.explain(job), views::names_of_own(job));
  return reasons.empty() ? "" : reasons.front().value("text", "");
}

}  // namespace

AppSpec app_of(Context& context, const core::Job& job) {
  const auto blob = context.desk.blobs.find(job.spec->exec_digest);
  if (!blob.ok()) return {};
  const Json read = Json::parse(**blob, nullptr, /*allow_exceptions=*/false);
  if (read.is_discarded()) return {};
  Result<ExecSpec> exec = codec::decode_exec(read);
  return exec.ok() ? std::move(exec->app) : AppSpec{};
}

Result<AppSpec> required_app(Context& context, const core::Job& job) {
  const auto known = context.desk.blobs.find(job.spec->exec_digest);
  if (!known.ok() && known.error().kind == ErrorKind::kUnavailable) return known.error();
  AppSpec app = app_of(context, job);
  if (!app.name.empty() && (app.port != 0 || !app.socket.empty())) return app;
  return Error{
      ErrorKind::kConflict, "no_app",
      fmt::format("job {} serves no app: a session says where it serves with `app: {{name: "
                  "..., port: ...}}`; `dove port-forward {} PORT` leads to a port",
                  job.id.value, job.id.value),
      ""};
}

std::string session_url(const Context& context, const core::Job& job, const AppSpec& app) {
  if (!context.origins || app.name.empty()) return "";
  const std::string origin = context.origins->origin_of(job.id.value);
  // Whose port it is, is not known unless the browser says so.
  if (!context.origins->by_name()) return fmt::format("{}/.dove/open/{}", origin, job.id.value);
  return origin + (app.path.empty() ? "/" : app.path);
}

void issue_entry(Context& context, CallPtr call) {
  std::string state;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("state", state, {64, TextRule::Kind::kSha256});
    if (state.empty()) {
      fields.fail("state", "missing_field",
                  "give the state that the session's origin has sent the browser with");
    }
  });
  if (!read.ok()) return call->fail(read.error());
  const auto job = job_to_use(context, *call);
  if (!job.ok()) return call->fail(job.error());
  const auto app = required_app(context, **job);
  if (!app.ok()) return call->fail(app.error());
  if ((*job)->phase == JobPhase::kEnded) {
    return call->fail(
        Error{ErrorKind::kConflict, "session_over",
              fmt::format("job {} has ended: {}", (*job)->id.value, views::state_word(**job)), ""});
  }
  if (!context.origins) {
    return call->fail(Error{ErrorKind::kConflict, "no_proxy",
                            fmt::format("this server knows of no proxy (`--sessions-url`); `dove "
                                        "open {}` leads to the session from a terminal",
                                        (*job)->id.value),
                            ""});
  }
  const Instant now = context.desk.now();
  listener::Entry entry{(*job)->id, call->caller.user, call->caller.key, call->caller.is_root,
                        now + seconds(kEntryLasts_s)};
  const Key* key = accounts::find_key(context.state(), entry.key);
  if (!entry.key.empty() && key != nullptr) entry.ends = std::min(entry.ends, key->expires_at);
  const std::string origin = context.origins->origin_of((*job)->id.value);
  const auto code =
      context.entry_codes.issue(std::move(entry), origin, state, context.desk.loop.monotonic_us());
  if (!code.ok()) return call->fail(code.error());
  Json answer{{"code", *code}, {"origin", origin}};
  codec::put_instant(answer, "expires_at", Instant{now.us + EntryCodes::kLasts_us});
  call->reply(201, answer, {{"Cache-Control", "no-store"}});
}

void trade_entry(Context& context, CallPtr call) {
  std::string code;
  std::string nonce;
  std::string origin;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("code", code, kSecretRule);
    fields.text("nonce", nonce, kSecretRule);
    fields.text("origin", origin, kNameRule);
    if (code.empty() || nonce.empty() || origin.empty()) {
      fields.fail("code", "missing_field", "give the code, the browser's nonce, and the origin");
    }
  });
  if (!read.ok()) return call->fail(read.error());
  const auto entry =
      context.entry_codes.trade(code, origin, nonce, context.desk.loop.monotonic_us());
  if (!entry) {
    const Error wrong{ErrorKind::kUnauthenticated, "entry_code_invalid",
                      "this code was used, is older than a minute, or is for another browser or "
                      "session; open the session again",
                      "code"};
    const auto host = listener::host_of_peer(call->request.peer_address);
    return call->fail(context.desk.throttle->failed(host, wrong, context.desk.loop.monotonic_us()));
  }
  const core::Job* job = context.state().find_job(entry->job);
  std::vector<std::string> programs;
  if (job != nullptr) programs.push_back(job->spec->exec_digest);
  // The code is used up, so that this is answered in any case.
  context.desk.blobs.fetch(programs, kProgramWait, [&context, call, entry](const auto&) {
    const core::Job* now = context.state().find_job(entry->job);
    const AppSpec app = now == nullptr ? AppSpec{} : app_of(context, *now);
    Json answer{{"token", context.desk.identity.entry_token(*entry)},
                {"job", entry->job.value},
                {"user", entry->user},
                {"path", app.path.empty() ? "/" : app.path},
                {"app_tells_use", app.activity.starts_with('/')}};
    codec::put_instant(answer, "expires_at", entry->ends);
    answer["now_us"] = context.desk.now().us;
    call->reply(201, answer, {{"Cache-Control", "no-store"}});
  });
}

void get_entry(Context& context, CallPtr call) {
  const auto job = job_to_use(context, *call);
  if (!job.ok()) return call->fail(job.error());
  const auto app = required_app(context, **job);
  if (!app.ok()) return call->fail(app.error());
  const core::State& state = context.state();
  const Json summary = views::job_summary_json(state, **job);
  Json answer{{"job", (*job)->id.value},
              {"app", app->name},
              {"path", app->path.empty() ? "/" : app->path},
              {"may_read", may_read(state, call->caller, **job)},
              {"text", why_not(context, **job)}};
  for (const char* member : {"name", "user", "phase", "state", "promised_start",
                             "promised_start_us", "started_at", "started_at_us", "start_failure"}) {
    if (summary.contains(member)) answer[member] = summary.at(member);
  }
  answer["now_us"] = context.desk.now().us;
  call->reply(200, answer);
}

void note_activity(Context& context, CallPtr call) {
  std::int64_t ago_ms = 0;
  const Result<void> read = call->read_body(
      [&](codec::JsonFields& fields) { fields.integer("input_ago_ms", ago_ms, 0, kAgoMax_ms); });
  if (!read.ok()) return call->fail(read.error());
  const auto job = job_to_use(context, *call);
  if (!job.ok()) return call->fail(job.error());
  const core::State& state = context.state();
  if (context.activity.size() >= kActivityMost) {
    context.activity.keep([&](JobId id) {
      const core::Job* held = state.find_job(id);
      return held != nullptr && held->phase != JobPhase::kEnded;
    });
  }
  if ((*job)->phase == JobPhase::kActive) {
    context.activity.saw_input((*job)->id, Instant{context.desk.now().us - ago_ms * 1000});
  }
  call->responder->send(wire::Response{204, {}, ""});
}

}  // namespace dove::server
