// The fields of a line of sacct.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "cli/face.h"
#include "cli/slurm/accounting/account_rows.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/local_ids.h"
#include "cli/terminal/times.h"
#include "text/feature_expression.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

constexpr std::int64_t kSecond_us = 1'000'000;
constexpr std::int64_t kMinute_us = 60 * kSecond_us;
constexpr std::string_view kAlways = "00:00:00";

using Row = AccountRow;
using Context = AccountContext;
using Value = std::string (*)(const Row&, const Context&);

std::int64_t elapsed_us(const Row& row, const Context& context) {
  if (row.start_us == 0) return 0;
  const std::int64_t end_us = row.end_us != 0 ? row.end_us : context.now_us;
  // By whole seconds, so that Elapsed is the difference between the Start and End that are shown.
  return std::max<std::int64_t>(end_us / kSecond_us - row.start_us / kSecond_us, 0) * kSecond_us;
}

std::int64_t waited_us(const Row& row, const Context& context) {
  const JobView& job = *row.job;
  if (job.eligible_at_us == 0) return 0;
  const std::int64_t until_us = row.start_us != 0 ? row.start_us : context.now_us;
  return std::max<std::int64_t>(until_us - job.eligible_at_us, 0);
}

std::string instant(std::int64_t at_us) { return at_us == 0 ? "Unknown" : local_time_text(at_us); }

std::string seconds(std::int64_t span_us) { return std::to_string(span_us / kSecond_us); }

std::string tres(std::int64_t cores, std::int64_t gpus_milli, std::int64_t memory_bytes,
                 std::int64_t nodes, bool billing) {
  std::string text = billing ? fmt::format("billing={},", cores) : "";
  text += fmt::format("cpu={},", cores);
  if (gpus_milli != 0) text += fmt::format("gres/gpu={},", milli_text(gpus_milli));
  if (memory_bytes != 0 || !billing) {
    text += fmt::format("mem={},", memory_bytes == 0 ? "0" : slurm_memory(memory_bytes));
  }
  return text + fmt::format("node={}", nodes);
}

std::int64_t node_count(const Row& row) {
  const auto held = static_cast<std::int64_t>(row.nodes.size());
  return held == 0 ? row.job->nodes_asked : held;
}

std::string allocated_tres(const Row& row, const Context&) {
  if (row.nodes.empty()) return "";
  if (row.is_step) return tres(row.cores, 0, 0, node_count(row), false);
  const AttemptView* attempt = row.job->last_attempt();
  const std::int64_t memory = attempt == nullptr ? 0 : attempt->memory_bytes;
  return tres(row.cores, row.job->gpus_milli, memory, node_count(row), true);
}

std::string requested_tres(const Row& row, const Context&) {
  const JobView& job = *row.job;
  if (row.is_step) return "";
  return tres(job.cores, job.gpus_milli, job.memory_bytes, job.nodes_asked, true);
}

std::string time_limit(const Row& row, const Context&) {
  if (row.is_step) return "";
  return row.job->time_limit_us == 0 ? "UNLIMITED" : slurm_clock(row.job->time_limit_us);
}

std::string time_limit_raw(const Row& row, const Context&) {
  if (row.is_step) return "";
  const std::int64_t limit_us = row.job->time_limit_us;
  if (limit_us == 0) return "UNLIMITED";
  return std::to_string((limit_us + kMinute_us - 1) / kMinute_us);
}

std::string of_job(const Row& row, std::string text) { return row.is_step ? "" : std::move(text); }

std::string account(const Row& row, const Context&) { return row.job->project; }
std::string cores(const Row& row, const Context&) { return std::to_string(row.cores); }
std::string nodes(const Row& row, const Context&) { return std::to_string(node_count(row)); }
std::string cluster(const Row&, const Context& context) { return context.cluster; }
std::string zero_for_step(const Row& row, const Context&) { return row.is_step ? "0" : ""; }
std::string no_time(const Row&, const Context&) { return std::string(kAlways); }

std::string frequency(const Row& row, const Context&) {
  return row.id.ends_with(".batch") ? "0" : "Unknown";
}

std::string layout(const Row& row, const Context&) {
  if (!row.is_step) return "";
  return row.id.ends_with(".batch") ? "Unknown" : "Block";
}

