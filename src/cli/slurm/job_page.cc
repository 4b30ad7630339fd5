#include "cli/slurm/job_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/slurm/accounting/exit_words.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/job_fields.h"
#include "cli/slurm/local_ids.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

const char* or_null(const std::string& text) { return text.empty() ? "(null)" : text.c_str(); }

std::string instant(std::int64_t at_us) { return at_us == 0 ? "Unknown" : local_time_text(at_us); }

// Below the job's folder, unless it says another place.
std::string absolute(const JobView& job, const std::string& path) {
  if (path.empty() || path[0] == '/' || job.workdir.empty()) return path;
  return job.workdir + (job.workdir.back() == '/' ? "" : "/") + path;
}

void add_state(const JobView& job, std::int64_t now_us, std::string& out) {
  const auto field = [&](char letter) { return squeue_field(job, letter, now_us); };
  const AttemptView* attempt = job.last_attempt();
  const std::int64_t starts = attempt == nullptr ? 0 : attempt->number;
  out += fmt::format("JobId={} ", job.id);
  if (!job.array.empty()) {
    out += fmt::format("ArrayJobId={} ArrayTaskId={} ", job.array, job.array_index);
  }
  out += fmt::format("JobName={}\n", job.name);
  out += fmt::format("   UserId={} GroupId={} MCS_label=N/A\n", user_with_id(job.user),
                     group_with_id(job.user));
  out +=
      fmt::format("   Priority={} Nice=0 Account={} QOS={}\n", job.priority, field('a'), job.queue);
  out +=
      fmt::format("   JobState={} Reason={} Dependency={}\n", field('T'), field('r'), field('E'));
  out +=
      fmt::format("   Requeue={} Restarts={} BatchFlag={} Reboot=0 ExitCode={}\n",
                  job.requeue ? 1 : 0, std::max<std::int64_t>(starts - 1, 0),
                  job.launch == "batch" ? 1 : 0, exit_text(exit_of_job(job, /*accounting=*/false)));
}

void add_times(const JobView& job, std::int64_t now_us, std::string& out) {
  const auto field = [&](char letter) {
    const std::string text = squeue_field(job, letter, now_us);
    return text == "N/A" ? "Unknown" : text;
  };
  out += fmt::format("   RunTime={} TimeLimit={} TimeMin=N/A\n", slurm_clock(job.run_us(now_us)),
                     job.time_limit_us == 0 ? "UNLIMITED" : slurm_clock(job.time_limit_us));
  out += fmt::format("   SubmitTime={} EligibleTime={}\n", field('V'), instant(job.eligible_at_us));
  out += fmt::format("   StartTime={} EndTime={} Deadline={}\n", field('S'), field('e'),
                     local_time_text(job.deadline_us));
}

void add_resources(const JobView& job, std::int64_t now_us, std::string& out) {
  const auto field = [&](char letter) { return squeue_field(job, letter, now_us); };
  out += fmt::format("   Partition={} AllocNode:Sid=N/A\n", field('P'));
  out += fmt::format("   ReqNodeList={} ExcNodeList=(null)\n", or_null(field('n')));
  out += fmt::format("   NodeList={}\n", field('N'));
  if (!job.nodes().empty()) out += fmt::format("   BatchHost={}\n", field('B'));
  out +=
      fmt::format("   NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:*:*\n",
                  field('D'), field('C'), job.tasks, std::max<std::int64_t>(job.cores_per_task, 1));
  out +=
      fmt::format("   TRES=cpu={},mem={},node={},billing={}{}\n", job.cores,
                  job.memory_bytes == 0 ? "0" : slurm_memory(job.memory_bytes), job.node_count(),
                  job.cores, job.gpus_milli == 0 ? "" : ",gres/gpu=" + milli_text(job.gpus_milli));
  out += fmt::format("   Features={} DelayBoot=00:00:00\n", field('f'));
  out += "   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)\n";
}

}  // namespace

std::string absolute_stdout(const JobView& job) { return absolute(job, job.stdout_path); }

std::string absolute_stderr(const JobView& job) {
  return absolute(job, job.stderr_path.empty() ? job.stdout_path : job.stderr_path);
}

std::string absolute_script(const JobView& job) {
  const bool is_file = !job.source_name.empty() && job.source_name[0] != '-';
  return job.launch == "batch" && is_file ? absolute(job, job.source_name) : "";
}

std::string job_page(const JobView& job, std::int64_t now_us) {
  std::string out;
  add_state(job, now_us, out);
  add_times(job, now_us, out);
  add_resources(job, now_us, out);
  const std::string script = absolute_script(job);
  out += fmt::format("   Command={}\n", or_null(script.empty() ? job.command : script));
  out += fmt::format("   WorkDir={}\n", job.workdir);
  out += fmt::format("   StdErr={}\n   StdIn=/dev/null\n   StdOut={}\n", absolute_stderr(job),
                     absolute_stdout(job));
  if (job.gpus_milli != 0)
    out += fmt::format("   TresPerNode={}\n", squeue_field(job, 'b', now_us));
  return out;
}

}  // namespace dove::cli
