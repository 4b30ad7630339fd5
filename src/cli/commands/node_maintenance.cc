// dove node drain, reboot, upgrade, upgrade-agent, boot, resume, expel, lost, and dove upgrade.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// A length of time from now, or a local time.
Result<std::int64_t> instant_us(const std::string& text) {
  if (const auto span_us = parse_span_us(text)) return telemetry::now_us() + *span_us;
  std::tm at{};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M", &at);
  if (end == nullptr || *end != '\0') {
    return usage_error(fmt::format(
        "--by={} is neither a length such as 2h nor a time such as 2027-01-31T18:00", text));
  }
  at.tm_isdst = -1;
  return std::int64_t{std::mktime(&at)} * 1'000'000;
}

Result<json> request_of(const Invocation& invocation, const std::string& action) {
  json body{{"action", action}, {"why", invocation.get("reason")}};
  const std::string when = invocation.has("when") ? invocation.get("when") : "idle";
  if (when != "idle" && when != "now") return usage_error("--when is idle or now");
  body["now"] = when == "now";
  if (invocation.has("by")) {
    TRY_ASSIGN(const std::int64_t by_us, instant_us(invocation.get("by")));
    body["by_us"] = by_us;
  }
  return body;
}

Result<std::vector<std::string>> nodes_of(const Invocation& invocation, Api& api) {
  std::vector<std::string> names;
  for (const std::string& operand : invocation.operands) {
    for (std::string& name : text::expand_hostlist(operand)) names.push_back(std::move(name));
  }
  if (!invocation.operands.empty()) return names;
  TRY_ASSIGN(const json answer, get_all(api, "/v1/nodes", "nodes"));
  for (const json& node : list_of(answer, "nodes")) names.push_back(text_of(node, "name"));
  return names;
}

// -- the plan of --dry-run

std::string after_text(const json& planned, const char* name, std::int64_t at_us) {
  if (!planned.contains(name) || !planned.at(name).is_number()) return "?";
  const std::int64_t wait_us = number_of(planned, name) - at_us;
  return wait_us <= 0 ? "now" : "+" + span_text(wait_us);
}

std::string jobs_text(const json& planned) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const char* text) {
    const json& jobs = list_of(planned, name);
    if (jobs.empty()) return;
    std::vector<std::string> ids;
    for (const json& job : jobs) ids.push_back(std::to_string(job.get<std::int64_t>()));
    parts.push_back(fmt::format("{} {}", fmt::join(ids, ","), text));
  };
  add("go_on", "run on");
  add("may_end", "may end first");
  add("checkpointed", "checkpointed");
  add("restarted", "stopped, run again");
  return parts.empty() ? "-" : fmt::format("{}", fmt::join(parts, "; "));
}

std::string plan_text(const json& plan) {
  const std::int64_t at_us = number_of(plan, "at_us");
  const json& nodes = list_of(plan, "nodes");
  std::string out = fmt::format(
      "{} of {} nodes, at most {} away at once, {} each", text_of(plan, "action"), nodes.size(),
      number_of(plan, "max_unavailable"), span_text(number_of(plan, "each_s") * 1'000'000));
  if (plan.contains("done_us") && plan.at("done_us").is_number()) {
    const std::int64_t done_us = number_of(plan, "done_us");
    out += fmt::format(": done in {}, at {}\n", span_text(done_us - at_us), when_text(done_us));
  } else {
    out += ": its end cannot be predicted\n";
  }
  Table table(
      {{"ORDER", true}, {"NODE"}, {"FROM", true}, {"IDLE", true}, {"BACK", true}, {"JOBS"}});
  int order = 0;
  for (const json& planned : nodes) {
    table.add({{std::to_string(++order), ""},
               {text_of(planned, "node"), ""},
               {after_text(planned, "from_us", at_us), ""},
               {after_text(planned, "idle_us", at_us), ""},
               {after_text(planned, "back_us", at_us), ""},
               {jobs_text(planned), ""}});
  }
  out += table.text(colours_on());
  for (const json& job : list_of(plan, "endless")) {
    out += fmt::format("job {} has no time limit: give --by or --when now, or cancel it\n",
                       job.get<std::int64_t>());
  }
  return out +
         "Nothing was changed. The plan does not count what starts on these nodes meanwhile.\n";
}

