#include "cli/slurm/accounting/account_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/face.h"

namespace dove::cli {
namespace {

AccountRow row_of_job(const JobView& job) {
  AccountRow row;
  row.job = &job;
  row.id = job.shown_id;
  row.raw_id = job.id;
  row.name = job.name;
  // Slurm's accounting knows a job that has nodes as running from then on until it is over;
  // programs take any other word for an end.
  const bool has_nodes = job.state == "preparing" || job.state == "stopping";
  row.state = has_nodes ? "RUNNING" : slurm_state(job).full;
  row.exit = exit_of_job(job, /*accounting=*/true);
  row.nodes = job.nodes();
  const AttemptView* attempt = job.last_attempt();
  row.cores = attempt != nullptr && attempt->cores > 0 ? attempt->cores : job.cores;
  if (attempt != nullptr && !job.waiting()) {
    row.start_us = attempt->started_at_us != 0 ? attempt->started_at_us : attempt->allocated_at_us;
  }
  row.end_us = job.ended_at_us;
  // A job that ended before it began has its end for both, as in Slurm.
  if (job.ended && row.start_us == 0) row.start_us = row.end_us;
  return row;
}

// The batch script, or the tasks that the job itself is: "12.batch", "12.0".
AccountRow row_of_tasks(const JobView& job, const AccountRow& of_job) {
  const bool batch = job.launch == "batch";
  AccountRow row = of_job;
  row.is_step = true;
  row.id += batch ? ".batch" : ".0";
  row.raw_id += batch ? ".batch" : ".0";
  row.name = batch ? "batch" : job.name;
  row.tasks = batch ? 1 : job.tasks;
  if (batch) row.nodes.resize(std::min<std::size_t>(row.nodes.size(), 1));
  const AttemptView& attempt = *job.last_attempt();
  if (batch && attempt.first_node_cores > 0) row.cores = attempt.first_node_cores;
  if (attempt.ended_at_us != 0) row.end_us = attempt.ended_at_us;
  row.exit = exit_of_tasks(job);
  row.state = row.end_us == 0 ? "RUNNING" : state_of_exit(row.exit);
  return row;
}

AccountRow row_of_step(const JobView& job, const StepView& step, const AccountRow& of_job) {
  AccountRow row = of_job;
  row.is_step = true;
  row.id += fmt::format(".{}", step.number);
  row.raw_id += fmt::format(".{}", step.number);
  row.name = step.name;
  row.tasks = step.tasks;
  row.cores = step.cores;
  row.nodes = step.nodes;
  row.start_us = step.started_at_us;
  row.end_us = step.ended_at_us != 0 ? step.ended_at_us : job.ended_at_us;
  row.exit = {step.exit_code, step.signal};
  row.state = row.end_us == 0 ? "RUNNING" : state_of_exit(row.exit);
  return row;
}

}  // namespace

std::vector<AccountRow> account_rows(const JobView& job, bool steps) {
  std::vector<AccountRow> rows = {row_of_job(job)};
  const AttemptView* attempt = job.last_attempt();
  if (!steps || attempt == nullptr || attempt->started_at_us == 0 || job.waiting()) return rows;
  const AccountRow of_job = rows.front();
  rows.push_back(row_of_tasks(job, of_job));
  for (const StepView& step : job.steps) rows.push_back(row_of_step(job, step, of_job));
  return rows;
}

}  // namespace dove::cli
