// dove nodes, drain, undrain, node reboot, upgrade, resume.
#include <fmt/format.h>
#include <time.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/api.h"
#include "cli/families.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/times.h"
#include "cli/views.h"
#include "telemetry/clock.h"

namespace dove::cli {
namespace {

using nlohmann::json;

std::string used_of(std::int64_t free, std::int64_t total) {
  return fmt::format("{}/{}", total - free, total);
}

Table nodes_table(const std::vector<NodeView>& nodes, bool wide) {
  std::vector<Column> columns = {{"NAME"},       {"STATE"},        {"CORES", true},
                                 {"GPUS", true}, {"MEMORY", true}, {"JOBS", true}};
  if (wide)
    columns.insert(columns.end(), {{"MODEL"}, {"ADDRESS"}, {"SINCE"}, {"FEATURES"}, {"TOPOLOGY"}});
  columns.push_back({"REASON"});
  Table table(columns);
  for (const NodeView& node : nodes) {
    std::vector<Cell> row = {
        {node.name, ""},
        {node.state, state_style(node.state)},
        {used_of(node.cores_free, node.cores), ""},
        {milli_text(node.gpus * 1000 - node.gpus_free_milli) + "/" + std::to_string(node.gpus), ""},
        {bytes_text(node.memory_bytes - node.memory_free_bytes) + "/" +
             bytes_text(node.memory_bytes),
         ""},
        {std::to_string(node.jobs.size()), ""}};
    if (wide) {
      row.push_back({node.gpu_model, ""});
      row.push_back({node.address, ""});
      row.push_back({when_text(node.contact_since_us), ""});
      row.push_back({fmt::format("{}", fmt::join(node.features, ",")), ""});
      row.push_back({node.topology, ""});
    }
    row.push_back({node.drain_reason, ""});
    table.add(std::move(row));
  }
  return table;
}

std::string node_text(const NodeView& node) {
  std::string out = fmt::format("Node {}: {}\n", node.name, node.state);
  const auto line = [&](const char* title, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<9} {}\n", title, printable(text));
  };
  line("Since", when_text(node.contact_since_us));
  line("Address", node.address);
  line("Cores", fmt::format("{} of {} in use", node.cores - node.cores_free, node.cores));
  line("GPUs", fmt::format("{} of {} in use{}", milli_text(node.gpus * 1000 - node.gpus_free_milli),
                           node.gpus, node.gpu_model.empty() ? "" : " (" + node.gpu_model + ")"));
  line("Slices", node.slices_free.empty() ? "" : "room for " + node.slices_free);
  line("Memory",
       fmt::format("{} of {} in use", bytes_text(node.memory_bytes - node.memory_free_bytes),
                   bytes_text(node.memory_bytes)));
  line("Features", fmt::format("{}", fmt::join(node.features, ", ")));
  line("Topology", node.topology);
  line("Drained", node.drain_reason);
  line("Warning", node.not_enforced);
  line("Jobs", fmt::format("{}", fmt::join(node.jobs, ", ")));
  return out;
}

// Why it is where it is in its life, what is found of it, and what somebody asked for.
std::string care_text(const json& node) {
  std::string out;
  const auto line = [&](const char* title, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<9} {}\n", title, printable(text));
  };
  if (text_of(node, "life") != "production") {
    const std::string who = text_of(node, "life_who");
    line("Why", text_of(node, "life_why") + (who.empty() ? "" : " (" + who + ")"));
  }
  const json request = node.value("request", json::object());
  if (!request.empty()) {
    line("Asked", fmt::format("{} by {}: {}", text_of(request, "action"), text_of(request, "who"),
                              text_of(request, "why")));
  }
  for (const json& one : node.value("findings", json::array())) {
    const bool of_device = one.contains("device") && one.at("device").is_number();
    line("Finding",
         fmt::format("{}: {}{}: {}", text_of(one, "severity"), text_of(one, "check"),
                     of_device ? fmt::format(" of device {}", number_of(one, "device")) : "",
                     text_of(one, "evidence")));
  }
  line("Network", text_of(node, "unit_suspected"));
  return out;
}

Result<json> fetch(Api& api, const std::vector<std::string>& names) {
  if (names.empty()) return api.get("/v1/nodes");
  json nodes = json::array();
  for (const std::string& name : names) {
    for (const std::string& one : expand_hostlist(name)) {
      TRY_ASSIGN(json node, api.get(node_target(one)));
      nodes.push_back(std::move(node));
    }
  }
  return json{{"nodes", std::move(nodes)}};
}

