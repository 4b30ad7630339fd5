// sacct under its own name: jobs that wait, run and ended, as long as the server keeps them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/accounting/account_rows.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/array_lines.h"
#include "cli/slurm/job_json.h"
#include "cli/slurm/time_words.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "jobid,jobname,partition,account,alloccpus,state,exitcode";
constexpr const char* kBriefFormat = "jobid,state,exitcode";
constexpr const char* kLongFormat =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,"
    "maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,"
    "mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,"
    "reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"
    "maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,"
    "reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,"
    "tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutmax,"
    "tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,tresusageouttot";

// "12", "12_3", "12.batch", "12_3.0".
struct Asked {
  std::string id;
  std::string step;  // "" : the job with all its steps
};

struct Wanted {
  JobFilter filter;
  std::vector<Asked> asked;
  std::set<std::string> pools, projects, states;
  std::vector<std::string> nodes;
  std::int64_t from_us = 0, until_us = 0;
  bool in_window = true;
};

// An option that is given again adds to what it named before, as in Slurm: -j 12 -j 13.
std::string all_of(const Invocation& invocation, const std::string& option) {
  return fmt::format("{}", fmt::join(invocation.all(option), ","));
}

std::set<std::string> set_of(const std::string& text) {
  const std::vector<std::string> words = comma_list(text);
  return {words.begin(), words.end()};
}

Result<std::vector<Asked>> read_ids(const std::string& text) {
  std::vector<Asked> asked;
  // Commas also stand inside "12_[1,3]".
  std::string list = text;
  int depth = 0;
  for (char& c : list) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) c = '\n';
  }
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find('\n', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) {
      return usage_error(fmt::format("Bad job/step specified: {}", printable(word)));
    }
    const std::size_t dot = word.find('.');
    const std::string step = dot == std::string::npos ? "" : word.substr(dot + 1);
    const std::string id = word.substr(0, dot);
    const std::size_t bracket = id.find("_[");
    if (bracket == std::string::npos) {
      asked.push_back({id, step});
      continue;
    }
    for (const std::string& number : text::expand_hostlist(id.substr(bracket + 1))) {
      asked.push_back({id.substr(0, bracket + 1) + number, step});
    }
  }
  return asked;
}

Result<void> read_window(const Invocation& invocation, Wanted& wanted) {
  const std::int64_t now_us = telemetry::now_us();
  const bool by_id = invocation.has("jobs");
  const bool by_state = !wanted.states.empty();
  TRY_ASSIGN(wanted.until_us, parse_slurm_time(invocation.get("endtime", "now"), now_us));
  const std::string from = invocation.get("starttime", by_state ? "now" : "today");
  TRY_ASSIGN(wanted.from_us, parse_slurm_time(from, now_us));
  wanted.in_window = !by_id || invocation.has("starttime") || invocation.has("endtime");
  if (by_id && !invocation.has("starttime")) wanted.from_us = 0;
  if (wanted.from_us > wanted.until_us) {
    return usage_error("Start time (-S) is later than end time (-E)");
  }
  return {};
}

Result<Wanted> wanted_of(const Invocation& invocation) {
  Wanted wanted;
  JobFilter& filter = wanted.filter;
  TRY_ASSIGN(wanted.asked, read_ids(all_of(invocation, "jobs")));
  for (const Asked& one : wanted.asked) filter.ids.push_back(one.id);
  if (invocation.has("user")) {
    filter.users = comma_list(all_of(invocation, "user"));
  } else if (!invocation.has("allusers") && !invocation.has("jobs") && geteuid() != 0) {
    filter.users = {local_user()};
  }
  filter.names = comma_list(all_of(invocation, "name"));
  filter.queues = comma_list(all_of(invocation, "qos"));
  wanted.pools = set_of(all_of(invocation, "partition"));
  wanted.projects = set_of(all_of(invocation, "accounts"));
  wanted.nodes = text::expand_hostlist(all_of(invocation, "nodelist"));
  for (const std::string& word : comma_list(all_of(invocation, "state"))) {
    const std::vector<std::string> states = states_of_slurm(word);
    if (states.empty()) {
      return usage_error(fmt::format("Invalid state: {}", printable(word)));
    }
    wanted.states.insert(states.begin(), states.end());
    if (wanted.states.count("running") != 0) wanted.states.insert({"preparing", "stopping"});
  }
  TRY(read_window(invocation, wanted));
  return wanted;
}

