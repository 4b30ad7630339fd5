// dove events, audit, top: what happens, as it happens.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "cli/commands/job_list.h"
#include "cli/families.h"
#include "cli/terminal/job_text.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "codec/json.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"
#include "wire/sse.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kEventBytesMax = 16 << 20;
constexpr std::size_t kDetailsShown = 100;
constexpr std::int64_t kRecordsUsual = 1000;
constexpr std::int64_t kPageRecords = 1000;

std::string event_line(const json& record, bool wide) {
  const bool decision = text_of(record, "type") == "decision";
  json data = record.value("data", json::object());
  if (data.is_object()) data.erase("job");
  std::string details =
      data.empty() ? "" : data.dump(-1, ' ', false, json::error_handler_t::replace);
  if (!wide && details.size() > kDetailsShown)
    details = fitted(details, kDetailsShown - 3, false) + "...";
  const std::string job = text_of(record, "job");
  return fmt::format("{:>8}  {}  {} {:<20} {}{}\n", text_of(record, "seq"),
                     when_text(number_of(record, "at_us")), decision ? "->" : "  ",
                     text_of(record, "kind"), job.empty() ? "" : "job " + job + " ", details);
}

// Who did what, or was refused what.
std::string audit_line(const json& record) {
  const json data = record.value("data", json::object());
  const std::string kind = text_of(record, "kind");
  std::string who = text_of(record, "principal");
  std::string what;
  if (kind == "CallsRefused") {
    who = text_of(data, "who").empty() ? "?" : text_of(data, "who");
    what = fmt::format("refused {}: {}, {} times from {}", text_of(data, "operation"),
                       text_of(data, "code"), text_of(data, "times"), text_of(data, "address"));
  } else {
    const std::string job = text_of(record, "job");
    what = kind + (job.empty() ? "" : " job " + job);
    for (const char* of : {"object", "key"}) {
      if (!data.contains(of)) continue;
      const json& one = data.at(of);
      what += fmt::format(" {} {}", text_of(one, "kind"), text_of(one, "name"));
      if (std::string_view(of) == "key") what += fmt::format(" of {}", text_of(one, "user"));
    }
    if (data.contains("object_kind")) {
      what += fmt::format(" {} {}", text_of(data, "object_kind"), text_of(data, "name"));
    }
  }
  return fmt::format("{:>8}  {}  {:<16} {}\n", text_of(record, "seq"),
                     when_text(number_of(record, "at_us")), who, what);
}

void print_event(const json& record, Format format, bool audit) {
  if (format == Format::kJson) {
    print(codec::dump_json(record) + "\n");
  } else if (format == Format::kYaml) {
    print("---\n");
    print_value(record, format);
  } else if (format == Format::kName) {
    print(text_of(record, "seq") + "\n");
  } else {
    print(audit && format != Format::kWide ? audit_line(record)
                                           : event_line(record, format == Format::kWide));
  }
}

// "/v1/events?..." but for its page.
Result<std::string> events_target(const Invocation& invocation, bool audit) {
  std::string target = audit ? "/v1/events?audit=1" : "/v1/events?audit=0";
  for (const char* name : {"job", "kind", "user"}) {
    if (!invocation.has(name)) continue;
    target += fmt::format("&{}={}", name, wire::percent_encode(invocation.get(name)));
  }
  for (const char* name : {"from", "before"}) {
    TRY_ASSIGN(const std::optional<std::int64_t> at_us, instant_us(invocation, name));
    if (at_us) target += fmt::format("&{}={}", name, *at_us);
  }
  return target;
}

