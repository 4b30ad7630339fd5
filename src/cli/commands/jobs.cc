// dove ps, show, why: what jobs there are and how they are.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "cli/commands/job_list.h"
#include "cli/commands/list_watch.h"
#include "cli/families.h"
#include "cli/terminal/job_text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kNameColumns = 32;

Result<JobFilter> filter_of(const Invocation& invocation) {
  JobFilter filter;
  filter.users = comma_list(invocation.get("user"));
  if (invocation.has("me")) filter.users = {local_user()};
  filter.projects = comma_list(invocation.get("project"));
  filter.queues = comma_list(invocation.get("queue"));
  filter.names = comma_list(invocation.get("name"));
  filter.states = comma_list(invocation.get("state"));
  filter.labels = invocation.all("labels");
  TRY_ASSIGN(filter.submitted_from_us, instant_us(invocation, "submitted-from"));
  TRY_ASSIGN(filter.submitted_before_us, instant_us(invocation, "submitted-before"));
  TRY_ASSIGN(filter.ended_from_us, instant_us(invocation, "ended-from"));
  TRY_ASSIGN(filter.ended_before_us, instant_us(invocation, "ended-before"));
  filter.with_ended = invocation.has("all") || !filter.states.empty() || filter.ended_from_us ||
                      filter.ended_before_us;
  return filter;
}

std::string reason_of(const JobView& job) {
  if (job.reasons.empty()) return "";
  const std::size_t more = job.reasons.size() - 1;
  return more == 0 ? job.reasons[0].text : fmt::format("{} (+{})", job.reasons[0].text, more);
}

// Columns that people have; nothing is cut for a pipe, nor with -o wide.
std::size_t room_of(Format format) {
  if (format == Format::kWide || !stdout_is_terminal()) return 0;
  return static_cast<std::size_t>(terminal_size().columns);
}

std::string ranges_text(const std::vector<std::int64_t>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t end = i;
    while (end + 1 < indices.size() && indices[end + 1] == indices[end] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", indices[i]);
    if (end > i) text += fmt::format("-{}", indices[end]);
    i = end + 1;
  }
  return text;
}

// Elements of an array that wait in the same way become one line: "1047_[0-99]".
std::vector<JobView> folded(std::vector<JobView> jobs) {
  std::vector<JobView> lines;
  std::vector<std::vector<std::int64_t>> indices;
  std::map<std::pair<std::string, std::string>, std::size_t> of_array;
  for (JobView& job : jobs) {
    if (!job.array.empty() && job.waiting()) {
      const auto [at, is_new] = of_array.emplace(std::pair(job.array, job.state), lines.size());
      if (!is_new) {
        indices[at->second].push_back(job.array_index);
        continue;
      }
    }
    indices.push_back({job.array_index});
    lines.push_back(std::move(job));
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (indices[i].size() < 2) continue;
    std::sort(indices[i].begin(), indices[i].end());
    lines[i].shown_id = fmt::format("{}_[{}]", lines[i].array, ranges_text(indices[i]));
  }
  return lines;
}

Table jobs_table(const std::vector<JobView>& jobs, Format format) {
  const bool wide = format == Format::kWide;
  const std::size_t room = room_of(format);
  std::vector<Column> columns = {{"ID"}, {"NAME"}, {"USER"}, {"QUEUE"}, {"STATE"}, {"TIME", true}};
  if (wide) {
    for (const char* title : {"TASKS", "CORES", "GPUS", "PRIO", "ATTEMPT"}) {
      columns.push_back({title, true});
    }
    columns.push_back({"SUBMITTED"});
  }
  const bool tells = std::any_of(jobs.begin(), jobs.end(),
                                 [](const JobView& job) { return job.progress.ranks > 0; });
  if (tells) columns.push_back({"STEP", true});
  columns.push_back({"NODES"});
  columns.push_back({"REASON"});
  Table table(columns);
  const std::int64_t now_us = telemetry::now_us();
  for (const JobView& job : jobs) {
    std::vector<Cell> row = {{job.shown_id, ""},
                             {room == 0 ? job.name : clipped(job.name, kNameColumns), ""},
                             {job.user, ""},
                             {job.queue, ""},
                             {job.state, state_style(job.state)},
                             {clock_text(job.run_us(now_us)), ""}};
    if (wide) {
      const AttemptView* attempt = job.last_attempt();
      for (const std::string& amount : {std::to_string(job.tasks), std::to_string(job.cores),
                                        milli_text(job.gpus_milli), std::to_string(job.priority),
                                        std::to_string(attempt == nullptr ? 0 : attempt->number)}) {
        row.push_back({amount, ""});
      }
      row.push_back({when_text(job.submitted_at_us), ""});
    }
    if (tells) row.push_back({step_text(job.progress), ""});
    const std::vector<std::string> nodes = job.nodes();
    row.push_back(
        {nodes.empty() ? std::to_string(job.nodes_asked) : text::fold_sorted_hostlist(nodes), ""});
    const bool has_reasons = job.waiting() || job.ended;
    row.push_back({has_reasons ? reason_of(job) : job.idle.empty() ? "" : "idle: " + job.idle, ""});
    table.add(std::move(row));
  }
  return table;
}

