// Keeping a session that would be ended as idle.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "core/idle/judge.h"
#include "server/handlers.h"
#include "server/job_select.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

struct Keeping {
  JobKept event;
  std::string rule;
  Span most;
};

// As long as the rule would leave the job alone after its user's last input, once more.
Result<Keeping> read_keeping(Context& context, const Call& call, Span wanted) {
  const core::State& state = context.state();
  TRY_ASSIGN(const core::Job* job, find_job(state, call.parameters[0]));
  if (!may_act(state, call.caller, *job)) return not_yours(call.caller, *job);
  const bool runs =
      job->phase == JobPhase::kActive && job->attempts.back().stage == Stage::kRunning;
  if (!runs) {
    return Error{ErrorKind::kConflict, "not_running",
                 fmt::format("job {} is not running, so nothing ends it", job->id.value), "id"};
  }
  TRY_ASSIGN(const AppSpec* app, context.session_apps.of(*job));
  const IdleRule* rule = core::idle_rule_of(state, *job->spec, app->name);
  const Span most = rule == nullptr ? Span{} : std::max(rule->no_input_for, rule->window);
  if (most.us == 0 || rule->exempt) {
    return Error{ErrorKind::kConflict, "no_idle_rule",
                 fmt::format("no rule ends job {} for being idle, so it need not be kept; a "
                             "lifetime cannot be put off",
                             job->id.value),
                 "id"};
  }
  const Instant now{context.desk.now().us};
  const Span length = wanted.us == 0 ? most : std::min(wanted, most);
  Instant until = now + length;
  if (rule->lifetime.us > 0) {
    until = std::min(until, job->attempts.back().started_at + rule->lifetime);
  }
  return Keeping{{job->id, until}, rule->name, most};
}

}  // namespace

void keep_job(Context& context, CallPtr call) {
  Span wanted;
  if (!call->request.body.empty()) {
    const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
      fields.span("for", wanted);
      if (wanted.us < 0) fields.fail("for_s", "out_of_range", "give a length of time");
    });
    if (!read.ok()) return call->fail(read.error());
  }
  const Result<Keeping> keeping = read_keeping(context, *call, wanted);
  if (!keeping.ok()) return call->fail(keeping.error());
  context.desk.submit(*call, keeping->event,
                      [call, keeping = *keeping](const Result<controller::Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        Json answer{{"id", keeping.event.job.value},
                                    {"rule", keeping.rule},
                                    {"log_head", committed->head.value}};
                        codec::put_instant(answer, "kept_until", keeping.event.until);
                        codec::put_span(answer, "most", keeping.most);
                        call->reply(200, answer);
                      });
}

}  // namespace dove::server
