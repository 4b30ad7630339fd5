// What the API says about the controller and its nodes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/client/pages.h"
#include "files/text_file.h"
#include "model/level.h"
#include "programs/commands.h"
#include "programs/doctor/checks.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

using nlohmann::json;

constexpr std::int64_t kSkewMax_s = 2;
constexpr std::size_t kNamesMax = 5;
constexpr std::size_t kUrlMax = 4096;
constexpr std::uint64_t kLagMax = 10'000;
constexpr std::int64_t kTokenSoon_s = 7 * 24 * 3600;

std::string some_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kNamesMax);
  const std::string list =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  return shown == names.size() ? list : fmt::format("{} and {} more", list, names.size() - shown);
}

Check check_controller(const json& cluster) {
  Check check{"cluster", "controller", Verdict::kGood,
              fmt::format("ready, epoch {}, log at {}", cluster.value("epoch", std::uint64_t{0}),
                          cluster.value("log_head", std::uint64_t{0})),
              ""};
  for (const json& trouble : cluster.at("troubles")) {
    check.verdict = Verdict::kFault;
    check.evidence = trouble.get<std::string>();
    check.remedy = "docs/operate/recovery.md";
  }
  return check;
}

// Until the upgrade is finished the cluster goes without what is new.
Check check_level(const json& cluster) {
  const auto level = cluster.value("level", kNewestLevel);
  const auto newest = cluster.value("level_newest", level);
  const bool is_done = level >= newest;
  return {"cluster", "level", is_done ? Verdict::kGood : Verdict::kWarning,
          is_done ? fmt::format("its log is written at level {}", level)
                  : fmt::format("its log is written at level {}, so that the former version can "
                                "lead again, and not at {}",
                                level, newest),
          is_done ? "" : "dove upgrade finish, once no controller is to go back"};
}

Check check_skew(const json& cluster, std::int64_t now_s) {
  const std::int64_t skew_s = cluster.value("now_us", std::int64_t{0}) / 1'000'000 - now_s;
  const bool is_far = std::abs(skew_s) > kSkewMax_s;
  return {"cluster", "clock", is_far ? Verdict::kWarning : Verdict::kGood,
          fmt::format("the controller's is {} s {} this machine's", std::abs(skew_s),
                      skew_s < 0 ? "behind" : "ahead of"),
          is_far ? "timedatectl, on both machines" : ""};
}

// How far what the API answers from is behind the log, where that one is on this machine.
void check_lag(cli::Api& api, const DoctorOptions& options, std::vector<Check>& out) {
  std::string url = files::text_or_empty(options.server_data + "/url", kUrlMax);
  while (!url.empty() && url.back() == '\n') url.pop_back();
  if (url.empty() || url != api.endpoint().url) return;
  store::SqliteOptions quick;
  quick.verifies_tail = false;
  const auto store =
      store::SqliteStore::open(options.server_data, store::OpenMode::kReadOnly, quick);
  const Result<json> cluster = api.get("/v1/cluster");
  if (!store.ok() || !cluster.ok()) return;
  const std::uint64_t written = (*store)->head().seq.value;
  const auto shown = cluster->value("log_head", std::uint64_t{0});
  const std::uint64_t lag = written > shown ? written - shown : 0;
  out.push_back({"cluster", "lag", lag > kLagMax ? Verdict::kWarning : Verdict::kGood,
                 fmt::format("answers are {} records behind the log", lag),
                 lag > kLagMax ? "the server has more to do than it gets done: dove top" : ""});
}

Check check_contact(const json& nodes) {
  std::vector<std::string> gone;
  for (const json& node : nodes) {
    if (node.value("contact", "") != "connected") gone.push_back(node.value("name", ""));
  }
  return {"cluster", "nodes", gone.empty() ? Verdict::kGood : Verdict::kFault,
          gone.empty() ? fmt::format("all {} are connected", nodes.size())
                       : fmt::format("{} of {} are not connected: {}", gone.size(), nodes.size(),
                                     some_of(gone)),
          gone.empty() ? "" : "dove doctor agent, on that machine; journalctl -u dove-agent"};
}

Check check_versions(const json& cluster, const json& nodes) {
  std::map<std::string, std::vector<std::string>> by_version;
  for (const json& node : nodes) {
    const json& version = node.contains("version") ? node.at("version") : json();
    if (version.is_string()) by_version[version].push_back(node.value("name", ""));
  }
  const std::string ours = cluster.value("version", "");
  by_version.erase(ours);
  Check check{"cluster", "versions", Verdict::kGood, "all agents have the controller's, " + ours,
              ""};
  for (const auto& [version, names] : by_version) {
    check.verdict = Verdict::kWarning;
    check.evidence = fmt::format("the controller has {}; {} has {}", ours, some_of(names), version);
    const std::size_t named = std::min(names.size(), kNamesMax);
    check.remedy = fmt::format(
        "dove upgrade {}",
        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), " "));
  }
  if (check.verdict == Verdict::kGood && ours != version()) {
    check.verdict = Verdict::kWarning;
    check.evidence = fmt::format("the controller has {}, this program {}", ours, version());
  }
  return check;
}