// Waiting jobs whose list entry has no reasons are asked one by one, the first of them only.
void add_reasons(Api& api, std::vector<JobView>& jobs) {
  int left = 20;
  for (JobView& job : jobs) {
    if (!job.waiting() || !job.reasons.empty() || left-- <= 0) continue;
    const Result<json> why = api.get(job_target(job.id, "/why"));
    if (!why.ok()) continue;
    for (const json& reason : list_of(*why, "reasons")) {
      job.reasons.push_back({text_of(reason, "kind"), with_local_times(text_of(reason, "text"))});
    }
  }
}

Result<int> run_ps(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(JobFilter filter, filter_of(invocation));
  TRY_ASSIGN(filter.limit, count_option(invocation, "limit", 0, 0));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  return redraw(invocation, api, jobs_target(filter, 1), [&]() -> Result<int> {
    TRY_ASSIGN(const std::vector<json> found, list_jobs(api, filter));
    if (format == Format::kJson || format == Format::kYaml) {
      print_value(json{{"jobs", found}}, format);
      return kExitOk;
    }
    std::vector<JobView> jobs;
    for (const json& job : found) jobs.push_back(read_job(job));
    if (format == Format::kName) {
      for (const JobView& job : jobs) print(job.shown_id + "\n");
      return kExitOk;
    }
    if (jobs.empty()) {
      say(filter.with_ended ? "no jobs match"
                            : "no jobs wait or run; `dove ps -a` shows those that ended, `dove "
                              "submit FILE` starts one");
      return kExitOk;
    }
    jobs = folded(std::move(jobs));
    add_reasons(api, jobs);
    print(jobs_table(jobs, format).text(colours_on(), room_of(format)));
    return kExitOk;
  });
}

// Why the node refused the last attempt; "" if none did, or nobody knows any more.
std::string refusal_text(Api& api, const JobView& job) {
  if (job.attempts.empty() || job.attempts.back().stop_reason != "launch_failed") return "";
  const Result<json> answer = api.get(fmt::format("/v1/events?job={}&kind=LaunchFailed", job.id));
  if (!answer.ok() || list_of(*answer, "events").empty()) return "";
  const json data = list_of(*answer, "events").back().value("data", json::object());
  return fmt::format("\nAttempt {} was refused: {}\n", number_of(data, "attempt"),
                     printable(text_of(data, "why")));
}

// Where browsers find the job's app, and who else may; "" when it serves none, or not to the
// caller.
std::string session_text(const json& job) {
  std::string text;
  const std::string url = text_of(job, "session_url");
  if (!url.empty()) text += fmt::format("\nSession: {}\n", printable(url));
  std::string users;
  for (const json& user : list_of(job, "shared_with")) {
    if (!user.is_string()) continue;
    users += (users.empty() ? "" : ", ") + printable(user.get<std::string>());
  }
  if (!users.empty()) text += fmt::format("{}Shared with {}\n", url.empty() ? "\n" : "", users);
  return text;
}

Result<int> run_show(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  JobFilter watched;
  watched.ids = invocation.operands;
  return redraw(invocation, api, jobs_target(watched, 1), [&]() -> Result<int> {
    bool first = true;
    for (const std::string& id : invocation.operands) {
      TRY_ASSIGN(const std::vector<json> found, find_jobs(api, id));
      if (format == Format::kJson || format == Format::kYaml) {
        print_value(found.size() == 1 ? found[0] : json{{"jobs", found}}, format);
        continue;
      }
      std::vector<JobView> jobs;
      for (const json& job : found) jobs.push_back(read_job(job));
      if (format == Format::kName) {
        for (const JobView& job : jobs) print(job.shown_id + "\n");
        continue;
      }
      add_reasons(api, jobs);
      if (jobs.size() > 1) {
        print(jobs_table(jobs, format).text(colours_on(), room_of(format)));
        continue;
      }
      if (!first) print("\n");
      first = false;
      print(job_text(jobs[0], telemetry::now_us(), colours_on()) + refusal_text(api, jobs[0]) +
            session_text(found[0]));
    }
    return kExitOk;
  });
}

// "job 1199 failed".
std::string became_text(const std::string& id, const std::string& state) {
  constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"completed", "completed"},
      {"failed", "failed"},
      {"cancelled", "was cancelled"},
      {"timed_out", "ran out of time"},
      {"stopped_idle", "was stopped because nobody used it"},
      {"node_lost", "lost its node"},
      {"dependency_never_met", "never ran"}};
  for (const auto& [word, text] : kTexts) {
    if (state == word) return fmt::format("job {} {}", id, text);
  }
  return fmt::format("job {} is {}", id, state);
}