// A page of many records may hold few of them, or none: as many pages as it takes.
Result<int> show_pages(Api& api, const std::string& target, const Invocation& invocation,
                       const std::function<void(const json&)>& show, std::int64_t left) {
  std::string after = invocation.get("after");
  while (true) {
    const std::string from = after.empty() ? "" : "&after=" + wire::percent_encode(after);
    TRY_ASSIGN(const json page,
               api.get(fmt::format("{}&limit={}{}", target, std::min(left, kPageRecords), from)));
    for (const json& record : items_of(page, "events")) show(record);
    left -= static_cast<std::int64_t>(items_of(page, "events").size());
    const json next = page.value("next", json());
    if (left <= 0 || !next.is_number() || next.dump() == after) return kExitOk;
    after = next.dump();
  }
}

Result<int> show_events(const Invocation& invocation, bool audit) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  const bool is_all = audit && !invocation.has("limit");
  TRY_ASSIGN(const std::int64_t limit,
             count_option(invocation, "limit", is_all ? INT64_MAX : kRecordsUsual, 1));
  if (invocation.has("follow") && invocation.has("limit")) {
    return usage_error("--follow and --limit exclude each other: -f shows all that comes");
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(std::string target, events_target(invocation, audit));
  const auto show = [&](const json& record) { print_event(record, format, audit); };
  if (!invocation.has("follow")) {
    return show_pages(api, target, invocation, show, limit);
  }
  wire::SseParser parser;
  // Also when the server ends before there was an event: what comes meanwhile is not missed.
  std::string shown_through;
  if (invocation.has("after")) {
    target += "&after=" + wire::percent_encode(invocation.get("after"));
  } else if (!invocation.has("from")) {
    TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
    shown_through = text_of(cluster, "log_head");
  }
  int failures = 0;
  while (true) {
    wire::Pairs headers = {{"Accept", "text/event-stream"}};
    if (!shown_through.empty()) headers.emplace_back("Last-Event-ID", shown_through);
    const Result<void> streamed =
        api.stream("GET", target, "", headers, [&](std::string_view line) {
          const auto event = parser.feed_line(line);
          if (!event) return true;
          const Result<json> record = codec::parse_json(event->data, kEventBytesMax);
          if (record.ok()) show(*record);
          failures = 0;
          return std::fflush(stdout) == 0;
        });
    if (std::ferror(stdout) != 0) return kExitFailed;
    if (!streamed.ok() && (streamed.error().kind != ErrorKind::kUnavailable || ++failures > 60)) {
      return streamed.error();
    }
    if (!parser.last_event_id().empty()) shown_through = parser.last_event_id();
    KeyReader pause;
    (void)pause.key(500);
  }
}

Result<int> run_events(const Invocation& invocation) { return show_events(invocation, false); }
Result<int> run_audit(const Invocation& invocation) { return show_events(invocation, true); }

std::string bar(std::int64_t used, std::int64_t total, int width) {
  const std::int64_t filled = total <= 0 ? 0 : used * width / total;
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? '#' : '.';
  return text;
}