Result<int> run_nodes(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  return repeat(invocation, [&]() -> Result<int> {
    TRY_ASSIGN(const json answer, fetch(api, invocation.operands));
    const json& items = items_of(answer, "nodes");
    if (format == Format::kJson || format == Format::kYaml) {
      print_value(json{{"nodes", items}}, format);
      return kExitOk;
    }
    std::vector<NodeView> nodes;
    for (const json& item : items) nodes.push_back(read_node(item));
    if (format == Format::kName) {
      for (const NodeView& node : nodes) print(node.name + "\n");
    } else if (nodes.empty()) {
      say("no nodes yet: `dove join-token create` lets one in");
    } else if (!invocation.operands.empty() && format == Format::kTable) {
      for (const json& item : items) print(node_text(read_node(item)) + care_text(item));
    } else {
      print(nodes_table(nodes, format == Format::kWide).text(colours_on()));
    }
    return kExitOk;
  });
}

Result<int> set_drained(const Invocation& invocation, bool drained) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  json body = json::object();
  if (drained) body["reason"] = invocation.get("reason");
  for (const std::string& names : invocation.operands) {
    for (const std::string& name : expand_hostlist(names)) {
      TRY(api.send("POST", node_target(name, drained ? "/drain" : "/undrain"), body));
      print(fmt::format(
          "node {} {}\n", name,
          drained ? "drains: what runs may end, nothing new starts" : "takes jobs again"));
    }
  }
  return kExitOk;
}

// A length of time from now, or a local time.
Result<std::int64_t> instant_us(const std::string& text) {
  if (const auto span_us = parse_span_us(text)) return telemetry::now_us() + *span_us;
  std::tm at{};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M", &at);
  if (end == nullptr || *end != '\0') {
    return usage_error(
        fmt::format("--by={} is neither a length such as 2h nor a time as 2027-01-31T18:00", text));
  }
  at.tm_isdst = -1;
  return std::int64_t{std::mktime(&at)} * 1'000'000;
}

// What is asked for stands until it is done, however long that takes.
Result<int> ask_nodes(const Invocation& invocation, const std::string& action) {
  json body{{"action", action}, {"why", invocation.get("reason")}};
  const std::string when = invocation.has("when") ? invocation.get("when") : "idle";
  if (when != "idle" && when != "now") return usage_error("--when is idle or now");
  body["now"] = when == "now";
  if (invocation.has("by")) {
    TRY_ASSIGN(const std::int64_t by_us, instant_us(invocation.get("by")));
    body["by_us"] = by_us;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  for (const std::string& names : invocation.operands) {
    for (const std::string& name : expand_hostlist(names)) {
      TRY_ASSIGN(const json node, api.send("POST", node_target(name, "/action"), body));
      print(fmt::format("node {} {}\n", name, read_node(node).state));
    }
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
  spec.operands_max = -1;
  return spec;
}

}  // namespace

std::vector<Command> node_commands() {
  CommandSpec nodes = spec_of("nodes", "List nodes, or show some in full");
  nodes.operands = "[NODE...]";
  nodes.description = "NODE may be a list such as gpu-[001-004,007].";
  nodes.options = {output_option(), watch_option()};
  CommandSpec drain = spec_of("drain", "Let nodes finish what they run and take nothing new");
  drain.operands_min = 1;
  drain.options = {{"reason", 'r', "TEXT", "why, for those who look"}};
  CommandSpec undrain = spec_of("undrain", "Let drained nodes take jobs again");
  undrain.operands_min = 1;
  const OptionSpec by{"by", 0, "TIME", "what still runs is over by then: 2h, or 2027-01-31T18:00"};
  const OptionSpec when{"when", 0, "idle|now", "once nothing runs there (idle), or stop what runs"};
  CommandSpec node_drain = spec_of("node drain", "Take nodes out of service, by a time");
  CommandSpec reboot = spec_of("node reboot", "Have nodes rebooted and tested, in turns");
  CommandSpec upgrade = spec_of("node upgrade", "Have nodes upgraded and tested, in turns");
  CommandSpec agents = spec_of("node upgrade-agent", "Have agents upgraded under their tasks");
  CommandSpec resume = spec_of("node resume", "Take nodes back: after their tests, if need be");
  const OptionSpec reason{"reason", 'r', "TEXT", "why, for those who look"};
  for (CommandSpec* spec : {&node_drain, &reboot, &upgrade, &agents, &resume}) {
    spec->operands_min = 1;
    spec->options = {reason};
  }
  for (CommandSpec* spec : {&node_drain, &reboot, &upgrade}) spec->options.push_back(by);
  for (CommandSpec* spec : {&reboot, &upgrade}) spec->options.push_back(when);
  const auto asks = [](const char* name, const char* action) {
    return guarded(name, [action](const Invocation& given) { return ask_nodes(given, action); });
  };
  return {
      {node_drain, asks("node drain", "drain")},
      {reboot, asks("node reboot", "reboot")},
      {upgrade, asks("node upgrade", "upgrade")},
      {agents, asks("node upgrade-agent", "upgrade_agent")},
      {resume, asks("node resume", "resume")},
      {nodes, guarded("nodes", run_nodes)},
      {drain, guarded("drain", [](const Invocation& given) { return set_drained(given, true); })},
      {undrain,
       guarded("undrain", [](const Invocation& given) { return set_drained(given, false); })}};
}

}  // namespace dove::cli