// "it needed job 1199 to succeed (afterok), and job 1199 failed".
std::string never_met_text(Api& api, const json& job) {
  struct Kind {
    const char* kind;
    const char* wish;
  };
  constexpr Kind kKinds[] = {{"afterok", "to succeed"},
                             {"afternotok", "to fail"},
                             {"aftercorr", "to have its element succeed"}};
  for (const json& one : list_of(job, "dependencies")) {
    for (const Kind& each : kKinds) {
      const std::string id = text_of(one, "job");
      if (text_of(one, "kind") != each.kind || id.empty()) continue;
      const Result<json> other = api.get(job_target(id));
      if (!other.ok()) return fmt::format("it needed job {} {} ({})", id, each.wish, each.kind);
      const std::string state = text_of(*other, "state");
      const bool met = (state == "completed") == (std::string_view(each.kind) != "afternotok");
      if (met && std::string_view(each.kind) != "aftercorr") continue;
      return fmt::format("it needed job {} {} ({}), and {}", id, each.wish, each.kind,
                         became_text(id, state));
    }
  }
  return "one of its dependencies can never be met";
}

// What else would do in place of the causes that name too few places.
std::string others_text(const json& why) {
  const auto others = why.find("others");
  if (others == why.end()) return "";
  const json& sets = list_of(*others, "sets");
  std::string out;
  if (!sets.empty()) {
    out = fmt::format("{} other set{} would do. It would also have places if\n", sets.size(),
                      sets.size() == 1 ? "" : "s");
  }
  for (const json& set : sets) {
    out += fmt::format("  - {}\n", printable(text_of(set, "text")));
  }
  if (!others->value("all", true)) {
    out += fmt::format("There may be {}sets: not all were tried.\n",
                       sets.empty() ? "other " : "more ");
  }
  return out;
}

std::string why_text(Api& api, const json& whole, const json& why) {
  const JobView job = read_job(whole);
  const json& reasons = list_of(why, "reasons");
  if (reasons.empty()) {
    const std::string text = with_local_times(text_of(why, "text"));
    if (!text.empty()) return fmt::format("Job {}: {}\n", job.shown_id, text);
    if (job.state == "dependency_never_met") {
      return fmt::format("Job {} never ran: {}\n", job.shown_id, never_met_text(api, whole));
    }
    if (job.ended) {
      return fmt::format("Job {} has ended ({}); `dove show {}` says how\n", job.shown_id,
                         job.state, job.shown_id);
    }
    if (!job.waiting()) {
      return fmt::format("Job {} is {}: it is not waiting\n", job.shown_id, job.state);
    }
    return fmt::format("Job {} is {}: nothing keeps it waiting\n", job.shown_id, job.state);
  }
  std::string out = fmt::format("Job {} is {} because:\n", job.shown_id, job.state);
  for (const json& reason : reasons) {
    out += fmt::format("  - {}\n", printable(with_local_times(text_of(reason, "text"))));
  }
  return out + others_text(why) + promise_text(job);
}

Result<int> run_why(const Invocation& invocation) {
  return print_of_each_job(invocation, "/why?others=1", why_text);
}

CommandSpec ps_spec() {
  CommandSpec spec;
  spec.name = "ps";
  spec.summary = "List jobs";
  spec.group = "Jobs";
  spec.description =
      "Lists waiting and running jobs, oldest first. With --state or -a it lists ended ones,\n"
      "too. WHEN is how long ago (12h), or an instant (2026-01-02T03:04:05Z).";
  spec.options = {{"all", 'a', "", "also jobs that ended"},
                  {"state", 's', "STATES",
                   "waiting, held, preparing, running, stopping, completed, failed, ..."},
                  {"user", 'u', "USERS", "of these users"},
                  {"me", 0, "", "of mine only"},
                  {"project", 0, "PROJECTS", "of these projects"},
                  {"queue", 'q', "QUEUES", "in these queues"},
                  {"name", 'n', "NAMES", "of these names"},
                  labels_option(),
                  {"submitted-from", 0, "WHEN", "that were submitted then or later"},
                  {"submitted-before", 0, "WHEN", "that were submitted before"},
                  {"ended-from", 0, "WHEN", "that ended then or later"},
                  {"ended-before", 0, "WHEN", "that ended before"},
                  {"limit", 0, "COUNT", "show at most this number"},
                  output_option(),
                  watch_option()};
  return spec;
}

CommandSpec one_job_spec(const std::string& name, const std::string& summary) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "Jobs";
  spec.operands = "JOB...";
  spec.completes = "job";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.options = {output_option()};
  return spec;
}

}  // namespace

std::vector<Command> job_commands() {
  CommandSpec show =
      one_job_spec("show", "Show a job: its attempts, where the time went, why it is waiting");
  show.options.push_back(watch_option());
  CommandSpec why = one_job_spec("why", "Say why a job is waiting");
  why.description =
      "Prints a smallest set of causes, with numbers: were all of them gone, the job would start\n"
      "now; were any one of them left, it would not. Then it counts and prints the other sets, "
      "none\n"
      "larger, without which the job would have places. It tries a limited number of sets and "
      "says\n"
      "so when there may be more.";
  return {{ps_spec(), guarded("ps", run_ps)},
          {show, guarded("show", run_show)},
          {why, guarded("why", run_why)}};
}

}  // namespace dove::cli
