#include "server/routes.h"

#include <array>

#include "server/handlers.h"
#include "server/node_care.h"

namespace dove::server {
namespace {

using listener::Access;

// Calls that change declared objects are handled one after the other: each sees what the one before
// it has changed.
template <void (*handle)(Context&, CallPtr)>
void in_turn(Context& context, CallPtr call) {
  context.declaring.wait([&context, call](Turns::Turn turn) {
    call->turn = std::move(turn);
    listener::run_guarded(call, [&context](CallPtr own) { handle(context, std::move(own)); });
  });
}

constexpr std::array kRoutes = {
    ApiRoute{{"POST", "/v1/jobs", "submitJob", Access::kPerson, 8 * listener::kMiB}, submit_job},
    ApiRoute{{"GET", "/v1/jobs", "listJobs", Access::kPerson}, list_jobs},
    ApiRoute{{"GET", "/v1/jobs/{id}", "getJob", Access::kPerson}, get_job},
    ApiRoute{{"DELETE", "/v1/jobs/{id}", "deleteJob", Access::kPerson}, cancel_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/cancel", "cancelJob", Access::kPerson}, cancel_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/hold", "holdJob", Access::kPerson}, hold_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/release", "releaseJob", Access::kPerson}, release_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/requeue", "requeueJob", Access::kPerson}, requeue_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/checkpoint", "noteCheckpoint", Access::kPerson},
             note_checkpoint},
    ApiRoute{{"POST", "/v1/jobs/{id}/priority", "setJobPriority", Access::kPerson},
             set_job_priority},
    ApiRoute{{"POST", "/v1/jobs/{id}/signal", "signalJob", Access::kPerson}, signal_job},
    ApiRoute{{"GET", "/v1/jobs/{id}/why", "whyJob", Access::kPerson}, why_job},
    ApiRoute{{"GET", "/v1/jobs/{id}/wait", "waitForJob", Access::kPerson}, wait_job},
    ApiRoute{{"GET", "/v1/jobs/{id}/logs", "readJobLog", Access::kPerson}, read_job_log},
    ApiRoute{{"POST", "/v1/jobs/{id}/steps", "runStep", Access::kPerson}, run_step},
    ApiRoute{{"POST", "/v1/jobs/{id}/steps/{step}/attach", "attachStep", Access::kPerson},
             attach_step},
    ApiRoute{{"POST", "/v1/jobs/{id}/steps/{step}/input", "writeStepInput", Access::kPerson},
             write_step_input},
    ApiRoute{{"GET", "/v1/jobs/{id}/exec", "openExec", Access::kPerson}, open_exec},
    ApiRoute{{"GET", "/v1/nodes", "listNodes", Access::kPerson}, list_nodes},
    ApiRoute{{"GET", "/v1/nodes/{name}", "getNode", Access::kPerson}, get_node},
    ApiRoute{{"DELETE", "/v1/nodes/{name}", "removeNode", Access::kAdmin}, remove_node},
    ApiRoute{{"POST", "/v1/nodes/{name}/drain", "drainNode", Access::kAdmin}, in_turn<drain_node>},
    ApiRoute{{"POST", "/v1/nodes/{name}/action", "askNode", Access::kAdmin}, ask_node},
    ApiRoute{{"POST", "/v1/nodes/{name}/lost", "declareNodeOff", Access::kAdmin}, declare_node_off},
    ApiRoute{{"POST", "/v1/care-plan", "planCare", Access::kAdmin}, plan_care},
    ApiRoute{{"POST", "/v1/nodes/{name}/findings", "reportFinding", Access::kAdmin},
             report_finding},
    ApiRoute{{"POST", "/v1/nodes/{name}/undrain", "undrainNode", Access::kAdmin},
             in_turn<undrain_node>},
    ApiRoute{{"GET", "/v1/pools", "listPools", Access::kPerson}, list_pools},
    ApiRoute{{"GET", "/v1/queues", "listQueues", Access::kPerson}, list_queues},
    ApiRoute{{"GET", "/v1/objects", "listObjects", Access::kPerson}, list_objects},
    ApiRoute{{"POST", "/v1/objects", "applyObjects", Access::kAdmin}, in_turn<apply_objects>},
    ApiRoute{{"GET", "/v1/objects/{kind}/{name}", "getObject", Access::kPerson}, get_object},
    ApiRoute{{"PUT", "/v1/objects/{kind}/{name}", "applyObject", Access::kAdmin},
             in_turn<apply_object>},
    ApiRoute{{"DELETE", "/v1/objects/{kind}/{name}", "deleteObject", Access::kAdmin},
             in_turn<delete_object>},
    ApiRoute{{"POST", "/v1/users/{name}/token", "issueUserToken", Access::kAdmin},
             in_turn<issue_user_token>},
    ApiRoute{{"POST", "/v1/join-tokens", "issueJoinToken", Access::kAdmin}, issue_join_token},
    ApiRoute{{"GET", "/v1/cluster", "getCluster", Access::kPerson}, get_cluster},
    ApiRoute{{"GET", "/v1/events", "getEvents", Access::kPerson}, get_events},
    ApiRoute{{"GET", "/healthz", "getHealth", Access::kAnyone}, get_health},
    ApiRoute{{"GET", "/readyz", "getReadiness", Access::kAnyone}, get_readiness},
    ApiRoute{{"GET", "/version", "getVersion", Access::kAnyone}, get_version},
    ApiRoute{{"GET", "/metrics", "getMetrics", Access::kUser}, get_metrics},
    ApiRoute{{"GET", "/openapi.yaml", "getOpenapi", Access::kAnyone}, get_openapi},
};

}  // namespace

std::span<const ApiRoute> api_routes() { return kRoutes; }

}  // namespace dove::server