// Whether the job was there, or with states was in one of them, between -S and -E.
bool in_window(const Wanted& wanted, const JobView& job) {
  if (!wanted.in_window) return wanted.states.empty() || wanted.states.count(job.state) != 0;
  const AttemptView* attempt = job.last_attempt();
  const std::int64_t start_us = attempt == nullptr ? 0 : attempt->started_at_us;
  const auto over_before = [](std::int64_t end_us, std::int64_t at_us) {
    return end_us != 0 && end_us < at_us;
  };
  if (wanted.states.empty()) {
    const std::int64_t since_us =
        job.eligible_at_us != 0 ? job.eligible_at_us : job.ended_at_us;  // held: 0
    return since_us != 0 && since_us <= wanted.until_us &&
           !over_before(job.ended_at_us, wanted.from_us);
  }
  for (const std::string& state : wanted.states) {
    if (state == "waiting" || state == "held") {
      const bool waited = job.waiting() || start_us != 0;
      const std::int64_t until_us = start_us != 0 ? start_us : job.ended_at_us;
      if (waited && job.submitted_at_us <= wanted.until_us &&
          !over_before(until_us, wanted.from_us)) {
        return true;
      }
    } else if (state == "running" || state == "preparing" || state == "stopping") {
      if (start_us != 0 && start_us <= wanted.until_us &&
          !over_before(job.ended_at_us, wanted.from_us)) {
        return true;
      }
    } else if (job.state == state && job.ended_at_us <= wanted.until_us &&
               !over_before(job.ended_at_us, wanted.from_us)) {
      return true;
    }
  }
  return false;
}

bool is_wanted(const Wanted& wanted, const JobView& job) {
  if (!wanted.pools.empty() && wanted.pools.count(slurm_partition(job)) == 0) return false;
  if (!wanted.projects.empty() && wanted.projects.count(job.project) == 0) return false;
  if (!wanted.nodes.empty()) {
    const std::vector<std::string> held = job.nodes();
    const bool there = std::any_of(held.begin(), held.end(), [&](const std::string& node) {
      return std::find(wanted.nodes.begin(), wanted.nodes.end(), node) != wanted.nodes.end();
    });
    if (!there) return false;
  }
  return in_window(wanted, job);
}

// With -j 12.batch only that step of job 12 is shown.
bool row_wanted(const Wanted& wanted, const AccountRow& row) {
  if (wanted.asked.empty()) return true;
  const JobView& job = *row.job;
  const std::string step = row.is_step ? row.id.substr(row.id.rfind('.') + 1) : "";
  return std::any_of(wanted.asked.begin(), wanted.asked.end(), [&](const Asked& asked) {
    const bool of_job = asked.id == job.id || asked.id == job.array ||
                        asked.id == fmt::format("{}_{}", job.array, job.array_index) ||
                        asked.id == job.shown_id;
    return of_job && (asked.step.empty() || asked.step == step);
  });
}

Result<std::vector<JobView>> read_jobs(Api& api, const Wanted& wanted, bool own_pages) {
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, wanted.filter));
  std::vector<JobView> jobs;
  for (const json& one : found) {
    JobView job = read_job(one);
    if (!is_wanted(wanted, job)) continue;
    if (own_pages) {
      const Result<json> page = api.get(job_target(job.id));
      if (page.ok()) job = read_job(*page);
    }
    jobs.push_back(std::move(job));
  }
  return with_arrays_joined(jobs);
}

Result<std::string> cluster_name(Api& api) {
  TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
  return text_of(cluster, "name");
}