Result<int> show_plan(const Invocation& invocation, const std::string& action) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(json body, request_of(invocation, action));
  if (invocation.has("each")) {
    const auto each_us = parse_span_us(invocation.get("each"));
    if (!each_us) return usage_error("--each is a length of time such as 10m");
    body["each_s"] = *each_us / 1'000'000;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(body["nodes"], nodes_of(invocation, api));
  TRY_ASSIGN(const json plan, api.send("POST", "/v1/maintenance-plan", body));
  if (format == Format::kTable || format == Format::kWide) {
    print(plan_text(plan));
  } else if (format == Format::kName) {
    for (const json& planned : list_of(plan, "nodes")) print(text_of(planned, "node") + "\n");
  } else {
    print_value(plan, format);
  }
  return kExitOk;
}

// What is asked for stands until it is done, however long that takes.
Result<int> ask_nodes(const Invocation& invocation, const std::string& action) {
  if (invocation.has("dry-run")) return show_plan(invocation, action);
  TRY_ASSIGN(const json body, request_of(invocation, action));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<std::string> names, nodes_of(invocation, api));
  for (const std::string& name : names) {
    TRY_ASSIGN(const json node, api.send("POST", node_target(name, "/action"), body));
    print(fmt::format("node {} {}\n", name, read_node(node).state));
  }
  return kExitOk;
}

// Its word is the only proof that there is, so it is asked for in full.
Result<int> declare_off(const Invocation& invocation) {
  if (!invocation.has("is-off")) {
    return usage_error(
        "what ran on the node starts elsewhere at once, and would run twice if its machine runs: "
        "make sure that it is off, or that it runs no task, and say so with --is-off");
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<std::string> names, nodes_of(invocation, api));
  const json body{{"is_off", true}, {"why", invocation.get("reason")}};
  for (const std::string& name : names) {
    TRY_ASSIGN(const json node, api.send("POST", node_target(name, "/lost"), body));
    print(fmt::format("node {} {}\n", name, read_node(node).state));
  }
  return kExitOk;
}

Result<int> arm_boots(const Invocation& invocation) {
  json body = json::object();
  if (invocation.has("within")) {
    const auto within_us = parse_span_us(invocation.get("within"));
    if (!within_us || *within_us < 1'000'000) return usage_error("--within is a time such as 15m");
    body["within_s"] = *within_us / 1'000'000;
  }
  if (invocation.has("off")) {
    if (invocation.has("within")) return usage_error("say --within or --off");
    body["within_s"] = 0;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<std::string> names, nodes_of(invocation, api));
  for (const std::string& name : names) {
    TRY_ASSIGN(const json answer, api.send("POST", node_target(name, "/boot"), body));
    const std::int64_t until_us = number_of(answer, "until_us");
    print(fmt::format("node {}: {}\n", name,
                      until_us == 0 ? "no boot is expected any more"
                                    : "one boot is expected until " + when_text(until_us)));
  }
  return kExitOk;
}

// What the restored log does not know: a finding that is no fault any more lets it be stopped, and
// the log keeps who said so.
Result<int> release_unknown(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<std::string> names, nodes_of(invocation, api));
  for (const std::string& name : names) {
    TRY_ASSIGN(const json node, api.get(node_target(name, "")));
    const json& findings = list_of(node, "findings");
    const auto open = std::find_if(findings.begin(), findings.end(), [](const json& finding) {
      return text_of(finding, "check") == "unknown_work";
    });
    if (open == findings.end()) {
      print(fmt::format("node {}: it holds no work that the cluster does not know\n", name));
      continue;
    }
    const json finding{{"check", "unknown_work"},
                       {"severity", "warning"},
                       {"remedy", "none"},
                       {"device", -1},
                       {"evidence", "is stopped: " + text_of(*open, "evidence")}};
    TRY(api.send("POST", node_target(name, "/findings"), finding));
    print(fmt::format("node {}: stops {}\n", name, text_of(*open, "evidence")));
  }
  return kExitOk;
}

CommandSpec spec_of(const std::string& name, const std::string& summary) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "Nodes";
  spec.operands = "NODE...";
  spec.completes = "node";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.options = {{"reason", 'r', "TEXT", "the reason, shown with the node"}};
  return spec;
}

}  // namespace

