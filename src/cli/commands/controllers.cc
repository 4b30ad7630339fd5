// dove controller list, dove controller hand-over: the controllers of a cluster that has several.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

Result<int> run_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.get("/v1/controllers"));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  Table table({{"NAME"}, {"TURN"}, {"VERSION"}, {"LOG", true}, {"SEEN", true}, {"URL"}});
  for (const json& one : list_of(answer, "controllers")) {
    const std::string name = text_of(one, "name");
    if (format == Format::kName) {
      print(name + "\n");
      continue;
    }
    const bool leads = one.value("leads", false);
    table.add({{name, ""},
               {leads ? "leads" : "stands by", ""},
               {text_of(one, "version"), ""},
               {std::to_string(number_of(one, "folded")), ""},
               {leads ? "now" : fmt::format("{} ms ago", number_of(one, "seen_ms_ago")), ""},
               {text_of(one, "url"), ""}});
  }
  if (format != Format::kName) print(table.text(colours_on()));
  return kExitOk;
}

Result<int> run_hand_over(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  json body = json::object();
  if (!invocation.operands.empty()) body["to"] = invocation.operands[0];
  TRY_ASSIGN(const json next, api.send("POST", "/v1/controllers/hand-over", body));
  print(fmt::format("handing over to {} ({})\n", text_of(next, "name"), text_of(next, "url")));
  return kExitOk;
}

}  // namespace

std::vector<Command> controller_commands() {
  CommandSpec list;
  list.name = "controller list";
  list.summary = "List the controllers of the cluster, the one that leads first";
  list.group = "Nodes";
  list.description = "For clusters with several controllers (docs/operate/standby.md).";
  list.options = {output_option()};
  CommandSpec over;
  over.name = "controller hand-over";
  over.summary = "Let another controller lead, at once and without a pause";
  over.group = "Nodes";
  over.operands = "[NAME]";
  over.operands_max = 1;
  over.description =
      "The one that leads finishes what it was given, gives its lease to NAME (the standby that\n"
      "has read most of the log), and stands by. Tasks run on; calls that come meanwhile are "
      "repeated by\n"
      "clients that know all controllers.";
  return {{list, guarded("controller list", run_list)},
          {over, guarded("controller hand-over", run_hand_over)}};
}

}  // namespace dove::cli
