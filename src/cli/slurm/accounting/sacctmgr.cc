// sacctmgr under its own name: what is declared, as accounts (projects), users, associations,
// clusters and qualities of service (queues). It changes nothing: `dove apply` does.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/accounting/members.h"
#include "cli/slurm/columns.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"

namespace dove::cli {
namespace {

using nlohmann::json;
using Row = std::map<std::string, std::string>;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// What the words behind "show ENTITY" ask for.
struct Asked {
  std::string format;
  bool with_associations = false;
  std::map<std::string, std::vector<std::string>> wanted;  // by field: user, account, name
};

struct Entity {
  const char* name;
  const char* format;
  const char* associated_format;  // with -s; "" : the same
};
constexpr Entity kEntities[] = {
    {"account", "Account,Description,Organization",
     "Account,Description,Organization,Cluster,ParentName,User,Share,QOS,DefaultQOS"},
    {"association",
     "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,"
     "MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins",
     ""},
    {"cluster",
     "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,"
     "MaxSubmit,MaxWall,QOS,DefaultQOS",
     ""},
    {"qos",
     "Name,Priority,GraceTime,Preempt,PreemptMode,Flags,UsageFactor,GrpTRES,GrpJobs,GrpSubmit,"
     "GrpWall,MaxTRES,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU",
     ""},
    {"user", "User,DefaultAccount,AdminLevel",
     "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodes,"
     "MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS"}};

const std::vector<SlurmColumn>& columns() {
  static const std::vector<SlurmColumn> kColumns = {{"Account", 10},
                                                    {"AdminLevel", 9, false, "Admin"},
                                                    {"Cluster", 10},
                                                    {"ControlHost", 15},
                                                    {"ControlPort", 12},
                                                    {"DefaultAccount", 10, false, "Def Acct"},
                                                    {"DefaultQOS", 9, false, "Def QOS"},
                                                    {"Description", 20, false, "Descr"},
                                                    {"Fairshare", 9, false, "Share"},
                                                    {"Flags", 20},
                                                    {"GraceTime", 10},
                                                    {"GrpJobs", 7},
                                                    {"GrpSubmitJobs", 9, false, "GrpSubmit"},
                                                    {"GrpTRES", 13},
                                                    {"GrpTRESMins", 13},
                                                    {"GrpTRESRunMins", 13, false, "GrpTRESRunMin"},
                                                    {"GrpWall", 11},
                                                    {"MaxCPUMins", 11},
                                                    {"MaxCPUs", 8},
                                                    {"MaxJobs", 7},
                                                    {"MaxJobsPU", 9},
                                                    {"MaxNodes", 8},
                                                    {"MaxSubmitJobs", 9, false, "MaxSubmit"},
                                                    {"MaxSubmitPU", 11},
                                                    {"MaxTRES", 13},
                                                    {"MaxTRESMins", 13},
                                                    {"MaxTRESPerNode", 14},
                                                    {"MaxTRESPU", 13},
                                                    {"MaxWall", 11},
                                                    {"Name", 10},
                                                    {"Organization", 20, false, "Org"},
                                                    {"ParentName", 10, false, "Par Name"},
                                                    {"Partition", 10},
                                                    {"Preempt", 10},
                                                    {"PreemptMode", 11},
                                                    {"Priority", 10},
                                                    {"QOS", 20},
                                                    {"RPC", 5},
                                                    {"Share", 9},
                                                    {"UsageFactor", 11},
                                                    {"User", 10}};
  return kColumns;
}

const Entity* find_entity(const std::string& word) {
  const std::string wanted = lower(word);
  for (const Entity& entity : kEntities) {
    const std::string name = entity.name;
    if (wanted.size() >= 2 && (name.starts_with(wanted) || wanted == name + "s")) return &entity;
  }
  return nullptr;
}

Result<Asked> read_words(const Entity& entity, const std::vector<std::string>& words) {
  Asked asked;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    const std::string key = lower(word.substr(0, equals));
    if (equals == std::string::npos) {
      if (key == "where" || key == "set") continue;
      if (key.starts_with("with") || key.starts_with("wo")) {
        asked.with_associations = asked.with_associations || key.starts_with("withas");
        continue;
      }
      asked.wanted[entity.name].push_back(word);  // a name alone
      continue;
    }
    const std::string value = word.substr(equals + 1);
    if (key == "format") {
      asked.format = value;
      continue;
    }
    std::string field = key == "name" || key == "names" ? entity.name : key;
    if (field.size() > 1 && field.back() == 's' && field != "qos") field.pop_back();
    if (field == "acct") field = "account";
    const std::vector<std::string> known = {"user", "account", "cluster", "qos", "partition"};
    if (std::find(known.begin(), known.end(), field) == known.end()) {
      return usage_error(fmt::format("Unknown condition: {}", printable(word)));
    }
    for (std::string& one : comma_list(value)) asked.wanted[field].push_back(std::move(one));
  }
  return asked;
}

// All that is declared, read once.
struct Declared {
  std::string cluster, host, port;
  json projects, users, queues;
  Members members;
};

Result<Declared> read_declared(Api& api) {
  Declared declared;
  TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
  TRY_ASSIGN(const json projects, get_all(api, "/v1/objects?kind=Project", "objects"));
  TRY_ASSIGN(const json users, get_all(api, "/v1/objects?kind=User", "objects"));
  TRY_ASSIGN(const json queues, get_all(api, "/v1/queues", "queues"));
  declared.cluster = text_of(cluster, "name");
  declared.projects = items_of(projects, "objects");
  TRY_ASSIGN(declared.members, members_of(api, declared.projects));
  declared.users = items_of(users, "objects");
  declared.queues = items_of(queues, "queues");
  std::string url = api.endpoint().url;
  if (const std::size_t at = url.find("://"); at != std::string::npos) url.erase(0, at + 3);
  const std::size_t colon = url.rfind(':');
  declared.host = url.substr(0, colon);
  if (colon != std::string::npos) declared.port = url.substr(colon + 1);
  return declared;
}

std::string amount(const json& limits, const char* name) {
  return limits.contains(name) && limits[name].is_number() ? limits[name].dump() : "";
}

std::string tres_of(const json& limits) {
  std::string text;
  const auto add = [&](const char* tres, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : ",", tres, value);
  };
  add("cpu", amount(limits, "cores"));
  if (const std::int64_t milli = number_of(limits, "gpus_milli", -1); milli >= 0) {
    add("gres/gpu", milli_text(milli));
  }
  if (const std::int64_t bytes = number_of(limits, "memory_bytes", -1); bytes >= 0) {
    add("mem", fmt::format("{}M", bytes >> 20));
  }
  return text;
}

