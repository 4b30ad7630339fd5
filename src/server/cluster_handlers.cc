// The cluster as a whole, its log, and how the server itself does.
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/openapi.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

Result<Seq> read_after(const Call& call, Seq otherwise) {
  const std::string resumed(call.request.header("Last-Event-ID"));
  TRY_ASSIGN(const std::int64_t after,
             call.query_number("after", static_cast<std::int64_t>(otherwise.value), 0, INT64_MAX));
  if (resumed.empty()) return Seq(static_cast<std::uint64_t>(after));
  std::uint64_t value = 0;
  for (const char c : resumed) {
    if (c < '0' || c > '9' || value > (UINT64_MAX >> 5)) {
      return invalid("bad_parameter", "Last-Event-ID is the id of an event of this stream",
                     "Last-Event-ID");
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return Seq(value);
}

Result<EventFilter> read_filter(const Call& call, const core::State& state) {
  EventFilter filter;
  for (std::string& kind : split_list(call.query_text("kind")))
    filter.kinds.insert(std::move(kind));
  if (const std::string job = call.query_text("job"); !job.empty()) {
    TRY_ASSIGN(const core::Job* found, find_job(state, job));
    if (!may_see(state, call.caller, *found)) return not_yours(call.caller, *found);
    filter.job = found->id;
  }
  filter.user = call.query_text("user");
  if (call.request.find_query("from") != nullptr) {
    filter.from.emplace();
    TRY_ASSIGN(filter.from->us, call.query_number("from", 0, 0, INT64_MAX));
  }
  TRY_ASSIGN(filter.before.us, call.query_number("before", kNever.us, 0, INT64_MAX));
  filter.audit = call.query_flag("audit");
  if (filter.audit && !accounts::may_audit(call.caller)) {
    return Error{ErrorKind::kDenied, "role_needed",
                 "this takes the role auditor or admin on the cluster", "audit"};
  }
  return filter;
}

EventFeed::Reader reader_of(const CallPtr& call) {
  return {call->caller, [responder = call->responder] { return !responder->peer_alive(); }};
}

// ?order=newest: `after` goes back in time.
void get_older_events(Context& context, const CallPtr& call, const EventFilter& filter) {
  const Result<std::int64_t> before = call->query_number("after", INT64_MAX, 1, INT64_MAX);
  if (!before.ok()) return call->fail(before.error());
  const Result<std::int64_t> limit = call->query_number("limit", 1000, 1, 10'000);
  if (!limit.ok()) return call->fail(limit.error());
  context.feed.page_before(
      Seq(static_cast<std::uint64_t>(*before)), filter, reader_of(call),
      static_cast<std::size_t>(*limit), [&context, call](const Result<EventFeed::OlderPage>& page) {
        if (!page.ok()) return call->fail(page.error());
        call->reply(200, Json{{"events", page->records},
                              {"next", page->older ? Json(page->older->value) : Json(nullptr)},
                              {"log_head", context.state().head.value}});
      });
}

}  // namespace

void get_cluster(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const views::ClusterTotals::Amounts& totals =
      context.totals.of(state, [&context] { return context.desk.loop.monotonic_us(); });
  const int active = state.usage.jobs_running;
  const int waiting = state.usage.jobs_waiting;
  call->reply(
      200,
      Json{{"name", state.settings.name},
           {"version", context.version},
           {"level", state.level},
           {"level_newest", kProgramLevel},
           {"log_head", state.head.value},
           {"epoch", state.epoch.value},
           {"now_us", context.desk.now().us},
           {"troubles", context.desk.troubles()},
           {"sessions_url", context.sessions_url},
           {"nodes",
            {{"total", totals.total},
             {"connected", totals.connected},
             {"drained", totals.drained},
             {"lost", totals.lost}}},
           {"jobs",
            {{"waiting", waiting},
             {"running", active},
             {"ended", static_cast<std::int64_t>(state.jobs.size()) - active - waiting}}},
           {"cores", {{"total", totals.cores}, {"free", totals.cores_free}}},
           {"gpus", {{"total", totals.gpus}, {"free_milli", totals.gpus_free_milli}}},
           {"memory_bytes", {{"total", totals.memory_bytes}, {"free", totals.memory_free_bytes}}}});
}

void get_events(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Result<EventFilter> filter = read_filter(*call, state);
  if (!filter.ok()) return call->fail(filter.error());
  const bool streamed =
      call->request.header("Accept").find("text/event-stream") != std::string_view::npos;
  if (const std::string order = call->query_text("order"); !order.empty()) {
    if (order == "newest" && !streamed) return get_older_events(context, call, *filter);
    return call->fail(invalid("bad_parameter",
                              "order=newest is for a page; a stream is always in order", "order"));
  }
  if (streamed && filter->before != kNever) {
    return call->fail(
        invalid("bad_parameter", "before is for a page; a stream has no end", "before"));
  }
  const bool from_now = streamed && !filter->from.has_value();
  const Result<Seq> after = read_after(*call, from_now ? state.head : Seq());
  if (!after.ok()) return call->fail(after.error());
  if (streamed) {
    return context.feed.follow(call->responder->stream(200, {{"Content-Type", "text/event-stream"},
                                                             {"Cache-Control", "no-store"}}),
                               *after, *filter, call->caller);
  }
  const Result<std::int64_t> limit = call->query_number("limit", 1000, 1, 10'000);
  if (!limit.ok()) return call->fail(limit.error());
  context.feed.page(
      *after, *filter, reader_of(call), static_cast<std::size_t>(*limit),
      [&context, call](const Result<EventFeed::Page>& page) {
        if (!page.ok()) return call->fail(page.error());
        const Seq head = context.state().head;
        const bool more = !page->is_late && page->looked_through < head;
        call->reply(200, Json{{"events", page->records},
                              {"next", more ? Json(page->looked_through.value) : Json(nullptr)},
                              {"log_head", head.value}});
      });
}

void get_health(Context& context, CallPtr call) {
  Json alive{{"status", "ok"}};
  if (context.agents_port != 0) alive["agents_port"] = context.agents_port;
  call->reply(200, alive);
}

void get_readiness(Context& context, CallPtr call) {
  if (const auto refusal = context.desk.controller.refusal()) {
    return call->responder->send(wire::problem(503, *refusal));
  }
  if (const auto shortage = context.desk.controller.shortage()) {
    return call->responder->send(wire::problem(503, *shortage));
  }
  call->reply(200, Json{{"status", "ready"}});
}

void get_version(Context& context, CallPtr call) {
  call->reply(200, Json{{"version", context.version}, {"api", "v1"}});
}

void get_openapi(Context&, CallPtr call) {
  call->responder->send(
      wire::Response{200, {{"Content-Type", "application/yaml"}}, std::string(openapi_text())});
}

}  // namespace dove::server