const std::map<std::string_view, Value>& times() {
  static const std::map<std::string_view, Value> kValues = {
      {"CPUTime",
       [](const Row& r, const Context& c) { return slurm_clock(elapsed_us(r, c) * r.cores); }},
      {"CPUTimeRAW",
       [](const Row& r, const Context& c) { return seconds(elapsed_us(r, c) * r.cores); }},
      {"Elapsed", [](const Row& r, const Context& c) { return slurm_clock(elapsed_us(r, c)); }},
      {"ElapsedRaw", [](const Row& r, const Context& c) { return seconds(elapsed_us(r, c)); }},
      {"Eligible", [](const Row& r, const Context&) { return instant(r.job->eligible_at_us); }},
      {"End", [](const Row& r, const Context&) { return instant(r.end_us); }},
      {"Reserved",
       [](const Row& r, const Context& c) { return of_job(r, slurm_clock(waited_us(r, c))); }},
      {"ResvCPU",
       [](const Row& r, const Context& c) {
         return of_job(r, slurm_clock(waited_us(r, c) * r.cores));
       }},
      {"ResvCPURAW",
       [](const Row& r, const Context& c) {
         return of_job(r, seconds(waited_us(r, c) * r.cores));
       }},
      {"Start", [](const Row& r, const Context&) { return instant(r.start_us); }},
      {"Submit",
       [](const Row& r, const Context&) {
         return instant(r.is_step ? r.start_us : r.job->submitted_at_us);
       }},
      {"Suspended", no_time},
      {"SystemCPU", no_time},
      {"Timelimit", time_limit},
      {"TimelimitRaw", time_limit_raw},
      {"TotalCPU", no_time},
      {"UserCPU", no_time}};
  return kValues;
}

const std::map<std::string_view, Value>& amounts() {
  static const std::map<std::string_view, Value> kValues = {
      {"AllocCPUS", cores},
      {"AllocNodes", [](const Row& r, const Context&) { return std::to_string(r.nodes.size()); }},
      {"AllocTRES", allocated_tres},
      {"AveCPUFreq", zero_for_step},
      {"ConsumedEnergy", zero_for_step},
      {"ConsumedEnergyRaw", zero_for_step},
      {"NCPUS", cores},
      {"NNodes", nodes},
      {"NTasks",
       [](const Row& r, const Context&) { return r.is_step ? std::to_string(r.tasks) : ""; }},
      {"Priority",
       [](const Row& r, const Context&) { return of_job(r, std::to_string(r.job->priority)); }},
      {"ReqCPUS",
       [](const Row& r, const Context&) {
         return std::to_string(r.is_step ? r.cores : r.job->cores);
       }},
      {"ReqMem",
       [](const Row& r, const Context&) {
         return of_job(r, r.job->memory_bytes == 0 ? "0" : slurm_memory(r.job->memory_bytes));
       }},
      {"ReqNodes",
       [](const Row& r, const Context&) {
         return std::to_string(r.is_step ? node_count(r) : r.job->nodes_asked);
       }},
      {"ReqTRES", requested_tres}};
  return kValues;
}

const std::map<std::string_view, Value>& words() {
  static const std::map<std::string_view, Value> kValues = {
      {"Account", account},
      {"Cluster", cluster},
      {"Constraints",
       [](const Row& r, const Context&) {
         return of_job(r, text::write_feature_expression(r.job->features));
       }},
      {"DerivedExitCode",
       [](const Row& r, const Context&) { return of_job(r, exit_text(exit_of_steps(*r.job))); }},
      {"ExitCode", [](const Row& r, const Context&) { return exit_text(r.exit); }},
      {"GID", [](const Row& r, const Context&) { return of_job(r, local_ids(r.job->user).gid); }},
      {"Group",
       [](const Row& r, const Context&) { return of_job(r, local_ids(r.job->user).group); }},
      {"JobID", [](const Row& r, const Context&) { return r.id; }},
      {"JobIDRaw", [](const Row& r, const Context&) { return r.raw_id; }},
      {"JobName", [](const Row& r, const Context&) { return r.name; }},
      {"Layout", layout},
      {"NodeList",
       [](const Row& r, const Context&) {
         return r.nodes.empty() ? "None assigned" : text::fold_sorted_hostlist(r.nodes);
       }},
      {"Partition",
       [](const Row& r, const Context&) { return of_job(r, slurm_partition(*r.job)); }},
      {"QOS", [](const Row& r, const Context&) { return of_job(r, r.job->queue); }},
      {"Reason", [](const Row& r, const Context&) { return of_job(r, slurm_reason(*r.job)); }},
      {"ReqCPUFreq", frequency},
      {"ReqCPUFreqGov", frequency},
      {"ReqCPUFreqMax", frequency},
      {"ReqCPUFreqMin", frequency},
      {"Reservation", [](const Row& r, const Context&) { return of_job(r, r.job->reservation); }},
      {"State", [](const Row& r, const Context&) { return r.state; }},
      {"UID", [](const Row& r, const Context&) { return of_job(r, local_ids(r.job->user).uid); }},
      {"User", [](const Row& r, const Context&) { return of_job(r, r.job->user); }},
      {"WorkDir", [](const Row& r, const Context&) { return of_job(r, r.job->workdir); }}};
  return kValues;
}

