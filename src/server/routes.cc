#include "server/routes.h"

#include <array>
#include <chrono>

#include "server/handlers.h"
#include "server/job_select.h"
#include "server/node_maintenance.h"

namespace dove::server {
namespace {

constexpr std::chrono::seconds kProgramWait{5};
// An executor, which an administrator has declared, sends all its nodes, with the cores of each.
constexpr std::size_t kExecutorBytesMax = 64 * listener::kMiB;
constexpr std::size_t kExecutorValuesMax = 8'000'000;

// Calls that change declared objects are handled one after the other: each sees what the one before
// it has changed.
template <void (*handle)(Context&, CallPtr)>
void in_turn(Context& context, CallPtr call) {
  context.declaring.wait([&context, call](Turns::Turn turn) {
    call->turn = std::move(turn);
    listener::run_guarded(call, [&context](CallPtr own) { handle(context, std::move(own)); });
  });
}

// Calls that tell what the named job runs wait until that was read from the store.
template <void (*handle)(Context&, CallPtr)>
void with_program(Context& context, CallPtr call) {
  const Result<const core::Job*> job = find_job(context.state(), call->parameters.front());
  if (!job.ok()) return handle(context, std::move(call));  // which says so
  context.desk.blobs.fetch(
      {(*job)->spec->exec_digest}, kProgramWait,
      [&context, call](const Result<listener::Blobs::Found>& found) {
        if (!found.ok()) return call->fail(found.error());
        listener::run_guarded(call, [&context](CallPtr own) { handle(context, std::move(own)); });
      });
}

// Lists that a client can have answered once they have changed.
template <ListOf what, void (*handle)(Context&, CallPtr)>
void once_changed(Context& context, CallPtr call) {
  context.lists.answer(what, std::move(call), {},
                       [&context](CallPtr own) { handle(context, std::move(own)); });
}

constexpr std::array kRoutes = {
    ApiRoute{{"POST", "/v1/jobs", "submitJob", 8 * listener::kMiB}, submit_job},
    ApiRoute{{"GET", "/v1/jobs", "listJobs"}, list_jobs},
    ApiRoute{{"GET", "/v1/jobs/{id}", "getJob"}, with_program<get_job>},
    ApiRoute{{"DELETE", "/v1/jobs/{id}", "deleteJob"}, cancel_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/cancel", "cancelJob"}, cancel_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/hold", "holdJob"}, hold_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/release", "releaseJob"}, release_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/requeue", "requeueJob"}, requeue_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/checkpoint", "noteCheckpoint"}, note_checkpoint},
    ApiRoute{{"POST", "/v1/jobs/{id}/keep", "keepJob", 4 << 10}, keep_job},
    ApiRoute{{"POST", "/v1/jobs/{id}/priority", "setJobPriority"}, set_job_priority},
    ApiRoute{{"POST", "/v1/jobs/{id}/signal", "signalJob"}, signal_job},
    ApiRoute{{"GET", "/v1/jobs/{id}/why", "whyJob"}, why_job},
    ApiRoute{{"GET", "/v1/jobs/{id}/wait", "waitForJob"}, wait_job},
    ApiRoute{{"GET", "/v1/jobs/{id}/logs", "readJobLog"}, read_job_log},
    ApiRoute{{"GET", "/v1/jobs/{id}/use", "getJobUse"}, get_job_use},
    ApiRoute{{"POST", "/v1/jobs/{id}/steps", "runStep"}, run_step},
    ApiRoute{{"POST", "/v1/jobs/{id}/steps/{step}/attach", "attachStep"}, attach_step},
    ApiRoute{{"POST", "/v1/jobs/{id}/steps/{step}/input", "writeStepInput"}, write_step_input},
    ApiRoute{{"GET", "/v1/jobs/{id}/exec", "openExec"}, open_exec},
    ApiRoute{{"GET", "/v1/jobs/{id}/forward", "openForward"}, with_program<open_forward>},
    ApiRoute{{"POST", "/v1/jobs/{id}/entries", "issueEntry", 4 << 10}, with_program<issue_entry>},
    ApiRoute{{"GET", "/v1/jobs/{id}/entry", "getEntry"}, with_program<get_entry>},
    ApiRoute{{"POST", "/v1/jobs/{id}/activity", "noteActivity", 4 << 10}, note_activity},
    ApiRoute{{"POST", "/v1/jobs/{id}/shares", "shareJob", 64 << 10},
             in_turn<with_program<share_job>>},
    ApiRoute{{"DELETE", "/v1/jobs/{id}/shares/{name}", "unshareJob"}, in_turn<unshare_job>},
    ApiRoute{{"POST", "/v1/entries", "tradeEntry", 4 << 10}, trade_entry},
    ApiRoute{{"GET", "/v1/controllers", "listControllers"}, list_controllers},
    ApiRoute{{"POST", "/v1/controllers/hand-over", "handOver", 4 << 10}, hand_over},
    ApiRoute{{"POST", "/v1/controllers/accept-clock", "acceptClock", 4 << 10}, accept_clock},
    ApiRoute{{"POST", "/v1/controllers/finish-upgrade", "finishUpgrade", 4 << 10}, finish_upgrade},
    ApiRoute{{"GET", "/v1/nodes", "listNodes"}, once_changed<ListOf::kNodes, list_nodes>},
    ApiRoute{{"GET", "/v1/nodes/{name}", "getNode"}, get_node},
    ApiRoute{{"DELETE", "/v1/nodes/{name}", "removeNode"}, remove_node},
    ApiRoute{{"POST", "/v1/nodes/{name}/drain", "drainNode"}, in_turn<drain_node>},
    ApiRoute{{"POST", "/v1/nodes/{name}/action", "askNode"}, ask_node},
    ApiRoute{{"POST", "/v1/nodes/{name}/lost", "declareNodeOff"}, declare_node_off},
    ApiRoute{{"POST", "/v1/nodes/{name}/boot", "armBoot", 4 << 10}, arm_boot},
    ApiRoute{{"GET", "/v1/boot/{name}/script", "getBootScript"}, get_boot_script},
    ApiRoute{{"POST", "/v1/boot/{name}/join-token", "issueBootToken", 4 << 10}, issue_boot_token},
    ApiRoute{{"POST", "/v1/maintenance-plan", "planMaintenance"}, plan_maintenance},
    ApiRoute{{"POST", "/v1/care-plan", "planCare"}, plan_care},
    ApiRoute{{"POST", "/v1/nodes/{name}/findings", "reportFinding"}, report_finding},
    ApiRoute{{"POST", "/v1/nodes/{name}/undrain", "undrainNode"}, in_turn<undrain_node>},
    ApiRoute{{"POST", "/v1/executors/{name}/sync", "syncExecutor", kExecutorBytesMax,
              kExecutorValuesMax},
             sync_executor},
    ApiRoute{{"POST", "/v1/executors/{name}/waiting", "syncWaitingJobs", kExecutorBytesMax,
              kExecutorValuesMax},
             sync_waiting_jobs},
    ApiRoute{{"POST", "/v1/executors/{name}/output", "sendExecutorOutput", 2 * listener::kMiB},
             send_executor_output},
    ApiRoute{{"GET", "/v1/pools", "listPools"}, once_changed<ListOf::kUse, list_pools>},
    ApiRoute{{"GET", "/v1/queues", "listQueues"}, once_changed<ListOf::kUse, list_queues>},
    ApiRoute{{"GET", "/v1/apps", "listApps"}, once_changed<ListOf::kObjects, list_apps>},
    ApiRoute{{"GET", "/v1/objects", "listObjects"}, once_changed<ListOf::kObjects, list_objects>},
    ApiRoute{{"POST", "/v1/objects", "applyObjects"}, in_turn<apply_objects>},
    ApiRoute{{"GET", "/v1/objects/{kind}/{name}", "getObject"}, get_object},
    ApiRoute{{"PUT", "/v1/objects/{kind}/{name}", "applyObject"}, in_turn<apply_object>},
    ApiRoute{{"DELETE", "/v1/objects/{kind}/{name}", "deleteObject"}, in_turn<delete_object>},
    ApiRoute{{"POST", "/v1/users/{name}/token", "issueUserToken"}, in_turn<issue_user_token>},
    ApiRoute{{"POST", "/v1/admin-token", "rotateAdminToken", 4 << 10}, in_turn<rotate_admin_token>},
    ApiRoute{{"GET", "/v1/users/{name}/notices", "getNotices"}, get_notices},
    ApiRoute{{"PUT", "/v1/users/{name}/notices", "setNotices", 64 << 10}, in_turn<set_notices>},
    ApiRoute{{"POST", "/v1/users/{name}/notices/{number}/test", "testNotice", 4 << 10},
             test_notice},
    ApiRoute{{"PUT", "/v1/users/{name}/password", "setPassword", 16 << 10}, set_password},
    ApiRoute{{"DELETE", "/v1/users/{name}/password", "removePassword"}, in_turn<remove_password>},
    ApiRoute{{"GET", "/v1/keys", "listKeys"}, list_keys},
    ApiRoute{{"POST", "/v1/keys", "issueKey"}, issue_key},
    ApiRoute{{"DELETE", "/v1/keys/{id}", "revokeKey"}, revoke_key},
    ApiRoute{{"GET", "/v1/secrets", "listSecrets"}, list_secrets},
    ApiRoute{{"PUT", "/v1/secrets/{name}", "setSecret", 65 << 10}, in_turn<set_secret>},
    ApiRoute{{"DELETE", "/v1/secrets/{name}", "removeSecret"}, in_turn<remove_secret>},
    ApiRoute{{"POST", "/v1/secret-keys", "rotateSecretKey", 4 << 10}, in_turn<rotate_secret_key>},
    ApiRoute{{"GET", "/v1/users/{name}/ssh-keys", "listSshKeys"}, list_ssh_keys},
    ApiRoute{{"POST", "/v1/users/{name}/ssh-keys", "addSshKey"}, in_turn<add_ssh_key>},
    ApiRoute{{"DELETE", "/v1/users/{name}/ssh-keys/{id}", "removeSshKey"}, in_turn<remove_ssh_key>},
    ApiRoute{{"PUT", "/v1/ssh-gateway", "announceSshGateway"}, announce_ssh_gateway},
    ApiRoute{{"GET", "/v1/ssh-gateway", "getSshGateway"}, get_ssh_gateway},
    ApiRoute{{"POST", "/v1/ssh-sign-ins", "issueSshSignIn"}, issue_ssh_sign_in},
    ApiRoute{{"POST", "/v1/me/ssh-sessions", "openSshSession"}, open_ssh_session},
    ApiRoute{{"POST", "/v1/sign-in", "signIn", 64 << 10}, sign_in},
    ApiRoute{{"GET", "/v1/sign-in", "listSignInWays"}, list_sign_in_ways},
    ApiRoute{{"GET", "/v1/sign-in/{way}", "beginSignIn"}, begin_open_id},
    ApiRoute{{"GET", "/v1/sign-in/{way}/callback", "endSignIn"}, end_open_id},
    ApiRoute{{"POST", "/v1/device-sign-ins", "beginDeviceSignIn", 4 << 10}, begin_device_sign_in},
    ApiRoute{{"POST", "/v1/device-sign-ins/wait", "waitForDeviceSignIn", 4 << 10},
             wait_for_device_sign_in},
    ApiRoute{{"GET", "/v1/device-sign-ins/{code}", "getDeviceSignIn"}, get_device_sign_in},
    ApiRoute{{"POST", "/v1/device-sign-ins/{code}", "answerDeviceSignIn"}, answer_device_sign_in},
    ApiRoute{{"POST", "/v1/sign-out", "signOut"}, sign_out},
    ApiRoute{{"POST", "/v1/sign-in-codes", "issueSignInCode"}, issue_sign_in_code},
    ApiRoute{{"GET", "/.well-known/openid-configuration", "getIdentityIssuer"},
             get_identity_issuer},
    ApiRoute{{"GET", "/v1/identity-keys", "getIdentityKeys"}, get_identity_keys},
    ApiRoute{{"POST", "/v1/jobs/{id}/identity-token", "issueIdentityToken"}, issue_identity_token},
    ApiRoute{{"GET", "/v1/me", "getMe"}, get_me},
    ApiRoute{{"GET", "/v1/quota", "getQuota"}, get_quota},
    ApiRoute{{"GET", "/v1/usage", "getUsage"}, get_usage},
    ApiRoute{{"POST", "/v1/join-tokens", "issueJoinToken"}, issue_join_token},
    ApiRoute{{"GET", "/v1/cluster", "getCluster"}, get_cluster},
    ApiRoute{{"GET", "/v1/events", "getEvents"}, get_events},
    ApiRoute{{"GET", "/healthz", "getHealth"}, get_health},
    ApiRoute{{"GET", "/readyz", "getReadiness"}, get_readiness},
    ApiRoute{{"GET", "/version", "getVersion"}, get_version},
    ApiRoute{{"GET", "/metrics", "getMetrics"}, get_metrics},
    ApiRoute{{"GET", "/openapi.yaml", "getOpenapi"}, get_openapi},
};

}  // namespace

std::span<const ApiRoute> api_routes() { return kRoutes; }

}  // namespace dove::server
