// dove nodes, drain, undrain.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/commands/list_watch.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "model/executor.h"
#include "text/hostlist.h"

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
  for (const std::string& one : node.countables) line("Counted", one);
  line("Features", fmt::format("{}", fmt::join(node.features, ", ")));
  line("Labels", node.labels);
  line("Topology", node.topology);
  line("Drained", node.drain_reason);
  line("Warning", node.not_enforced);
  line("Jobs", fmt::format("{}", fmt::join(node.jobs, ", ")));
  return out;
}

// Why it is where it is in its life, what is found of it, and what somebody asked for.
std::string maintenance_text(const json& node) {
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
  const json refused = node.value("refused", json());
  if (refused.is_object()) {
    line("Refused", fmt::format("an agent at {}, {} ago: {}", text_of(refused, "address"),
                                span_text(number_of(refused, "ago_us")), text_of(refused, "why")));
  }
  if (const std::int64_t at_us = number_of(node, "lost_at_us"); at_us > 0) {
    const bool may_return = text_of(node, "state") != "expelled";
    line("Lost at", when_text(at_us) + (may_return ? ", unless it is heard from" : "") +
                        "; at once with `dove node lost " + text_of(node, "name") + " --is-off`");
  }
  return out;
}

// "gpu 0,2, 4 cores, 16 GiB".
std::string held_text(const json& allocation) {
  std::string out;
  const auto add = [&](const std::string& one) { out += (out.empty() ? "" : ", ") + one; };
  std::string devices;
  for (const json& device : list_of(allocation, "devices")) {
    devices += (devices.empty() ? "" : ",") + device.dump();
  }
  if (!devices.empty()) add("gpu " + devices);
  const std::size_t cores = list_of(allocation, "cores").size();
  if (cores > 0) add(fmt::format("{} core{}", cores, cores == 1 ? "" : "s"));
  const std::int64_t bytes = number_of(allocation, "memory_bytes");
  if (bytes > 0) add(bytes_text(bytes));
  return out.empty() ? "nothing" : out;
}

// "; account lab (queue research), partition main, priority 100": what the executor says of it.
std::string standing_text(const json& allocation) {
  std::string out;
  const auto add = [&](const char* title, const std::string& text) {
    if (!text.empty()) out += fmt::format("{} {} {}", out.empty() ? ";" : ",", title, text);
  };
  const std::string queue = text_of(allocation, "queue");
  add("account", text_of(allocation, "account") + (queue.empty() ? "" : " (queue " + queue + ")"));
  add("partition", text_of(allocation, "partition"));
  const std::int64_t priority = number_of(allocation, "priority");
  add("priority", priority == 0 ? "" : std::to_string(priority));
  return printable(out);
}

// Who else runs work there, and what.
std::string executors_text(const json& node) {
  std::string out;
  for (const json& executor : list_of(node, "executors")) {
    const std::string name = text_of(executor, "name");
    const std::string why = text_of(executor, "why");
    out += fmt::format("  {:<9} {}: {}, {}{}{}\n", "Executor", printable(name),
                       text_of(executor, "contact"), text_of(executor, "state"),
                       why.empty() ? "" : " (" + printable(why) + ")",
                       executor.value("closes", false) ? "; nothing new starts here" : "");
    for (const json& one : list_of(executor, "foreign")) {
      const std::int64_t ends_us = number_of(one, "ends_by_us");
      // Nobody runs in what is kept for others: with an instant it is still to come.
      const std::int64_t from_us =
          text_of(one, "id").starts_with(kKept_begin) ? number_of(one, "started_at_us") : 0;
      out += fmt::format("  {:<9} {} job {} of {}: {}{}{}{}\n", "Foreign", printable(name),
                         printable(text_of(one, "id")), printable(text_of(one, "user")),
                         held_text(one), from_us == 0 ? "" : " from " + when_text(from_us),
                         ends_us == 0 ? "" : " until " + when_text(ends_us), standing_text(one));
    }
  }
  return out;
}

// "&name=n1,n2&labels=…": those that are asked for.
std::string filter_of(const Invocation& invocation) {
  std::vector<std::string> all;
  for (const std::string& name : invocation.operands) {
    for (std::string& one : text::expand_hostlist(name)) all.push_back(std::move(one));
  }
  std::string query = labels_query(invocation.all("labels"));
  if (!all.empty()) {
    query += "&name=" + wire::percent_encode(fmt::format("{}", fmt::join(all, ",")));
  }
  return query;
}

Result<json> fetch(Api& api, const Invocation& invocation) {
  const std::vector<std::string>& names = invocation.operands;
  if (names.empty() || invocation.has("labels")) {
    return get_all(api, "/v1/nodes?limit=1000" + filter_of(invocation), "nodes");
  }
  json nodes = json::array();
  for (const std::string& name : names) {
    for (const std::string& one : text::expand_hostlist(name)) {
      TRY_ASSIGN(json node, api.get(node_target(one)));
      nodes.push_back(std::move(node));
    }
  }
  return json{{"nodes", std::move(nodes)}};
}

Result<int> run_nodes(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  return redraw(invocation, api, "/v1/nodes?limit=1" + filter_of(invocation), [&]() -> Result<int> {
    TRY_ASSIGN(const json answer, fetch(api, invocation));
    const json& items = items_of(answer, "nodes");
    if (format == Format::kJson || format == Format::kYaml) {
      print_value(json{{"nodes", items}}, format);
      return kExitOk;
    }
    std::vector<NodeView> nodes;
    for (const json& item : items) nodes.push_back(read_node(item));
    if (format == Format::kName) {
      for (const NodeView& node : nodes) print(node.name + "\n");
    } else if (nodes.empty() && invocation.has("labels")) {
      say("no node has these labels");
    } else if (nodes.empty()) {
      say("no nodes yet: `dove join-token create` lets one in");
    } else if (!invocation.operands.empty() && format == Format::kTable) {
      for (const json& item : items) {
        print(node_text(read_node(item)) + maintenance_text(item) + executors_text(item));
      }
    } else {
      print(nodes_table(nodes, format == Format::kWide).text(colours_on()));
    }
    for (const json& trouble : list_of(answer, "troubles")) {
      if (trouble.is_string()) say("trouble: " + printable(trouble.get<std::string>()));
    }
    return kExitOk;
  });
}

Result<int> set_drained(const Invocation& invocation, bool drained) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  json body = json::object();
  if (drained) body["reason"] = invocation.get("reason");
  for (const std::string& names : invocation.operands) {
    for (const std::string& name : text::expand_hostlist(names)) {
      TRY(api.send("POST", node_target(name, drained ? "/drain" : "/undrain"), body));
      print(fmt::format(
          "node {} {}\n", name,
          drained ? "drains: running work may end, nothing new starts" : "takes jobs again"));
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
  nodes.options = {labels_option(), output_option(), watch_option()};
  CommandSpec drain = spec_of("drain", "Let nodes finish what they run and take nothing new");
  drain.operands_min = 1;
  drain.options = {{"reason", 'r', "TEXT", "the reason, shown with the node"}};
  CommandSpec undrain = spec_of("undrain", "Let drained nodes take jobs again");
  undrain.operands_min = 1;
  return {
      {nodes, guarded("nodes", run_nodes)},
      {drain, guarded("drain", [](const Invocation& given) { return set_drained(given, true); })},
      {undrain,
       guarded("undrain", [](const Invocation& given) { return set_drained(given, false); })}};
}

}  // namespace dove::cli
