#include "cli/slurm/job_json.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cli/face.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/job_fields.h"
#include "cli/slurm/job_page.h"
#include "cli/slurm/local_ids.h"
#include "cli/slurm/node_json.h"
#include "text/feature_expression.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

std::int64_t seconds(std::int64_t at_us) { return at_us / 1'000'000; }

std::int64_t number(const std::string& text) { return std::atoll(text.c_str()); }

std::int64_t minutes(const JobView& job) { return (job.time_limit_us + 59'999'999) / 60'000'000; }

// As wait() has it: code in the second byte, signal in the first.
std::int64_t wait_status(const SlurmExit& exit) { return exit.code * 256 + exit.signal; }

json exit_json(const SlurmExit& exit) {
  json object{{"status", exit.signal != 0 ? "SIGNALED"
                         : exit.code != 0 ? "ERROR"
                                          : "SUCCESS"},
              {"return_code", exit.code}};
  if (exit.signal != 0) object["signal"] = {{"signal_id", exit.signal}};
  return object;
}

json time_json(const AccountRow& row, const AccountContext& context) {
  return {{"elapsed", number(account_field(row, "ElapsedRaw", context))},
          {"start", seconds(row.start_us)},
          {"end", seconds(row.end_us)},
          {"suspended", 0}};
}

json step_json(const AccountRow& row, const AccountContext& context) {
  return {{"step",
           {{"job_id", number(row.job->id)},
            {"id", row.id.substr(row.id.rfind('.') + 1)},
            {"name", row.name}}},
          {"state", row.state},
          {"exit_code", exit_json(row.exit)},
          {"time", time_json(row, context)},
          {"tasks", {{"count", row.tasks}}},
          {"nodes",
           {{"list", row.nodes},
            {"count", row.nodes.size()},
            {"range", text::fold_sorted_hostlist(row.nodes)}}}};
}

json accounted_json(const JobView& job, const AccountContext& context) {
  const std::vector<AccountRow> rows = account_rows(job, /*steps=*/true);
  const AccountRow& own = rows.front();
  json time = time_json(own, context);
  time["submission"] = seconds(job.submitted_at_us);
  time["eligible"] = seconds(job.eligible_at_us);
  time["limit"] = job.time_limit_us == 0 ? json(nullptr) : json(minutes(job));
  json steps = json::array();
  for (std::size_t i = 1; i < rows.size(); ++i) steps.push_back(step_json(rows[i], context));
  const LocalIds ids = local_ids(job.user);
  return {{"job_id", number(job.id)},
          {"name", job.name},
          {"user", job.user},
          {"group", ids.group},
          {"account", job.project},
          {"cluster", context.cluster},
          {"partition", slurm_partition(job)},
          {"qos", job.queue},
          {"priority", job.priority},
          {"nodes", text::fold_sorted_hostlist(own.nodes)},
          {"allocation_nodes", own.nodes.size()},
          {"array",
           {{"job_id", number(job.array)},
            {"task_id", job.array.empty() ? json(nullptr) : json(job.array_index)}}},
          {"state", {{"current", own.state}, {"reason", slurm_reason(job)}}},
          {"exit_code", exit_json(own.exit)},
          {"derived_exit_code", exit_json(exit_of_steps(job))},
          {"required", {{"CPUs", job.cores}, {"memory", job.memory_bytes >> 20}}},
          {"time", std::move(time)},
          {"working_directory", job.workdir},
          {"steps", std::move(steps)}};
}

json queued_json(const JobView& job, const std::string& cluster) {
  const AccountRow row = account_rows(job, /*steps=*/false).front();
  const LocalIds ids = local_ids(job.user);
  const std::int64_t nodes = std::max<std::int64_t>(job.nodes_asked, 1);
  const AttemptView* attempt = job.last_attempt();
  const std::int64_t restarts = attempt == nullptr ? 0 : attempt->number - 1;
  const bool ended = row.end_us != 0;
  return {{"job_id", number(job.id)},
          {"array_job_id", number(job.array)},
          {"array_task_id", job.array.empty() ? json(nullptr) : json(job.array_index)},
          {"array_task_string", ""},
          {"name", job.name},
          {"account", job.project},
          {"comment", ""},
          {"admin_comment", ""},
          {"user_name", job.user},
          {"user_id", number(ids.uid)},
          {"group_name", ids.group},
          {"group_id", number(ids.gid)},
          {"cluster", cluster},
          {"partition", slurm_partition(job)},
          {"qos", job.queue},
          {"priority", job.priority},
          {"job_state", row.state},
          {"state_reason", slurm_reason(job)},
          {"batch_flag", job.launch == "batch"},
          {"batch_host", row.nodes.empty() ? "" : row.nodes.front()},
          {"nodes", text::fold_sorted_hostlist(row.nodes)},
          {"node_count", job.node_count()},
          {"cpus", job.cores},
          {"tasks", job.tasks},
          {"cpus_per_task", job.cores_per_task == 0 ? json(nullptr) : json(job.cores_per_task)},
          {"time_limit", job.time_limit_us == 0 ? json(nullptr) : json(minutes(job))},
          {"submit_time", seconds(job.submitted_at_us)},
          {"eligible_time", seconds(job.eligible_at_us)},
          {"start_time", seconds(row.start_us)},
          {"end_time", seconds(ended || row.start_us == 0 ? row.end_us : job.limit_at_us())},
          {"exit_code", wait_status(exit_of_job(job, /*accounting=*/false))},
          {"derived_exit_code", wait_status(exit_of_steps(job))},
          {"requeue", job.requeue},
          {"restart_cnt", restarts < 0 ? 0 : restarts},
          {"dependency", job.dependencies.empty() ? "" : job.dependencies.front()},
          {"features", text::write_feature_expression(job.features)},
          {"required_nodes", text::fold_sorted_hostlist(job.nodes_wanted)},
          {"excluded_nodes", ""},
          {"tres_per_node", job.gpus_milli == 0 ? "" : squeue_field(job, 'b', 0)},
          {"tres_req_str", account_field(row, "ReqTRES", {})},
          {"tres_alloc_str", account_field(row, "AllocTRES", {})},
          {"memory_per_node", (job.memory_bytes >> 20) / nodes},
          {"memory_per_cpu", nullptr},
          {"nice", nullptr},
          {"resv_name", ""},
          {"command", absolute_script(job)},
          {"current_working_directory", job.workdir},
          {"standard_output", absolute_stdout(job)},
          {"standard_error", absolute_stderr(job)},
          {"standard_input", "/dev/null"}};
}

}  // namespace

json queue_json(const std::vector<JobView>& jobs, const std::string& cluster) {
  json list = json::array();
  for (const JobView& job : jobs) list.push_back(queued_json(job, cluster));
  return {{"meta", slurm_meta("openapi/v0.0.38", "Slurm OpenAPI v0.0.38")},
          {"errors", json::array()},
          {"jobs", std::move(list)}};
}

json accounting_json(const std::vector<JobView>& jobs, const AccountContext& context) {
  json list = json::array();
  for (const JobView& job : jobs) list.push_back(accounted_json(job, context));
  return {{"meta", slurm_meta("openapi/dbv0.0.38", "Slurm OpenAPI DB v0.0.38")},
          {"errors", json::array()},
          {"jobs", std::move(list)}};
}

}  // namespace dove::cli
