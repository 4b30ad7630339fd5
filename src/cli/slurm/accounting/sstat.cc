// sstat under its own name: the steps of running jobs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/accounting/account_rows.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "telemetry/clock.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr const char* kNames[] = {"AveCPU",
                                  "AveCPUFreq",
                                  "AveDiskRead",
                                  "AveDiskWrite",
                                  "AvePages",
                                  "AveRSS",
                                  "AveVMSize",
                                  "ConsumedEnergy",
                                  "ConsumedEnergyRaw",
                                  "JobID",
                                  "MaxDiskRead",
                                  "MaxDiskReadNode",
                                  "MaxDiskReadTask",
                                  "MaxDiskWrite",
                                  "MaxDiskWriteNode",
                                  "MaxDiskWriteTask",
                                  "MaxPages",
                                  "MaxPagesNode",
                                  "MaxPagesTask",
                                  "MaxRSS",
                                  "MaxRSSNode",
                                  "MaxRSSTask",
                                  "MaxVMSize",
                                  "MaxVMSizeNode",
                                  "MaxVMSizeTask",
                                  "MinCPU",
                                  "MinCPUNode",
                                  "MinCPUTask",
                                  "Nodelist",
                                  "NTasks",
                                  "Pids",
                                  "ReqCPUFreq",
                                  "ReqCPUFreqMin",
                                  "ReqCPUFreqMax",
                                  "ReqCPUFreqGov",
                                  "TRESUsageInAve",
                                  "TRESUsageInMax",
                                  "TRESUsageInMaxNode",
                                  "TRESUsageInMaxTask",
                                  "TRESUsageInMin",
                                  "TRESUsageInMinNode",
                                  "TRESUsageInMinTask",
                                  "TRESUsageInTot",
                                  "TRESUsageOutAve",
                                  "TRESUsageOutMax",
                                  "TRESUsageOutMaxNode",
                                  "TRESUsageOutMaxTask",
                                  "TRESUsageOutMin",
                                  "TRESUsageOutMinNode",
                                  "TRESUsageOutMinTask",
                                  "TRESUsageOutTot"};

constexpr const char* kFormat =
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,"
    "maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,"
    "avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread,"
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,"
    "avediskwrite";

// As sacct's where it has the field, too.
const std::vector<SlurmColumn>& columns() {
  static const std::vector<SlurmColumn> kColumns = [] {
    std::vector<SlurmColumn> made;
    for (const char* name : kNames) {
      SlurmColumn column{name, 20};
      for (const SlurmColumn& known : account_columns()) {
        if (known.name == name) column = known;
      }
      made.push_back(column);
    }
    return made;
  }();
  return kColumns;
}

struct Asked {
  std::string job, step;
};

std::vector<AccountRow> rows_of(const JobView& job, const Asked& asked, bool all) {
  std::vector<AccountRow> rows = account_rows(job, /*steps=*/true);
  rows.erase(rows.begin());
  std::erase_if(rows, [&](const AccountRow& row) {
    const std::string step = row.id.substr(row.id.rfind('.') + 1);
    if (row.state != "RUNNING") return true;
    return asked.step.empty() ? !all && step == "batch" : step != asked.step;
  });
  // Without -a and a step, the first one alone.
  if (asked.step.empty() && !all && rows.size() > 1) rows.resize(1);
  return rows;
}

Result<int> run_sstat(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  if (invocation.has("helpformat")) {
    print(names_text(columns()));
    return 0;
  }
  TRY_ASSIGN(const std::vector<SlurmColumn> shown,
             parse_columns(invocation.get("format", kFormat), columns()));
  std::vector<std::string> words = comma_list(invocation.get("jobs"));
  for (const std::string& operand : invocation.operands) words.push_back(operand);
  if (words.empty()) return usage_error("You didn't give me any jobs to stat.");
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const SlurmListing listing = slurm_listing(invocation);
  const AccountContext context{telemetry::now_us(), ""};
  std::string out = header_text(listing, shown);
  for (const std::string& word : words) {
    const std::size_t dot = word.find('.');
    const Asked asked{word.substr(0, dot), dot == std::string::npos ? "" : word.substr(dot + 1)};
    const Result<json> page = api.get(job_target(asked.job));
    const JobView job = page.ok() ? read_job(*page) : JobView{};
    if (!page.ok() || job.waiting() || job.ended) {
      face_says("sstat", "error: couldn't get steps for job " + printable(asked.job));
      continue;
    }
    const std::vector<AccountRow> rows = rows_of(job, asked, invocation.has("allsteps"));
    for (const AccountRow& row : rows) {
      out += row_text(listing, shown, [&](const std::string& column) {
        return account_field(row, column == "Nodelist" ? "NodeList" : column, context);
      });
    }
  }
  print(out);
  return 0;
}

}  // namespace

std::vector<Command> sstat_commands() {
  CommandSpec spec;
  spec.name = "sstat";
  spec.summary = "Show the steps of running jobs (as Slurm's)";
  spec.group = kFaceGroup;
  spec.operands = "[JOB[.STEP]...]";
  spec.operands_max = -1;
  spec.completes = "job";
  spec.description =
      "The memory and processor time of tasks are not measured for each step: those columns are\n"
      "empty, as in a Slurm that gathers nothing. The node's metrics have them for each job.";
  spec.options = slurm_listing_options();
  const std::vector<OptionSpec> own = {{"jobs", 'j', "IDS", "these jobs or steps: 12,13.batch"},
                                       {"allsteps", 'a', "", "all steps, the batch script too"},
                                       {"format", 'o', "FIELDS", "columns, such as JobID,NTasks"},
                                       {"helpformat", 'e', "", "list the fields"},
                                       {"noconvert", 0, "", "accepted"},
                                       {"verbose", 'v', "", "accepted"},
                                       {"version", 'V', "", "print the version"}};
  spec.options.insert(spec.options.end(), own.begin(), own.end());
  return {{spec, guarded_face("sstat", run_sstat)}};
}

}  // namespace dove::cli
