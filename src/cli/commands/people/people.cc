// dove whoami, quota, console, role grant, role revoke, role list: who I am here, and who may do
// what.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

bool is_data(Format format) { return format == Format::kJson || format == Format::kYaml; }

std::string level_text(const std::string& level, const std::string& name) {
  return level == "cluster" ? "the cluster" : fmt::format("{} {}", level, name);
}

Result<int> run_whoami(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json me, api.get("/v1/me"));
  if (is_data(format)) {
    print_value(me, format);
    return kExitOk;
  }
  print(text_of(me, "user") + "\n");
  if (format == Format::kName) return kExitOk;
  if (me.value("admin", false)) print("  administrator of the cluster\n");
  for (const json& role : list_of(me, "roles")) {
    print(fmt::format("  {} of {}\n", text_of(role, "role"),
                      level_text(text_of(role, "level"), text_of(role, "name"))));
  }
  return kExitOk;
}

std::string resource_text(const std::string& resource) {
  if (resource == "gpus_milli") return "GPUs";
  if (resource == "memory_bytes") return "memory";
  if (resource == "jobs_running") return "jobs running";
  if (resource == "jobs_waiting") return "jobs waiting";
  if (resource == "gpu_ms_month") return "GPU hours this month";
  if (resource == "job_time_limit_s") return "time limit of a job";
  if (resource.starts_with("job_")) return resource_text(resource.substr(4)) + " of a job";
  return resource.starts_with("gpus_milli:") ? "GPUs " + resource.substr(11) : resource;
}