Result<int> run_sacct(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  if (invocation.has("helpformat")) {
    print(names_text(account_columns()));
    return 0;
  }
  const std::string set = environment_value("SACCT_FORMAT");
  std::string format = invocation.has("brief")  ? kBriefFormat
                       : invocation.has("long") ? kLongFormat
                       : set.empty()            ? kFormat
                                                : set;
  if (invocation.has("format")) format = all_of(invocation, "format");
  TRY_ASSIGN(const std::vector<SlurmColumn> columns, parse_columns(format, account_columns()));
  TRY_ASSIGN(Wanted wanted, wanted_of(invocation));
  wanted.filter.full = true;
  const bool own_pages =
      invocation.has("json") || std::any_of(columns.begin(), columns.end(), [](const auto& column) {
        return needs_own_page(column.name);
      });
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<JobView> jobs, read_jobs(api, wanted, own_pages));
  AccountContext context{telemetry::now_us(), ""};
  TRY_ASSIGN(context.cluster, cluster_name(api));
  if (invocation.has("json")) {
    print(accounting_json(jobs, context).dump(2) + "\n");
    return 0;
  }
  const SlurmListing listing = slurm_listing(invocation);
  std::string out = header_text(listing, columns);
  for (const JobView& job : jobs) {
    for (const AccountRow& row : account_rows(job, !invocation.has("allocations"))) {
      if (!row_wanted(wanted, row)) continue;
      out += row_text(listing, columns, [&](const std::string& column) {
        return account_field(row, column, context);
      });
    }
  }
  print(out);
  return 0;
}

}  // namespace

std::vector<Command> sacct_commands() {
  CommandSpec spec;
  spec.name = "sacct";
  spec.summary = "List jobs that ran, with their steps (as Slurm's)";
  spec.group = kFaceGroup;
  spec.description =
      "Shows what the server keeps: jobs that ended stay for the cluster's `ended_jobs_kept`.\n"
      "Without -j it shows the jobs since midnight; with -a, those of all users.";
  spec.options = slurm_listing_options();
  const std::vector<OptionSpec> own = {
      {"jobs", 'j', "IDS", "these jobs, arrays or steps: 12,13_4,14.batch"},
      {"format", 'o', "FIELDS", "columns, such as JobID,State%20,NodeList"},
      {"helpformat", 'e', "", "list the fields"},
      {"allocations", 'X', "", "jobs without their steps"},
      {"starttime", 'S', "TIME", "jobs that existed after this: 2026-11-22T08:00, now-2days"},
      {"endtime", 'E', "TIME", "and before this"},
      {"state", 's', "STATES", "in these states: PD R CD F CA TO NF DL"},
      {"user", 'u', "USERS", "of these users"},
      {"allusers", 'a', "", "of all users"},
      {"name", 0, "NAMES", "of these names"},
      {"partition", 'r', "POOLS", "in these pools"},
      {"accounts", 'A', "PROJECTS", "of these projects"},
      {"qos", 'q', "QUEUES", "in these queues"},
      {"nodelist", 'N', "NODES", "on these nodes"},
      {"brief", 'b', "", "id, state and exit code"},
      {"long", 'l', "", "more columns"},
      {"json", 0, "", "as JSON"},
      {"clusters", 'M', "NAMES", "accepted: there is this cluster"},
      {"allclusters", 'L', "", "accepted"},
      {"duplicates", 'D', "", "accepted: each job is shown once"},
      {"units", 0, "UNIT", "accepted"},
      {"noconvert", 0, "", "accepted"},
      {"local", 0, "", "accepted"},
      {"federation", 0, "", "accepted"},
      {"truncate", 'T', "", "accepted"},
      {"verbose", 'v', "", "accepted"},
      {"version", 'V', "", "print the version"}};
  spec.options.insert(spec.options.end(), own.begin(), own.end());
  return {{spec, guarded_face("sacct", run_sacct)}};
}

}  // namespace dove::cli