std::string queue_names(const Declared& declared) {
  std::vector<std::string> names;
  for (const json& queue : declared.queues) names.push_back(text_of(queue, "name"));
  return fmt::format("{}", fmt::join(names, ","));
}

json limits_of(const json& object) { return object.value("limits", json::object()); }

// A project's own row, and one of each of its users.
std::vector<Row> associations(const Declared& declared) {
  std::vector<Row> rows;
  for (const json& project : declared.projects) {
    const json limits = limits_of(project);
    Row row{{"Cluster", declared.cluster},
            {"Account", text_of(project, "name")},
            {"Fairshare", "1"},
            {"Share", "1"},
            {"QOS", queue_names(declared)},
            {"GrpJobs", amount(limits, "jobs_running")},
            {"GrpSubmitJobs", amount(limits, "jobs_waiting")},
            {"GrpTRES", tres_of(limits)}};
    rows.push_back(row);
    for (const char* own : {"GrpJobs", "GrpSubmitJobs", "GrpTRES"}) row.erase(own);
    for (const std::string& user : declared.members.projects.at(text_of(project, "name"))) {
      row["User"] = user;
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<Row> users(const Declared& declared, bool with_associations) {
  std::map<std::string, Row> known;
  for (const json& user : declared.users) {
    const std::string name = text_of(user, "name");
    known[name] = {
        {"User", name},
        {"AdminLevel", declared.members.administrators.count(name) > 0 ? "Administrator" : "None"}};
  }
  const std::vector<Row> all = associations(declared);
  for (const Row& row : all) {
    const auto user = row.find("User");
    if (user == row.end()) continue;
    Row& of_user = known.try_emplace(user->second, Row{{"AdminLevel", "None"}}).first->second;
    of_user["User"] = user->second;
    of_user.try_emplace("DefaultAccount", row.at("Account"));
  }
  std::vector<Row> rows;
  for (const auto& [name, of_user] : known) {
    bool any = false;
    for (const Row& row : all) {
      const auto user = row.find("User");
      if (!with_associations || user == row.end() || user->second != name) continue;
      Row joined = row;
      joined.insert(of_user.begin(), of_user.end());
      rows.push_back(std::move(joined));
      any = true;
    }
    if (!any) rows.push_back(of_user);
  }
  return rows;
}

std::vector<Row> qualities(const Declared& declared) {
  std::vector<Row> rows;
  for (const json& queue : declared.queues) {
    const json limits = limits_of(queue);
    rows.push_back({{"Name", text_of(queue, "name")},
                    {"QOS", text_of(queue, "name")},
                    {"Priority", std::to_string(number_of(queue, "priority"))},
                    {"GraceTime", "00:00:00"},
                    {"PreemptMode", "cluster"},
                    {"UsageFactor", "1.000000"},
                    {"GrpJobs", amount(limits, "jobs_running")},
                    {"GrpSubmitJobs", amount(limits, "jobs_waiting")},
                    {"GrpTRES", tres_of(limits)}});
  }
  return rows;
}

std::vector<Row> rows_of(const std::string& entity, const Declared& declared, bool associated) {
  if (entity == "association") return associations(declared);
  if (entity == "user") return users(declared, associated);
  if (entity == "qos") return qualities(declared);
  if (entity == "cluster") {
    return {{{"Cluster", declared.cluster},
             {"Name", declared.cluster},
             {"ControlHost", declared.host},
             {"ControlPort", declared.port},
             {"RPC", "9728"},
             {"Share", "1"},
             {"Fairshare", "1"},
             {"QOS", queue_names(declared)}}};
  }
  if (associated) return associations(declared);
  std::vector<Row> rows;
  for (const json& project : declared.projects) {
    const std::string name = text_of(project, "name");
    const std::string domain = text_of(project, "domain");
    rows.push_back({{"Account", name},
                    {"Description", name},
                    {"Organization", domain.empty() ? name : domain}});
  }
  return rows;
}

bool is_wanted(const Row& row, const Asked& asked) {
  const std::map<std::string, const char*> kColumnOf = {{"user", "User"},
                                                        {"account", "Account"},
                                                        {"cluster", "Cluster"},
                                                        {"qos", "QOS"},
                                                        {"partition", "Partition"}};
  return std::all_of(asked.wanted.begin(), asked.wanted.end(), [&](const auto& condition) {
    const auto column = kColumnOf.find(condition.first);
    if (column == kColumnOf.end()) return true;
    const auto value = row.find(column->second);
    const auto& names = condition.second;
    return value != row.end() &&
           std::find(names.begin(), names.end(), value->second) != names.end();
  });
}

Result<int> run_show(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.operands;
  const Entity* entity = words.size() < 2 ? nullptr : find_entity(words[1]);
  if (entity == nullptr) {
    return usage_error(
        "No valid entity in list command: there are account, association, cluster, "
        "qos and user");
  }
  TRY_ASSIGN(Asked asked, read_words(*entity, words));
  const bool associated = asked.with_associations || invocation.has("associations");
  std::string format =
      associated && *entity->associated_format != 0 ? entity->associated_format : entity->format;
  if (!asked.format.empty()) format = asked.format;
  if (invocation.has("format")) format = invocation.get("format");
  TRY_ASSIGN(const std::vector<SlurmColumn> shown, parse_columns(format, columns()));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const Declared declared, read_declared(api));
  const SlurmListing listing = slurm_listing(invocation);
  std::string out = header_text(listing, shown);
  for (const Row& row : rows_of(entity->name, declared, associated)) {
    if (!is_wanted(row, asked)) continue;
    out += row_text(listing, shown, [&](const std::string& name) {
      const auto value = row.find(name);
      return value == row.end() ? std::string() : value->second;
    });
  }
  print(out);
  return 0;
}

Result<int> run_sacctmgr(const Invocation& invocation) {
  const std::string verb = invocation.operands.empty() ? "" : lower(invocation.operands[0]);
  if (invocation.has("version") || verb == "version") {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  if (verb == "show" || verb == "list") return run_show(invocation);
  if (verb == "ping") {
    TRY_ASSIGN(Api api, Api::connect(invocation));
    TRY(api.get("/v1/cluster"));
    print(fmt::format("slurmdbd(primary) at {} is UP\n", api.endpoint().url));
    return 0;
  }
  return usage_error(
      fmt::format("'{}' is not supported: sacctmgr only shows; projects, users and queues are "
                  "declared with `dove apply`",
                  printable(verb)));
}

}  // namespace

std::vector<Command> sacctmgr_commands() {
  CommandSpec spec;
  spec.name = "sacctmgr";
  spec.summary = "Show projects, users and queues (as Slurm's accounts)";
  spec.group = kFaceGroup;
  spec.operands = "show account|association|cluster|qos|user [NAME] [FIELD=VALUES] [format=FIELDS]";
  spec.operands_max = -1;
  spec.description =
      "Accounts are projects, and qualities of service are queues. sacctmgr changes nothing\n"
      "here: `dove apply` declares them.";
  spec.options = slurm_listing_options();
  const std::vector<OptionSpec> own = {
      {"associations", 's', "", "with the projects of each user"},
      {"format", 'o', "FIELDS", "columns, such as account%30,user"},
      {"immediate", 'i', "", "accepted"},
      {"quiet", 'Q', "", "accepted"},
      {"readonly", 'r', "", "accepted"},
      {"verbose", 'v', "", "accepted"},
      {"version", 'V', "", "print the version"}};
  spec.options.insert(spec.options.end(), own.begin(), own.end());
  return {{spec, guarded_face("sacctmgr", run_sacctmgr)}};
}

}  // namespace dove::cli
