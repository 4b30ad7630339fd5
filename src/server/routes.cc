#include "server/routes.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "server/context.h"
#include "server/handlers.h"
#include "server/node_care.h"

namespace dove::server {
namespace {

constexpr std::size_t kMiB = 1 << 20;

constexpr std::array kRoutes = {
    Route{"POST", "/v1/jobs", "submitJob", Access::kPerson, submit_job},
    Route{"GET", "/v1/jobs", "listJobs", Access::kPerson, list_jobs},
    Route{"GET", "/v1/jobs/{id}", "getJob", Access::kPerson, get_job},
    Route{"DELETE", "/v1/jobs/{id}", "deleteJob", Access::kPerson, cancel_job},
    Route{"POST", "/v1/jobs/{id}/cancel", "cancelJob", Access::kPerson, cancel_job},
    Route{"POST", "/v1/jobs/{id}/hold", "holdJob", Access::kPerson, hold_job},
    Route{"POST", "/v1/jobs/{id}/release", "releaseJob", Access::kPerson, release_job},
    Route{"POST", "/v1/jobs/{id}/requeue", "requeueJob", Access::kPerson, requeue_job},
    Route{"POST", "/v1/jobs/{id}/checkpoint", "noteCheckpoint", Access::kPerson, note_checkpoint},
    Route{"POST", "/v1/jobs/{id}/priority", "setJobPriority", Access::kPerson, set_job_priority},
    Route{"POST", "/v1/jobs/{id}/signal", "signalJob", Access::kPerson, signal_job},
    Route{"GET", "/v1/jobs/{id}/why", "whyJob", Access::kPerson, why_job},
    Route{"GET", "/v1/jobs/{id}/logs", "readJobLog", Access::kPerson, read_job_log},
    Route{"POST", "/v1/jobs/{id}/steps", "runStep", Access::kPerson, run_step},
    Route{"POST", "/v1/jobs/{id}/steps/{step}/attach", "attachStep", Access::kPerson, attach_step},
    Route{"POST", "/v1/jobs/{id}/steps/{step}/input", "writeStepInput", Access::kPerson,
          write_step_input},
    Route{"GET", "/v1/jobs/{id}/exec", "openExec", Access::kPerson, open_exec},
    Route{"GET", "/v1/nodes", "listNodes", Access::kPerson, list_nodes},
    Route{"GET", "/v1/nodes/{name}", "getNode", Access::kPerson, get_node},
    Route{"DELETE", "/v1/nodes/{name}", "removeNode", Access::kAdmin, remove_node},
    Route{"POST", "/v1/nodes/{name}/drain", "drainNode", Access::kAdmin, drain_node},
    Route{"POST", "/v1/nodes/{name}/action", "askNode", Access::kAdmin, ask_node},
    Route{"POST", "/v1/care-plan", "planCare", Access::kAdmin, plan_care},
    Route{"POST", "/v1/nodes/{name}/findings", "reportFinding", Access::kAdmin, report_finding},
    Route{"POST", "/v1/nodes/{name}/undrain", "undrainNode", Access::kAdmin, undrain_node},
    Route{"GET", "/v1/pools", "listPools", Access::kPerson, list_pools},
    Route{"GET", "/v1/queues", "listQueues", Access::kPerson, list_queues},
    Route{"GET", "/v1/objects", "listObjects", Access::kPerson, list_objects},
    Route{"POST", "/v1/objects", "applyObjects", Access::kAdmin, apply_objects},
    Route{"GET", "/v1/objects/{kind}/{name}", "getObject", Access::kPerson, get_object},
    Route{"PUT", "/v1/objects/{kind}/{name}", "applyObject", Access::kAdmin, apply_object},
    Route{"DELETE", "/v1/objects/{kind}/{name}", "deleteObject", Access::kAdmin, delete_object},
    Route{"POST", "/v1/users/{name}/token", "issueUserToken", Access::kAdmin, issue_user_token},
    Route{"POST", "/v1/join-tokens", "issueJoinToken", Access::kAdmin, issue_join_token},
    Route{"GET", "/v1/cluster", "getCluster", Access::kPerson, get_cluster},
    Route{"GET", "/v1/events", "getEvents", Access::kPerson, get_events},
    Route{"GET", "/healthz", "getHealth", Access::kAnyone, get_health},
    Route{"GET", "/readyz", "getReadiness", Access::kAnyone, get_readiness},
    Route{"GET", "/version", "getVersion", Access::kAnyone, get_version},
    Route{"GET", "/metrics", "getMetrics", Access::kPerson, get_metrics},
    Route{"GET", "/openapi.yaml", "getOpenapi", Access::kAnyone, get_openapi},
    Route{"POST", "/v1/agents/join", "joinAgent", Access::kHandler, join_agent},
    Route{"POST", "/v1/agents/{name}/sync", "syncAgent", Access::kAgent, sync_agent},
    Route{"GET", "/v1/agents/{name}/orders", "streamOrders", Access::kAgent, stream_orders},
    Route{"POST", "/v1/agents/{name}/report", "takeReport", Access::kAgent, take_report},
    Route{"POST", "/v1/agents/{name}/relays/{id}", "takeRelayed", Access::kAgent, take_relayed},
    Route{"GET", "/v1/agents/{name}/relays/{id}/input", "readStepInput", Access::kAgent,
          read_step_input},
    Route{"GET", "/v1/agents/{name}/execs/{id}", "joinExec", Access::kAgent, join_exec},
};

std::string_view next_part(std::string_view& path) {
  path.remove_prefix(1);
  const std::size_t end = path.find('/');
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(part.size());
  return part;
}

// The path with its parts still encoded: a name may hold a slash, "research%2Fvision".
std::string_view encoded_path(const wire::Request& request) {
  std::string_view target = request.target;
  if (target.find('%') == std::string_view::npos) return request.path;
  if (const std::size_t scheme = target.find("://"); !target.starts_with('/')) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  return target.substr(0, target.find_first_of("?#"));
}

std::string decoded(std::string_view part) {
  const auto text = wire::percent_decode(part, false);
  return text.ok() ? *text : std::string(part);  // the whole was decoded before
}

bool match(std::string_view pattern, std::string_view path, std::vector<std::string>& parameters) {
  parameters.clear();
  while (!pattern.empty() && !path.empty()) {
    if (path.front() != '/') return false;
    const std::string_view wanted = next_part(pattern);
    const std::string_view part = next_part(path);
    if (!wanted.empty() && wanted.front() == '{') {
      if (part.empty()) return false;
      parameters.push_back(decoded(part));
    } else if (wanted != part) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

Result<Caller> find_caller(Context& context, const Route& route, const Call& call) {
  switch (route.access) {
    case Access::kAnyone:
    case Access::kHandler:
      return Caller{};
    case Access::kAgent:
      return context.identity.agent(call.request, context.state(), call.parameters.front());
    case Access::kPerson:
      return context.identity.person(call.request, context.state());
    case Access::kAdmin: {
      TRY_ASSIGN(Caller caller, context.identity.person(call.request, context.state()));
      if (caller.admin) return caller;
      return Error{ErrorKind::kDenied, "admin_only",
                   "only an administrator may do this; ask one, or use the administrator's token",
                   ""};
    }
  }
  return Caller{};
}

void refuse_path(const Call& call, const std::string& allowed) {
  if (allowed.empty()) {
    return call.fail(
        Error{ErrorKind::kNotFound, "no_such_path",
              fmt::format("there is nothing at {}; GET /openapi.yaml tells what there is",
                          call.request.path.substr(0, 200)),
              ""});
  }
  wire::Response response = wire::problem(
      405, Error{ErrorKind::kInvalid, "method_not_allowed",
                 fmt::format("{} is not for {}; it takes {}", call.request.path.substr(0, 200),
                             call.request.method.substr(0, 16), allowed),
                 ""});
  response.headers.emplace_back("Allow", allowed);
  call.responder->send(std::move(response));
}

// A member of a wrong type that no handler asked for by itself ends here.
void run(const Route& route, Context& context, const CallPtr& call) {
  try {
    route.handle(context, call);
  } catch (const nlohmann::json::exception& e) {
    call->fail(invalid("bad_value", fmt::format("the body cannot be read: {}", e.what()), ""));
  }
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

void dispatch(Context& context, wire::Request request, std::shared_ptr<wire::Responder> responder) {
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->responder = std::move(responder);
  std::string allowed;
  const std::string_view path = encoded_path(call->request);
  for (const Route& route : kRoutes) {
    if (!match(route.path, path, call->parameters)) continue;
    if (call->request.method != route.method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
      continue;
    }
    Result<Caller> caller = find_caller(context, route, *call);
    if (!caller.ok()) return call->fail(caller.error());
    call->caller = std::move(caller).value();
    return run(route, context, call);
  }
  refuse_path(*call, allowed);
}

std::size_t body_limit(std::string_view method, std::string_view path) {
  if (method == "POST" && path == "/v1/jobs") return 8 * kMiB;
  if (path.starts_with("/v1/agents/")) return 64 * kMiB;
  return kMiB;
}

}  // namespace dove::server
