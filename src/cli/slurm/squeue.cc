// squeue under its own name.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/amounts.h"
#include "cli/slurm/array_lines.h"
#include "cli/slurm/job_fields.h"
#include "cli/slurm/job_json.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr const char* kDefaultFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
constexpr const char* kLongFormat = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
constexpr int kReasonsAsked = 100;
constexpr std::size_t kPagesAsked = 200;  // with --json, and for paths

Result<std::vector<FormatPiece>> format_of(const Invocation& invocation) {
  std::vector<FormatPiece> pieces;
  if (invocation.has("Format")) {
    return parse_long_format(invocation.get("Format"), squeue_long_names());
  }
  std::string format = invocation.has("long") ? kLongFormat : kDefaultFormat;
  const std::string set = environment_value("SQUEUE_FORMAT");
  if (!set.empty() && !invocation.has("long")) format = set;
  format = with_all_fields(invocation.get("format", format), squeue_letters());
  TRY_ASSIGN(pieces, parse_percent_format(format));
  for (const FormatPiece& piece : pieces) {
    if (piece.field != 0 && squeue_title(piece.field).empty()) {
      return usage_error(fmt::format("Invalid job format specification: %{}", piece.field));
    }
  }
  return pieces;
}

struct Wanted {
  JobFilter filter;
  std::vector<std::string> pools, nodes;
};

Result<Wanted> wanted_of(const Invocation& invocation) {
  Wanted wanted;
  JobFilter& filter = wanted.filter;
  filter.users = comma_list(invocation.get("user", environment_value("SQUEUE_USERS")));
  if (invocation.has("me")) filter.users = {local_user()};
  filter.names = comma_list(invocation.get("name"));
  filter.queues = comma_list(invocation.get("qos"));
  filter.ids = comma_list(invocation.get("jobs"));
  wanted.pools = comma_list(invocation.get("partition"));
  filter.projects = comma_list(invocation.get("account"));
  wanted.nodes = text::expand_hostlist(invocation.get("nodelist"));
  filter.with_ended = false;
  for (const std::string& word : comma_list(invocation.get("states"))) {
    if (word == "all" || word == "ALL") {
      filter.states.clear();
      filter.with_ended = true;
      break;
    }
    const std::vector<std::string> states = states_of_slurm(word);
    if (states.empty()) return usage_error(fmt::format("Invalid job state specified: {}", word));
    filter.states.insert(filter.states.end(), states.begin(), states.end());
    filter.with_ended = true;
  }
  return wanted;
}

template <class T>
bool shares(const std::vector<T>& a, const std::vector<T>& b) {
  return a.empty() || std::any_of(a.begin(), a.end(), [&](const T& one) {
           return std::find(b.begin(), b.end(), one) != b.end();
         });
}

bool less_by(const JobView& a, const JobView& b, char field, std::int64_t now_us, bool& equal) {
  const std::string left = squeue_field(a, field, now_us);
  const std::string right = squeue_field(b, field, now_us);
  const auto number = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  equal = left == right;
  if (number(left) && number(right) && left.size() != right.size())
    return left.size() < right.size();
  return left < right;
}

void sort_jobs(const std::string& keys, std::int64_t now_us, std::vector<JobView>& jobs) {
  const std::vector<std::string> words = comma_list(keys);
  std::stable_sort(jobs.begin(), jobs.end(), [&](const JobView& a, const JobView& b) {
    for (const std::string& word : words) {
      const bool descending = word[0] == '-';
      const char field = word.back();
      bool equal = false;
      const bool less = less_by(a, b, field, now_us, equal);
      if (!equal) return descending ? !less : less;
    }
    return false;
  });
}

// By partition; what waits comes before what runs.
void sort_as_slurm(std::vector<JobView>& jobs) {
  const auto key = [](const JobView& job) {
    return std::tuple(slurm_partition(job), job.ended, !job.waiting(), -job.priority);
  };
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](const JobView& a, const JobView& b) { return key(a) < key(b); });
}

void put_in_order(const Invocation& invocation, std::int64_t now_us, std::vector<JobView>& jobs) {
  if (invocation.has("sort")) {
    sort_jobs(invocation.get("sort"), now_us, jobs);
  } else {
    sort_as_slurm(jobs);
  }
}

void tell_left_out(std::size_t jobs) {
  if (jobs <= kPagesAsked) return;
  face_says("squeue",
            fmt::format("warning: paths are shown of the first {} of {} jobs: name fewer, "
                        "see --jobs, --user and --states",
                        kPagesAsked, jobs));
}

// Slurm knows no id that it never gave or has forgotten; of several it shows those that there are.
Result<bool> is_unknown(Api& api, const Wanted& wanted) {
  if (wanted.filter.ids.size() != 1) return false;
  JobFilter any;
  any.ids = wanted.filter.ids;
  any.limit = 1;
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, any));
  return found.empty();
}

// Calls take(job, page) for the first jobs: their own pages say more than the list.
template <class Take>
void fetch_pages(Api& api, std::vector<JobView>& jobs, Take take) {
  for (std::size_t i = 0; i < std::min(jobs.size(), kPagesAsked); ++i) {
    const Result<json> page = api.get(job_target(jobs[i].id));
    if (page.ok()) take(jobs[i], read_job(*page));
  }
}

