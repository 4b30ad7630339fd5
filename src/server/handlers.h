// The handlers of the routes (server/routes.cc): each answers its call once, now or later.
//
// Loop thread only. Include only from .cc files of this part.
#pragma once

#include "server/context.h"

namespace dove::server {

// -- jobs
// The job that the path names, if the caller may know of it.
Result<const core::Job*> visible_job(const Context& context, const Call& call);
void submit_job(Context& context, CallPtr call);
void list_jobs(Context& context, CallPtr call);
void get_job(Context& context, CallPtr call);
void cancel_job(Context& context, CallPtr call);
void hold_job(Context& context, CallPtr call);
void release_job(Context& context, CallPtr call);
void requeue_job(Context& context, CallPtr call);
void note_checkpoint(Context& context, CallPtr call);
void keep_job(Context& context, CallPtr call);
void set_job_priority(Context& context, CallPtr call);
void signal_job(Context& context, CallPtr call);
void why_job(Context& context, CallPtr call);
void wait_job(Context& context, CallPtr call);
void read_job_log(Context& context, CallPtr call);
// Where an executor runs the job. REQUIRES: there is such a placement.
void read_executor_output(Context& context, CallPtr call, const backends::LogRequest& request);
void get_job_use(Context& context, CallPtr call);
void run_step(Context& context, CallPtr call);
void attach_step(Context& context, CallPtr call);
void write_step_input(Context& context, CallPtr call);
void open_exec(Context& context, CallPtr call);
void open_forward(Context& context, CallPtr call);

// -- the apps of jobs
void issue_entry(Context& context, CallPtr call);
void trade_entry(Context& context, CallPtr call);
void get_entry(Context& context, CallPtr call);
void note_activity(Context& context, CallPtr call);
void list_apps(Context& context, CallPtr call);
void share_job(Context& context, CallPtr call);
void unshare_job(Context& context, CallPtr call);

// -- controllers
void list_controllers(Context& context, CallPtr call);
void hand_over(Context& context, CallPtr call);
void accept_clock(Context& context, CallPtr call);
void finish_upgrade(Context& context, CallPtr call);

// -- nodes
void list_nodes(Context& context, CallPtr call);
void get_node(Context& context, CallPtr call);
void remove_node(Context& context, CallPtr call);
void declare_node_off(Context& context, CallPtr call);
void arm_boot(Context& context, CallPtr call);
void get_boot_script(Context& context, CallPtr call);
void issue_boot_token(Context& context, CallPtr call);
void drain_node(Context& context, CallPtr call);
void undrain_node(Context& context, CallPtr call);

// -- executors
void sync_executor(Context& context, CallPtr call);
void sync_waiting_jobs(Context& context, CallPtr call);
void send_executor_output(Context& context, CallPtr call);

// -- declared state
void list_pools(Context& context, CallPtr call);
void list_queues(Context& context, CallPtr call);
void list_objects(Context& context, CallPtr call);
void get_object(Context& context, CallPtr call);
void apply_object(Context& context, CallPtr call);
void apply_objects(Context& context, CallPtr call);
void delete_object(Context& context, CallPtr call);
void issue_user_token(Context& context, CallPtr call);
void rotate_admin_token(Context& context, CallPtr call);
void issue_join_token(Context& context, CallPtr call);
void list_keys(Context& context, CallPtr call);
void issue_key(Context& context, CallPtr call);
void revoke_key(Context& context, CallPtr call);

// -- secrets
void list_secrets(Context& context, CallPtr call);
void set_secret(Context& context, CallPtr call);
void remove_secret(Context& context, CallPtr call);
void rotate_secret_key(Context& context, CallPtr call);

// -- people
void list_ssh_keys(Context& context, CallPtr call);
void add_ssh_key(Context& context, CallPtr call);
void remove_ssh_key(Context& context, CallPtr call);
void announce_ssh_gateway(Context& context, CallPtr call);
void get_ssh_gateway(Context& context, CallPtr call);
void issue_ssh_sign_in(Context& context, CallPtr call);
void open_ssh_session(Context& context, CallPtr call);
void set_password(Context& context, CallPtr call);
void remove_password(Context& context, CallPtr call);
void list_sign_in_ways(Context& context, CallPtr call);
void sign_in(Context& context, CallPtr call);
void begin_open_id(Context& context, CallPtr call);
void end_open_id(Context& context, CallPtr call);
void begin_device_sign_in(Context& context, CallPtr call);
void wait_for_device_sign_in(Context& context, CallPtr call);
void get_device_sign_in(Context& context, CallPtr call);
void answer_device_sign_in(Context& context, CallPtr call);
void sign_out(Context& context, CallPtr call);
void issue_sign_in_code(Context& context, CallPtr call);
void get_identity_issuer(Context& context, CallPtr call);
void get_identity_keys(Context& context, CallPtr call);
void issue_identity_token(Context& context, CallPtr call);
void get_me(Context& context, CallPtr call);
void get_quota(Context& context, CallPtr call);
void get_usage(Context& context, CallPtr call);
void get_notices(Context& context, CallPtr call);
void set_notices(Context& context, CallPtr call);
void test_notice(Context& context, CallPtr call);

// -- the cluster and its log
void get_cluster(Context& context, CallPtr call);
void get_events(Context& context, CallPtr call);
void get_health(Context& context, CallPtr call);
void get_readiness(Context& context, CallPtr call);
void get_version(Context& context, CallPtr call);
void get_metrics(Context& context, CallPtr call);
void get_openapi(Context& context, CallPtr call);

}  // namespace dove::server
