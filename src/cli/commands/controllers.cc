// dove controller list, hand-over, accept-clock, and dove upgrade finish: the controllers of a
// cluster, their clock, and the level at which they write.
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

std::string seen_text(std::int64_t ms_ago) {
  return ms_ago < 10'000 ? fmt::format("{} ms ago", ms_ago)
                         : fmt::format("{} ago", span_text(ms_ago * 1000));
}

// How many calls; "-": a server of a former version does not say.
std::string refused_text(const json& one) {
  const auto refused = one.find("refused");
  const bool says = refused != one.end() && refused->is_object();
  return says ? std::to_string(number_of(*refused, "calls")) : "-";
}

Result<int> run_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.get("/v1/controllers"));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  Table table({{"NAME"},
               {"TURN"},
               {"VERSION"},
               {"LEVEL", true},
               {"LOG", true},
               {"SEEN", true},
               {"REFUSED", true},
               {"URL"}});
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
               {std::to_string(number_of(one, "level")), ""},
               {std::to_string(number_of(one, "folded")), ""},
               {leads ? "now" : seen_text(number_of(one, "seen_ms_ago")), ""},
               {refused_text(one), ""},
               {text_of(one, "url"), ""}});
  }
  if (format == Format::kName) return kExitOk;
  print(table.text(colours_on()));
  print(fmt::format("the log is written at level {}\n", number_of(answer, "level")));
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

Result<int> run_accept_clock(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY(api.send("POST", "/v1/controllers/accept-clock", json::object()));
  print("the machine's clock is accepted: `dove top` shows how far the log's times are from it\n");
  return kExitOk;
}

Result<int> run_finish(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", "/v1/controllers/finish-upgrade", json::object()));
  print(fmt::format(
      "the cluster is at level {}: controllers of the former version can no longer read its log\n",
      number_of(answer, "level")));
  return kExitOk;
}

}  // namespace

std::vector<Command> controller_commands() {
  CommandSpec list;
  list.name = "controller list";
  list.summary = "List the controllers of the cluster, the leader first";
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
      "The leader finishes what it was given, gives its lease to NAME (by default the standby\n"
      "that has read the most of the log), and stands by. Tasks run on. Clients that know all\n"
      "controllers repeat the calls that come meanwhile.";
  CommandSpec clock;
  clock.name = "controller accept-clock";
  clock.summary = "Accept the clock of the controller's machine after it leapt";
  clock.group = "Nodes";
  clock.description =
      "After a leap of more than ten minutes the log's times go on as if nobody had set the\n"
      "clock. Once accepted, a clock that is ahead counts at once: jobs whose time limit has\n"
      "passed by that clock end. Times never go back: if the clock is behind, the log's times\n"
      "run a tenth slower until they meet it.";
  CommandSpec finish;
  finish.name = "upgrade finish";
  finish.summary = "Make an upgrade of the controllers final: no way back to the former version";
  finish.group = "Nodes";
  finish.description =
      "After an upgrade the log is still written as the former version wrote it: that version's\n"
      "controllers can lead again. What they could not read is refused (level_needed). Finish\n"
      "the upgrade once all controllers are upgraded and you want what is new. This cannot be\n"
      "undone.";
  return {{list, guarded("controller list", run_list)},
          {finish, guarded("upgrade finish", run_finish)},
          {over, guarded("controller hand-over", run_hand_over)},
          {clock, guarded("controller accept-clock", run_accept_clock)}};
}

}  // namespace dove::cli