std::vector<Command> node_maintenance_commands() {
  const OptionSpec by{"by", 0, "TIME", "running work ends by then: 2h, or 2027-01-31T18:00"};
  const OptionSpec when{"when", 0, "idle|now", "once nothing runs there (idle), or at once (now)"};
  CommandSpec drain = spec_of("node drain", "Take nodes out of service by a given time");
  CommandSpec reboot = spec_of("node reboot", "Reboot and test nodes, a few at a time");
  CommandSpec upgrade = spec_of("node upgrade", "Upgrade and test nodes, a few at a time");
  CommandSpec agents = spec_of("node upgrade-agent", "Upgrade agents while their tasks run");
  CommandSpec resume =
      spec_of("node resume", "Return nodes to service, after their tests if necessary");
  CommandSpec lost = spec_of("node lost", "Declare that silent machines are switched off");
  lost.description =
      "A silent node counts as lost once its tasks must have ended: after the grace and the\n"
      "fence, or, once the controller has started anew, after the grace of an outage (24 hours).\n"
      "This declares that its machine is off now: its jobs run elsewhere at once. It is logged.";
  lost.options.push_back({"is-off", 0, "", "somebody has made sure that the machine is off"});
  CommandSpec boot =
      spec_of("node boot", "Let machines that keep nothing boot and join, once each");
  boot.description =
      "A machine that keeps nothing across a reboot asks the controller for a token to join with.\n"
      "It gets one only while a boot of its node is expected: after this command, once, or while\n"
      "it reboots because of `dove node reboot`. A BootConfig says from where it may ask. It is\n"
      "logged. The node need not have joined before.";
  boot.options = {{"within", 0, "TIME", "how long the boot is expected (default: 15m)"},
                  {"off", 0, "", "expect none any more; unspent join tokens of the node are void"}};
  CommandSpec expel = spec_of("node expel", "Cut off nodes that can no longer be trusted");
  expel.description =
      "At once the token of the node's agent is void, its session and all that is open to its\n"
      "tasks end, and it is sent no order and no secret. Join tokens for the node and the tokens\n"
      "of its jobs are void, too. Its jobs run elsewhere once its tasks must have ended: after\n"
      "the grace and the fence, or at once with `dove node lost NODE --is-off`. Then the node is\n"
      "gone. Only a new join token brings it back. It is logged.";
  CommandSpec release =
      spec_of("node release-unknown", "Stop work that a restored cluster does not know");
  release.description =
      "After `dove restore`, work that began after the backup goes on, and its nodes take\n"
      "nothing new. This stops whatever belongs to no job that the cluster knows. It is logged.";
  release.options.clear();
  CommandSpec all = spec_of("upgrade", "Upgrade agents (with --drivers: nodes), a few at a time");
  all.operands = "[NODE...]";
  all.operands_min = 0;
  all.description =
      "Without NODE, all nodes. Agents are replaced while their tasks keep running; for drivers\n"
      "and systems, nodes are drained first. At most max_unavailable nodes are away at once.";
  all.options.push_back(
      {"drivers", 0, "", "upgrade drivers and system by the hook `upgrade`, after a drain"});
  for (CommandSpec* spec : {&drain, &reboot, &upgrade, &all}) spec->options.push_back(by);
  for (CommandSpec* spec : {&reboot, &upgrade, &all}) spec->options.push_back(when);
  for (CommandSpec* spec : {&drain, &reboot, &upgrade, &agents, &all}) {
    spec->options.push_back({"dry-run", 0, "", "show the plan, and change nothing"});
    spec->options.push_back({"each", 0, "TIME", "for the plan: how long each node is away"});
    spec->options.push_back(output_option());
  }
  const auto asks = [](const char* name, const char* action) {
    return guarded(name, [action](const Invocation& given) { return ask_nodes(given, action); });
  };
  return {{all, guarded("upgrade",
                        [](const Invocation& given) {
                          return ask_nodes(given,
                                           given.has("drivers") ? "upgrade" : "upgrade_agent");
                        })},
          {drain, asks("node drain", "drain")},
          {reboot, asks("node reboot", "reboot")},
          {upgrade, asks("node upgrade", "upgrade")},
          {agents, asks("node upgrade-agent", "upgrade_agent")},
          {boot, guarded("node boot", arm_boots)},
          {resume, asks("node resume", "resume")},
          {expel, asks("node expel", "expel")},
          {lost, guarded("node lost", declare_off)},
          {release, guarded("node release-unknown", release_unknown)}};
}

}  // namespace dove::cli