// All that a job's own page says, of the first jobs; the list alone has no output files.
Result<int> show_json(Api& api, Wanted wanted) {
  wanted.filter.full = true;
  if (wanted.filter.states.empty()) wanted.filter.with_ended = true;
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, wanted.filter));
  std::vector<JobView> jobs;
  for (const json& one : found) {
    JobView job = read_job(one);
    if (shares(wanted.pools, {slurm_partition(job)}) && shares(wanted.nodes, job.nodes())) {
      jobs.push_back(std::move(job));
    }
  }
  fetch_pages(api, jobs, [](JobView& job, JobView page) { job = std::move(page); });
  tell_left_out(jobs.size());
  fetch_reasons(api, jobs, kReasonsAsked);
  TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
  print(queue_json(jobs, text_of(cluster, "name")).dump(2) + "\n");
  return 0;
}

Result<int> show(const Invocation& invocation, const std::vector<FormatPiece>& pieces,
                 const Wanted& wanted, Api& api) {
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, wanted.filter));
  if (found.empty()) {
    TRY_ASSIGN(const bool unknown, is_unknown(api, wanted));
    if (unknown) {
      fmt::print(stderr, "slurm_load_jobs error: Invalid job id specified\n");
      return 1;
    }
  }
  std::vector<JobView> jobs;
  for (const json& one : found) {
    JobView job = read_job(one);
    const std::string pool = squeue_field(job, 'P', 0);
    if (shares(wanted.pools, {pool}) && shares(wanted.nodes, job.nodes())) {
      jobs.push_back(std::move(job));
    }
  }
  if (!invocation.has("array")) jobs = with_arrays_joined(jobs);
  const std::int64_t now_us = telemetry::now_us();
  put_in_order(invocation, now_us, jobs);
  // More is asked about those that come first.
  fetch_reasons(api, jobs, kReasonsAsked);
  if (has_field(pieces, "Zo")) {
    fetch_pages(api, jobs, [](JobView& job, JobView page) {
      job.workdir = std::move(page.workdir);
      job.command = std::move(page.command);
      job.source_name = std::move(page.source_name);
    });
    tell_left_out(jobs.size());
  }
  if (invocation.has("sort")) put_in_order(invocation, now_us, jobs);  // by what was asked, too
  std::string out;
  if (invocation.has("long")) out += calendar_text(now_us) + "\n";
  if (!invocation.has("noheader")) out += format_line(pieces, squeue_title) + "\n";
  for (const JobView& job : jobs) {
    out += format_line(pieces, [&](char field) { return squeue_field(job, field, now_us); }) + "\n";
  }
  print(out);
  return 0;
}

Result<int> run_squeue(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  TRY_ASSIGN(const std::vector<FormatPiece> pieces, format_of(invocation));
  TRY_ASSIGN(Wanted wanted, wanted_of(invocation));
  wanted.filter.full = has_field(pieces, "EcfnS");
  TRY_ASSIGN(Api api, Api::connect(invocation));
  if (invocation.has("json")) return show_json(api, std::move(wanted));
  Invocation paced = invocation;
  if (invocation.has("iterate")) paced.values["watch"] = invocation.all("iterate");
  return repeat(paced, [&] { return show(invocation, pieces, wanted, api); });
}

}  // namespace

std::vector<Command> squeue_commands() {
  CommandSpec spec;
  spec.name = "squeue";
  spec.summary = "List jobs (as Slurm's)";
  spec.group = kFaceGroup;
  spec.options = {{"jobs", 'j', "IDS", "these jobs"},
                  {"user", 'u', "USERS", "of these users"},
                  {"me", 0, "", "of mine"},
                  {"name", 'n', "NAMES", "of these names"},
                  {"partition", 'p', "POOLS", "in these pools"},
                  {"qos", 'q', "QUEUES", "in these queues"},
                  {"states", 't', "STATES", "in these states: PD R CG CD F CA TO NF, or all"},
                  {"nodelist", 'w', "NODES", "on these nodes"},
                  {"format", 'o', "FORMAT", "columns, such as \"%.18i %.8j %R\""},
                  {"Format", 'O', "NAMES", "columns by name, such as JobID,Name:20,State"},
                  {"long", 'l', "", "more columns"},
                  {"noheader", 'h', "", "no titles"},
                  {"array", 'r', "", "one line for each element of an array"},
                  {"sort", 'S', "FIELDS", "order, such as \"P,-p,i\""},
                  {"iterate", 'i', "SECONDS", "refresh at this interval"},
                  {"all", 'a', "", "accepted: all pools are shown"},
                  {"start", 0, "", "accepted: start times that are known are shown"},
                  {"account", 'A', "PROJECTS", "of these projects"},
                  {"json", 0, "", "as JSON"},
                  {"only-job-state", 0, "", "accepted: states are always quick to get"},
                  {"clusters", 'M', "NAMES", "accepted: there is this cluster"},
                  {"hide", 0, "", "accepted"},
                  {"local", 0, "", "accepted"},
                  {"federation", 0, "", "accepted"},
                  {"noconvert", 0, "", "accepted"},
                  {"verbose", 'v', "", "accepted"},
                  {"version", 'V', "", "print the version"}};
  return {{spec, guarded_face("squeue", run_squeue)}};
}

}  // namespace dove::cli