// "12.5": of GPUs times milliseconds.
std::string hours_text(std::int64_t gpu_ms) {
  const std::int64_t tenths = gpu_ms / 360'000;
  return tenths % 10 == 0 ? std::to_string(tenths / 10)
                          : fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string amount_text(const std::string& resource, std::int64_t value) {
  if (resource.ends_with("memory_bytes")) return bytes_text(value);
  if (resource == "gpu_ms_month") return hours_text(value);
  if (resource == "job_time_limit_s") return span_text(value * 1'000'000);
  if (resource.ends_with("gpus_milli") || resource.starts_with("gpus_milli:"))
    return milli_text(value);
  return std::to_string(value);
}

Result<int> run_quota(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  std::string target = "/v1/quota";
  const auto add = [&](const char* name, const std::string& value) {
    target += fmt::format("{}{}={}", target.find('?') == std::string::npos ? '?' : '&', name,
                          wire::percent_encode(value));
  };
  if (!invocation.operands.empty()) add("user", invocation.operands[0]);
  if (invocation.has("project")) add("project", invocation.get("project"));
  TRY_ASSIGN(const json answer, api.get(target));
  if (is_data(format)) {
    print_value(answer, format);
    return kExitOk;
  }
  Table table(
      {{"OF"}, {"RESOURCE"}, {"USED"}, {"ASKED"}, {"LIMIT"}, {"LEFT"}, {"OVER"}, {"RAISED BY"}});
  for (const json& row : list_of(answer, "quota")) {
    const std::string resource = text_of(row, "resource");
    const std::int64_t used = number_of(row, "used");
    const std::int64_t asked = number_of(row, "asked");
    const std::int64_t limit = number_of(row, "limit");
    const std::int64_t over = number_of(row, "over");
    const bool of_a_job = resource.starts_with("job_");
    table.add(
        {{fmt::format("{} {}", text_of(row, "level"), text_of(row, "name")), ""},
         {resource_text(resource), ""},
         {of_a_job ? "-" : amount_text(resource, used - asked), ""},
         {asked == 0 ? "-" : amount_text(resource, asked), ""},
         {amount_text(resource, limit), ""},
         {of_a_job ? "-" : amount_text(resource, std::max<std::int64_t>(limit - used, 0)), ""},
         {over == 0 ? "-" : amount_text(resource, over), ""},
         {text_of(row, "raised_by"), ""}});
  }
  if (table.empty()) {
    say(fmt::format("nothing limits {}", text_of(answer, "user")));
  } else {
    print(table.text(colours_on()));
  }
  return kExitOk;
}

// A link that signs a browser in, once.
Result<int> run_console(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", "/v1/sign-in-codes", json::object()));
  print(fmt::format("{}/#code={}\n", api.endpoint().url, text_of(answer, "code")));
  say("open it in a browser within a minute; it is good once, and signs you in for 12 hours");
  return kExitOk;
}

// The level that --project or --domain names.
struct Level {
  std::string field;  // "project", "domain", or "": the cluster
  std::string name;
  std::string text() const { return level_text(field.empty() ? "cluster" : field, name); }
  bool is_of(const json& binding) const {
    if (field.empty()) {
      return text_of(binding, "project").empty() && text_of(binding, "domain").empty();
    }
    return text_of(binding, field.c_str()) == name;
  }
};

Result<Level> level_of(const Invocation& invocation) {
  if (invocation.has("project") && invocation.has("domain")) {
    return usage_error("a role is on a project or on a domain: leave out one of them");
  }
  for (const char* field : {"project", "domain"}) {
    if (invocation.has(field)) return Level{field, invocation.get(field)};
  }
  return Level{};
}

// One binding a role and level, so that what is granted here is found again.
std::string binding_name(const Level& level, const std::string& role) {
  if (level.field.empty()) return fmt::format("cluster.{}s", role);
  return level.field == "domain" ? fmt::format("domain.{}.{}s", level.name, role)
                                 : fmt::format("{}.{}s", level.name, role);
}

std::vector<std::string> names_in(const json& object, const char* field) {
  std::vector<std::string> names;
  for (const json& name : list_of(object, field)) names.push_back(name.get<std::string>());
  return names;
}

// As it is declared; a null one: not yet.
Result<json> find_binding(Api& api, const std::string& name) {
  Result<json> found = api.get("/v1/objects/binding/" + wire::percent_encode(name));
  if (!found.ok() && found.error().kind == ErrorKind::kNotFound) return json();
  return found;
}

Result<int> run_grant(const Invocation& invocation) {
  TRY_ASSIGN(const Level level, level_of(invocation));
  const std::string& role = invocation.operands[0];
  const std::string& who = invocation.operands[1];
  const std::string name = binding_name(level, role);
  const char* field = invocation.has("group") ? "groups" : "users";
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json before, find_binding(api, name));
  std::vector<std::string> names = names_in(before, field);
  if (std::find(names.begin(), names.end(), who) != names.end()) {
    print(fmt::format("{} is {} of {} already\n", who, role, level.text()));
    return kExitOk;
  }
  names.push_back(who);
  json body{{"role", role}, {field, names}};
  if (!level.field.empty()) body[level.field] = level.name;
  if (!before.is_null()) body["version"] = before.at("version");
  TRY_ASSIGN(const json change,
             api.send("PUT", "/v1/objects/binding/" + wire::percent_encode(name), body));
  print(fmt::format("{} is {} of {}\n", who, role, level.text()));
  for (const json& warning : list_of(change, "warnings")) say(warning.get<std::string>());
  return kExitOk;
}

// Out of every binding of that role and level, whatever its name.
Result<int> run_revoke(const Invocation& invocation) {
  TRY_ASSIGN(const Level level, level_of(invocation));
  const std::string& role = invocation.operands[0];
  const std::string& who = invocation.operands[1];
  const char* field = invocation.has("group") ? "groups" : "users";
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json all, get_all(api, "/v1/objects?kind=binding", "objects"));
  int found = 0;
  for (const json& binding : list_of(all, "objects")) {
    if (text_of(binding, "role") != role || !level.is_of(binding)) continue;
    std::vector<std::string> names = names_in(binding, field);
    if (std::erase(names, who) == 0) continue;
    const std::string target =
        "/v1/objects/binding/" + wire::percent_encode(text_of(binding, "name"));
    // An empty one stays: without any the project would be open to everybody.
    TRY(api.send("PUT", target,
                 {{"role", role}, {field, names}, {"version", binding.at("version")}}));
    found += 1;
  }
  if (found == 0) {
    return Error{ErrorKind::kNotFound, "no_such_role",
                 fmt::format("no binding makes {} {} of {}; `dove role list` shows what there is",
                             who, role, level.text()),
                 ""};
  }
  print(fmt::format("{} is no longer {} of {}\n", who, role, level.text()));
  return kExitOk;
}

