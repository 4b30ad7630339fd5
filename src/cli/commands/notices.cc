// dove notices, notices add, notices remove, notices test: where somebody hears of what.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

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

constexpr const char* kWays[] = {"mail", "webhook", "slack"};

Result<std::string> target_of(Api& api, const Invocation& invocation) {
  std::string user = invocation.get("user");
  if (user.empty()) {
    TRY_ASSIGN(const json me, api.get("/v1/me"));
    user = text_of(me, "user");
  }
  return "/v1/users/" + wire::percent_encode(user) + "/notices";
}

std::string joined(const json& target, const char* field) {
  std::vector<std::string> words;
  for (const json& word : list_of(target, field)) words.push_back(word.get<std::string>());
  return fmt::format("{}", fmt::join(words, ","));
}

// As they are declared: without what only the answer has.
json declared_of(const json& answer) {
  json targets = json::array();
  for (const json& target : list_of(answer, "targets")) {
    targets.push_back(
        json{{"by", target.at("by")}, {"to", target.at("to")}, {"about", target.at("about")}});
  }
  return targets;
}

void show(const json& answer) {
  Table table(
      {{"N"}, {"BY"}, {"TO"}, {"ABOUT"}, {"SENT", true}, {"WAITING", true}, {"LAST ERROR"}});
  int number = 0;
  for (const json& target : list_of(answer, "targets")) {
    const std::string error = text_of(target, "error");
    table.add(
        {{std::to_string(++number), ""},
         {text_of(target, "by"), ""},
         {text_of(target, "to"), ""},
         {joined(target, "about"), ""},
         {std::to_string(number_of(target, "delivered")), ""},
         {std::to_string(number_of(target, "waiting")), ""},
         {error.empty() ? ""
                        : fmt::format("{}, {}", error, when_text(number_of(target, "error_at_us"))),
          ""}});
  }
  if (table.empty()) {
    say("no notices: `dove notices add --mail ada@example.org --about job_ended` chooses some");
    return;
  }
  print(table.text(colours_on()));
  for (const json& target : list_of(answer, "targets")) {
    if (const std::int64_t lost = number_of(target, "suppressed"); lost > 0) {
      say(fmt::format("{} more were not sent to {}: too many in an hour", lost,
                      text_of(target, "to")));
    }
  }
}

Result<int> run_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, target_of(api, invocation));
  TRY_ASSIGN(const json answer, api.get(target));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
  } else {
    show(answer);
  }
  return kExitOk;
}

// What --about says, or what most people want.
json about_of(const Invocation& invocation) {
  std::vector<std::string> about;
  std::stringstream words(invocation.get("about", "job_ended,job_stops_soon,session_idle"));
  for (std::string word; std::getline(words, word, ',');) {
    if (!word.empty()) about.push_back(word);
  }
  return about;
}

Result<int> run_add(const Invocation& invocation) {
  json made;
  for (const char* way : kWays) {
    if (!invocation.has(way)) continue;
    if (!made.is_null()) return usage_error("one of --mail, --webhook and --slack at a time");
    made = json{{"by", way}, {"to", invocation.get(way)}, {"about", about_of(invocation)}};
  }
  if (made.is_null()) return usage_error("say where: --mail ADDRESS, --webhook URL or --slack URL");
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, target_of(api, invocation));
  TRY_ASSIGN(const json before, api.get(target));
  json targets = declared_of(before);
  targets.push_back(made);
  TRY_ASSIGN(const json answer, api.send("PUT", target, json{{"targets", targets}}));
  show(answer);
  say(fmt::format("`dove notices test {}` sends one now", list_of(answer, "targets").size()));
  return kExitOk;
}

Result<std::size_t> number_in(const Invocation& invocation) {
  const std::string& text = invocation.operands[0];
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number == 0) {
    return usage_error("N is the number that `dove notices` shows");
  }
  return number;
}

Result<int> run_remove(const Invocation& invocation) {
  TRY_ASSIGN(const std::size_t number, number_in(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, target_of(api, invocation));
  TRY_ASSIGN(const json before, api.get(target));
  json targets = declared_of(before);
  if (number > targets.size()) {
    return Error{ErrorKind::kNotFound, "no_such_target",
                 fmt::format("there are {} targets; `dove notices` numbers them", targets.size()),
                 ""};
  }
  const std::string gone = text_of(targets[number - 1], "to");
  targets.erase(number - 1);
  TRY(api.send("PUT", target, json{{"targets", targets}}));
  print(fmt::format("{} gets no more notices\n", gone));
  return kExitOk;
}

Result<int> run_test(const Invocation& invocation) {
  TRY_ASSIGN(const std::size_t number, number_in(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, target_of(api, invocation));
  TRY_ASSIGN(const json answer,
             api.send("POST", fmt::format("{}/{}/test", target, number), json()));
  if (answer.value("delivered", false)) {
    print("delivered\n");
    return kExitOk;
  }
  say(fmt::format("not delivered: {} ({})", text_of(answer, "detail"), text_of(answer, "code")));
  return kExitFailed;
}

CommandSpec spec_of(const char* name, const char* summary) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "People";
  spec.options = {{"user", 0, "USER", "somebody else's; administrators only"}};
  return spec;
}

}  // namespace

std::vector<Command> notice_commands() {
  CommandSpec list =
      spec_of("notices", "Show where notices about your jobs go, and whether they arrive");
  list.description =
      "People hear by mail, by a webhook or in a chat about what they have chosen\n"
      "(docs/guide/notices.md). URLs of webhooks are shown by their host.";
  list.options.push_back(output_option());
  CommandSpec add = spec_of("notices add", "Add a target for notices");
  add.options.insert(
      add.options.begin(),
      {{"mail", 0, "ADDRESS", "by mail"},
       {"webhook", 0, "URL", "by a signed POST of JSON"},
       {"slack", 0, "URL", "by an incoming webhook of Slack, Mattermost, ..."},
       {"about", 0, "WORD,...",
        "job_started, job_ended, job_failed, job_starts_soon, job_stops_soon, session_idle, "
        "node_sick (job_ended,job_stops_soon,session_idle)"}});
  CommandSpec remove = spec_of("notices remove", "Remove a target: nothing is sent there any more");
  remove.operands = "N";
  remove.operands_min = remove.operands_max = 1;
  CommandSpec test = spec_of("notices test", "Send a notice now, and say what became of it");
  test.operands = "N";
  test.operands_min = test.operands_max = 1;
  return {{list, guarded("notices", run_list)},
          {add, guarded("notices add", run_add)},
          {remove, guarded("notices remove", run_remove)},
          {test, guarded("notices test", run_test)}};
}

}  // namespace dove::cli