struct Width {
  const char* name;
  int width;
};
// As Slurm 22.05 lists them, with the widths that it gives them.
constexpr Width kWidths[] = {{"Account", 10},
                             {"AdminComment", 15},
                             {"AllocCPUS", 10},
                             {"AllocNodes", 10},
                             {"AllocTRES", 10},
                             {"AssocID", 7},
                             {"AveCPU", 10},
                             {"AveCPUFreq", 10},
                             {"AveDiskRead", 14},
                             {"AveDiskWrite", 14},
                             {"AvePages", 10},
                             {"AveRSS", 10},
                             {"AveVMSize", 10},
                             {"BlockID", 16},
                             {"Cluster", 10},
                             {"Comment", 14},
                             {"Constraints", 19},
                             {"ConsumedEnergy", 14},
                             {"ConsumedEnergyRaw", 17},
                             {"Container", 19},
                             {"CPUTime", 10},
                             {"CPUTimeRAW", 10},
                             {"DBIndex", 10},
                             {"DerivedExitCode", 15},
                             {"Elapsed", 10},
                             {"ElapsedRaw", 10},
                             {"Eligible", 19},
                             {"End", 19},
                             {"ExitCode", 8},
                             {"Flags", 19},
                             {"GID", 6},
                             {"Group", 9},
                             {"JobID", 12},
                             {"JobIDRaw", 12},
                             {"JobName", 10},
                             {"Layout", 9},
                             {"MaxDiskRead", 12},
                             {"MaxDiskReadNode", 15},
                             {"MaxDiskReadTask", 15},
                             {"MaxDiskWrite", 12},
                             {"MaxDiskWriteNode", 16},
                             {"MaxDiskWriteTask", 16},
                             {"MaxPages", 8},
                             {"MaxPagesNode", 12},
                             {"MaxPagesTask", 14},
                             {"MaxRSS", 10},
                             {"MaxRSSNode", 10},
                             {"MaxRSSTask", 10},
                             {"MaxVMSize", 10},
                             {"MaxVMSizeNode", 14},
                             {"MaxVMSizeTask", 14},
                             {"McsLabel", 12},
                             {"MinCPU", 10},
                             {"MinCPUNode", 10},
                             {"MinCPUTask", 10},
                             {"NCPUS", 10},
                             {"NNodes", 8},
                             {"NodeList", 15},
                             {"NTasks", 8},
                             {"Partition", 10},
                             {"Priority", 10},
                             {"QOS", 10},
                             {"QOSRAW", 6},
                             {"Reason", 22},
                             {"ReqCPUFreq", 10},
                             {"ReqCPUFreqGov", 13},
                             {"ReqCPUFreqMax", 13},
                             {"ReqCPUFreqMin", 13},
                             {"ReqCPUS", 8},
                             {"ReqMem", 10},
                             {"ReqNodes", 8},
                             {"ReqTRES", 10},
                             {"Reservation", 20},
                             {"ReservationId", 8},
                             {"Reserved", 10},
                             {"ResvCPU", 10},
                             {"ResvCPURAW", 10},
                             {"Start", 19},
                             {"State", 10},
                             {"Submit", 19},
                             {"SubmitLine", 20},
                             {"Suspended", 10},
                             {"SystemComment", 15},
                             {"SystemCPU", 10},
                             {"Timelimit", 10},
                             {"TimelimitRaw", 10},
                             {"TotalCPU", 10},
                             {"TRESUsageInAve", 14},
                             {"TRESUsageInMax", 14},
                             {"TRESUsageInMaxNode", 18},
                             {"TRESUsageInMaxTask", 18},
                             {"TRESUsageInMin", 14},
                             {"TRESUsageInMinNode", 18},
                             {"TRESUsageInMinTask", 18},
                             {"TRESUsageInTot", 14},
                             {"TRESUsageOutAve", 15},
                             {"TRESUsageOutMax", 15},
                             {"TRESUsageOutMaxNode", 19},
                             {"TRESUsageOutMaxTask", 19},
                             {"TRESUsageOutMin", 15},
                             {"TRESUsageOutMinNode", 19},
                             {"TRESUsageOutMinTask", 19},
                             {"TRESUsageOutTot", 15},
                             {"UID", 6},
                             {"User", 9},
                             {"UserCPU", 10},
                             {"WCKey", 10},
                             {"WCKeyID", 10},
                             {"WorkDir", 20}};

}  // namespace

bool needs_own_page(const std::string& column) { return column == "WorkDir"; }

std::string account_field(const AccountRow& row, const std::string& column,
                          const AccountContext& context) {
  for (const auto* values : {&times(), &amounts(), &words()}) {
    const auto found = values->find(column);
    if (found != values->end()) return found->second(row, context);
  }
  return "";
}

const std::vector<SlurmColumn>& account_columns() {
  static const std::vector<SlurmColumn> kColumns = [] {
    std::vector<SlurmColumn> columns;
    for (const Width& one : kWidths) {
      columns.push_back({one.name, one.width, std::string_view(one.name).starts_with("JobID")});
    }
    return columns;
  }();
  return kColumns;
}

}  // namespace dove::cli