std::string top_text(const json& cluster, const std::vector<JobView>& jobs, TerminalSize size,
                     bool colours) {
  const json none = json::object();
  const auto part = [&](const char* name) { return cluster.value(name, none); };
  const json nodes = part("nodes");
  const json counts = part("jobs");
  const json cores = part("cores");
  const json gpus = part("gpus");
  const std::int64_t cores_total = number_of(cores, "total");
  const std::int64_t cores_used = cores_total - number_of(cores, "free");
  const std::int64_t gpus_total = number_of(gpus, "total");
  const std::int64_t gpus_used = gpus_total * 1000 - number_of(gpus, "free_milli");
  std::string out = fmt::format(
      "{}   {}   jobs: {} running, {} waiting   nodes: {} of {} connected\n",
      styled(text_of(cluster, "name"), "1", colours), when_text(number_of(cluster, "now_us")),
      number_of(counts, "running"), number_of(counts, "waiting"), number_of(nodes, "connected"),
      number_of(nodes, "total"));
  for (const json& trouble : list_of(cluster, "troubles")) {
    if (!trouble.is_string()) continue;
    out += styled("trouble: " + printable(trouble.get<std::string>()), "31", colours) + "\n";
  }
  out +=
      fmt::format("cores [{}] {}/{}\n", bar(cores_used, cores_total, 30), cores_used, cores_total);
  out += fmt::format("GPUs  [{}] {}/{}\n\n", bar(gpus_used, gpus_total * 1000, 30),
                     milli_text(gpus_used), gpus_total);
  Table table({{"ID"},
               {"NAME"},
               {"USER"},
               {"STATE"},
               {"TIME", true},
               {"STEP", true},
               {"GPUS", true},
               {"NODES"}});
  const std::int64_t now_us = telemetry::now_us();
  int left = size.rows - 6;
  for (const JobView& job : jobs) {
    if (left-- <= 0) break;
    const std::vector<std::string> held = job.nodes();
    table.add(
        {{job.shown_id, ""},
         {clipped(job.name, 32), ""},
         {job.user, ""},
         {job.state, state_style(job.state)},
         {clock_text(job.run_us(now_us)), ""},
         {step_text(job.progress), ""},
         {milli_text(job.gpus_milli), ""},
         {held.empty() ? std::to_string(job.nodes_asked) : text::fold_sorted_hostlist(held), ""}});
  }
  return out + table.text(colours);
}

Result<int> run_top(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  Invocation paced = invocation;
  if (stdout_is_terminal() && !invocation.has("once")) {
    paced.values["watch"] = {invocation.get("interval", "2s")};
  }
  JobFilter filter;
  filter.with_ended = false;
  filter.limit = 1000;
  return repeat(paced, [&]() -> Result<int> {
    TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
    TRY_ASSIGN(const std::vector<json> found, list_jobs(api, filter));
    std::vector<JobView> jobs;
    for (const bool waiting : {false, true}) {
      for (const json& one : found) {
        JobView job = read_job(one);
        if (job.waiting() == waiting) jobs.push_back(std::move(job));
      }
    }
    print(top_text(cluster, jobs, terminal_size(), colours_on()));
    return kExitOk;
  });
}

}  // namespace

std::vector<Command> event_commands() {
  CommandSpec events;
  events.name = "events";
  events.summary = "Show what happened and what was decided";
  events.group = "Jobs";
  events.description =
      "With -f it shows what comes from now on, or from WHEN on, until it is interrupted; it\n"
      "survives a restart of the server. WHEN is a time ago, such as 12h, or an instant, such as\n"
      "2026-01-02T03:04:05Z.";
  events.options = {{"follow", 'f', "", "show new records as they come"},
                    {"job", 'j', "JOB", "of this job"},
                    {"kind", 'k', "KINDS", "of these kinds, such as JobSubmitted,Launch"},
                    {"user", 'u', "USER", "what this user did, or was refused"},
                    {"from", 0, "WHEN", "from then on"},
                    {"before", 0, "WHEN", "before then; not with -f"},
                    {"after", 0, "SEQ", "after this position of the log"},
                    {"limit", 0, "COUNT", "show at most this number (1000)"},
                    output_option()};
  CommandSpec audit = events;
  audit.name = "audit";
  audit.summary = "Show who did what, and what was refused to whom";
  audit.group = "People";
  audit.description =
      "For auditors and administrators: the log without the reports of machines and without\n"
      "decisions. Refusals of one kind within a few seconds are counted together. WHEN is a time\n"
      "ago, such as 12h, or an instant, such as 2026-01-02T03:04:05Z.";
  CommandSpec top;
  top.name = "top";
  top.summary = "Watch the cluster";
  top.group = "Nodes";
  top.description = "q or Ctrl-C ends it.";
  top.options = {{"interval", 'd', "TIME", "time between refreshes (2s)"},
                 {"once", '1', "", "print once and exit"}};
  return {{events, guarded("events", run_events)},
          {audit, guarded("audit", run_audit)},
          {top, guarded("top", run_top)}};
}

}  // namespace dove::cli