void check_findings(const json& nodes, std::vector<Check>& out) {
  std::map<std::string, std::vector<std::string>> by_check;
  std::map<std::string, std::string> severities;
  for (const json& node : nodes) {
    for (const json& finding : node.value("findings", json::array())) {
      const std::string severity = finding.value("severity", "");
      if (severity == "good") continue;
      const std::string name = finding.value("check", "");
      by_check[name].push_back(node.value("name", ""));
      if (severity != "warning") severities[name] = severity;
    }
    for (const json& executor : node.value("executors", json::array())) {
      if (executor.value("contact", "") != "answering") {
        by_check["executor " + executor.value("name", "")].push_back(node.value("name", ""));
      }
    }
  }
  for (auto& [name, names] : by_check) {
    names.erase(std::unique(names.begin(), names.end()), names.end());
    out.push_back({"cluster", "finding " + name,
                   severities.contains(name) ? Verdict::kFault : Verdict::kWarning,
                   "on " + some_of(names), "dove nodes " + names.front()});
  }
}

// As declared: whether jobs of another scheduler may start before the ledger has heard of them.
void check_modes(cli::Api& api, std::vector<Check>& out) {
  const Result<json> executors = cli::get_all(api, "/v1/objects?kind=executor", "objects");
  if (!executors.ok()) return;
  for (const json& executor : executors->at("objects")) {
    const bool is_gated = executor.value("gate", false);
    out.push_back({"cluster", "mode of executor " + executor.value("name", ""), Verdict::kGood,
                   is_gated
                       ? "gate: its jobs wait until the ledger has a place for them"
                       : "watch: its jobs start by themselves, and the ledger hears of it then",
                   ""});
  }
}

// Users' own tokens that end, for administrators; others are not shown them.
void check_tokens(cli::Api& api, std::int64_t now_s, std::vector<Check>& out) {
  const Result<json> users = cli::get_all(api, "/v1/objects?kind=user", "objects");
  if (!users.ok()) return;
  std::vector<std::string> soon;
  std::vector<std::string> over;
  int ending = 0;
  for (const json& user : users->at("objects")) {
    const json ends = user.value("token_expires_at_us", json());
    const std::int64_t ends_s = ends.is_number() ? ends.get<std::int64_t>() / 1'000'000 : 0;
    if (ends_s == 0 || !user.value("has_token", false)) continue;
    ++ending;
    if (ends_s > now_s + kTokenSoon_s) continue;
    (ends_s <= now_s ? over : soon).push_back(user.value("name", ""));
  }
  if (ending == 0) return;
  Check check{"cluster", "tokens", Verdict::kGood,
              fmt::format("{} of users end, none within a week", ending), ""};
  if (!soon.empty() || !over.empty()) {
    check.verdict = Verdict::kWarning;
    check.evidence = over.empty()   ? "end within a week: " + some_of(soon)
                     : soon.empty() ? "have expired: " + some_of(over)
                                    : fmt::format("end within a week: {}; have expired: {}",
                                                  some_of(soon), some_of(over));
    check.remedy = "dove token create --expires 30d " + (soon.empty() ? over : soon).front();
  }
  out.push_back(std::move(check));
}

// The file of this machine's controller, one of several. The log has the token's digest alone, so a
// controller that was not the one to make it cannot write it there.
void check_own_token(cli::Api& api, const DoctorOptions& options, std::vector<Check>& out) {
  const std::string path = options.server_data + "/token";
  std::string token = files::text_or_empty(path, kUrlMax);
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  const bool is_of_several = ::access((options.server_data + "/secret").c_str(), F_OK) == 0 &&
                             ::access((options.server_data + "/log.sqlite").c_str(), F_OK) != 0;
  if (token.empty() || !is_of_several || !api.get("/v1/controllers").ok()) return;
  const Result<json> keys = cli::get_all(api, "/v1/keys", "keys");
  if (!keys.ok()) return;
  const std::string digest = wire::sha256_hex(token);
  bool is_rotated = false;
  bool is_known = false;
  for (const json& key : keys->at("keys")) {
    if (!key.value("user", "").empty() || key.value("kind", "") != "key") continue;
    is_rotated = is_rotated || !key.value("expires_at_us", json()).is_number();
    const json ends = key.value("expires_at_us", json());
    const bool is_over = ends.is_number() && ends.get<std::int64_t>() / 1'000'000 <= options.now_s;
    is_known = is_known || (!is_over && digest.starts_with(key.value("id", digest + "?")));
  }
  if (!is_rotated) return;  // the file itself says which token it is
  Check check{"cluster", "token " + path, Verdict::kGood, "it lets people in", ""};
  if (!is_known) {
    check.verdict = Verdict::kWarning;
    check.evidence = "a former one: `dove token rotate` changed it by another controller";
    check.remedy = "copy that controller's file there, or rm " + path;
  }
  out.push_back(std::move(check));
}

}  // namespace

std::vector<Check> check_cluster(cli::Api& api, const DoctorOptions& options) {
  std::vector<Check> out;
  const Result<json> cluster = api.get("/v1/cluster");
  if (!cluster.ok()) {
    out.push_back({"cluster", "controller", Verdict::kFault, cluster.error().message,
                   "dove doctor server, on its machine"});
    return out;
  }
  out.push_back(check_controller(*cluster));
  out.push_back(check_level(*cluster));
  out.push_back(check_skew(*cluster, options.now_s));
  check_lag(api, options, out);
  check_tokens(api, options.now_s, out);
  check_own_token(api, options, out);
  check_modes(api, out);
  const Result<json> nodes = cli::get_all(api, "/v1/nodes", "nodes");
  if (!nodes.ok()) {
    out.push_back({"cluster", "nodes", Verdict::kUnknown, nodes.error().message, ""});
    return out;
  }
  out.push_back(check_contact(nodes->at("nodes")));
  out.push_back(check_versions(*cluster, nodes->at("nodes")));
  check_findings(nodes->at("nodes"), out);
  return out;
}

}  // namespace dove::programs