Result<int> run_roles(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(const Level level, level_of(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json all, get_all(api, "/v1/objects?kind=binding", "objects"));
  json shown = json::array();
  for (const json& binding : list_of(all, "objects")) {
    if (level.field.empty() || level.is_of(binding)) shown.push_back(binding);
  }
  if (is_data(format)) {
    print_value(shown, format);
    return kExitOk;
  }
  Table table({{"ROLE"}, {"LEVEL"}, {"USERS"}, {"GROUPS"}, {"BINDING"}});
  for (const json& binding : shown) {
    if (format == Format::kName) print(text_of(binding, "name") + "\n");
    const std::string project = text_of(binding, "project");
    const std::string domain = text_of(binding, "domain");
    const std::string where = !project.empty()  ? level_text("project", project)
                              : !domain.empty() ? level_text("domain", domain)
                                                : "the cluster";
    table.add({{text_of(binding, "role"), ""},
               {where, ""},
               {fmt::format("{}", fmt::join(names_in(binding, "users"), ",")), ""},
               {fmt::format("{}", fmt::join(names_in(binding, "groups"), ",")), ""},
               {text_of(binding, "name"), ""}});
  }
  if (format == Format::kName) return kExitOk;
  if (table.empty()) {
    say("nobody has a role: `dove role grant ROLE USER` gives one");
  } else {
    print(table.text(colours_on()));
  }
  return kExitOk;
}

std::vector<OptionSpec> level_options() {
  return {{"project", 'P', "PROJECT", "on this project"},
          {"domain", 0, "DOMAIN", "on this domain, with all of its projects"}};
}

CommandSpec role_spec(const char* name, const char* summary) {
  CommandSpec spec;
  spec.name = name;
  spec.summary = summary;
  spec.group = "People";
  spec.options = level_options();
  return spec;
}

}  // namespace

std::vector<Command> people_commands() {
  CommandSpec whoami;
  whoami.name = "whoami";
  whoami.summary = "Show who you are here, with your roles";
  whoami.group = "People";
  whoami.options = {output_option()};
  CommandSpec quota;
  quota.name = "quota";
  quota.summary = "Show your limits, what you use of them, and who may raise them";
  quota.group = "People";
  quota.operands = "[USER]";
  quota.operands_max = 1;
  quota.options = {{"project", 'P', "PROJECT", "only of this project"}, output_option()};
  CommandSpec console;
  console.name = "console";
  console.summary = "Print a link that signs a browser in to the console";
  console.group = "People";
  CommandSpec grant = role_spec("role grant", "Give somebody a role");
  grant.operands = "ROLE USER";
  grant.operands_min = grant.operands_max = 2;
  grant.description =
      "ROLE is viewer, member, manager, admin or auditor. Without --project or --domain it is\n"
      "for the whole cluster. USER \"*\" is everybody. A role is a Binding, which `dove apply` "
      "can\n"
      "declare as well.";
  grant.options.push_back({"group", 0, "", "USER is a group"});
  CommandSpec revoke = role_spec("role revoke", "Take a role from somebody");
  revoke.operands = "ROLE USER";
  revoke.operands_min = revoke.operands_max = 2;
  revoke.options.push_back({"group", 0, "", "USER is a group"});
  CommandSpec list = role_spec("role list", "List who has which role");
  list.options.push_back(output_option());
  return {{whoami, guarded("whoami", run_whoami)},      {quota, guarded("quota", run_quota)},
          {console, guarded("console", run_console)},   {grant, guarded("role grant", run_grant)},
          {revoke, guarded("role revoke", run_revoke)}, {list, guarded("role list", run_roles)}};
}

}  // namespace dove::cli
