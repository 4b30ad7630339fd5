// sshare under its own name: how much of the cluster projects and their users have used.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/client/pages.h"
#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/accounting/members.h"
#include "cli/slurm/columns.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "telemetry/clock.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
constexpr const char* kLongFormat =
    "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,LevelFS,"
    "GrpTRESMins,TRESRunMins";

const std::vector<SlurmColumn>& columns() {
  static const std::vector<SlurmColumn> kColumns = {{"Account", 20, true},
                                                    {"Cluster", 10},
                                                    {"EffectvUsage", 13},
                                                    {"FairShare", 10},
                                                    {"GrpTRESMins", 30},
                                                    {"GrpTRESRaw", 30},
                                                    {"ID", 6},
                                                    {"LevelFS", 10},
                                                    {"NormShares", 11},
                                                    {"NormUsage", 11},
                                                    {"Partition", 12},
                                                    {"RawShares", 10},
                                                    {"RawUsage", 11},
                                                    {"TRESRunMins", 30},
                                                    {"User", 10}};
  return kColumns;
}

struct Share {
  std::string account, user;  // without a user: the project as a whole
  std::int64_t used_s = 0;    // core seconds
  std::int64_t peers = 1;     // that have equal shares of what is above them
  std::int64_t above_used_s = 0;
};

using Used = std::map<std::pair<std::string, std::string>, std::int64_t>;

// Core seconds by project and user, of the jobs that the server keeps.
Result<Used> read_use(Api& api) {
  TRY_ASSIGN(const std::vector<json> found, list_jobs(api, {}));
  const std::int64_t now_us = telemetry::now_us();
  Used used;
  for (const json& one : found) {
    const JobView job = read_job(one);
    used[{job.project, job.user}] += job.run_us(now_us) / 1'000'000 * job.cores;
  }
  return used;
}

// The root, then each project with its users behind it.
Result<std::vector<Share>> read_shares(Api& api) {
  TRY_ASSIGN(const Used used, read_use(api));
  TRY_ASSIGN(const json objects, get_all(api, "/v1/objects?kind=Project", "objects"));
  TRY_ASSIGN(Members declared, members_of(api, items_of(objects, "objects")));
  std::map<std::string, std::set<std::string>> users = std::move(declared.projects);
  for (const auto& [who, seconds] : used) {
    if (!who.first.empty()) users[who.first].insert(who.second);  // else the root's alone
  }
  Share root{"root", "", 0, 1, 0};
  for (const auto& [who, seconds] : used) root.used_s += seconds;
  root.above_used_s = root.used_s;
  std::vector<Share> shares = {root};
  for (const auto& [project, members] : users) {
    Share whole{project, "", 0, static_cast<std::int64_t>(users.size()), root.used_s};
    std::vector<Share> own;
    for (const std::string& user : members) {
      const auto found = used.find({project, user});
      const std::int64_t seconds = found == used.end() ? 0 : found->second;
      whole.used_s += seconds;
      own.push_back({whole.account, user, seconds, static_cast<std::int64_t>(members.size()), 0});
    }
    shares.push_back(whole);
    for (Share& one : own) {
      one.above_used_s = whole.used_s;
      shares.push_back(one);
    }
  }
  return shares;
}

std::string fraction(double value) { return fmt::format("{:.6f}", value); }

std::string field_of(const Share& share, const std::string& column, std::int64_t all_s,
                     bool indented) {
  const bool is_root = share.account == "root" && share.user.empty();
  const double shares = 1.0 / static_cast<double>(share.peers);
  const auto part = [](std::int64_t of, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(of) / static_cast<double>(whole);
  };
  const double used = part(share.used_s, share.above_used_s);
  if (column == "Account") {
    const std::string indent = is_root ? "" : share.user.empty() ? " " : "  ";
    return (indented ? indent : "") + share.account;
  }
  if (column == "User") return share.user;
  if (column == "RawShares") return is_root ? "" : "1";
  if (column == "NormShares") return is_root ? "" : fraction(shares);
  if (column == "RawUsage") return std::to_string(share.used_s);
  if (column == "NormUsage") return is_root ? "" : fraction(part(share.used_s, all_s));
  if (column == "EffectvUsage") return fraction(is_root && all_s > 0 ? 1.0 : used);
  if (column == "FairShare") return share.user.empty() ? "" : fraction(std::exp2(-used / shares));
  if (column == "LevelFS") {
    return is_root ? "" : used == 0 ? "inf" : fraction(shares / used);
  }
  return "";
}

Result<int> run_sshare(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  if (invocation.has("helpformat")) {
    print(names_text(columns()));
    return 0;
  }
  const char* usual = invocation.has("long") ? kLongFormat : kFormat;
  TRY_ASSIGN(const std::vector<SlurmColumn> shown,
             parse_columns(invocation.get("format", usual), columns()));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::vector<Share> shares, read_shares(api));
  TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
  const std::string name = text_of(cluster, "name");
  const std::vector<std::string> accounts = comma_list(invocation.get("accounts"));
  std::vector<std::string> users = comma_list(invocation.get("users"));
  const bool only_users = invocation.has("Users");
  if (!invocation.has("all") && users.empty()) users = {local_user()};
  const auto among = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  const SlurmListing listing = slurm_listing(invocation);
  std::string out = header_text(listing, shown);
  for (const Share& share : shares) {
    if (share.user.empty() ? only_users : !invocation.has("all") && !among(users, share.user)) {
      continue;
    }
    const bool is_root = share.account == "root" && share.user.empty();
    if (!accounts.empty() && !is_root && !among(accounts, share.account)) continue;
    out += row_text(listing, shown, [&](const std::string& column) {
      if (column == "Cluster") return name;
      return field_of(share, column, shares.front().used_s, !only_users);
    });
  }
  print(out);
  return 0;
}

}  // namespace

std::vector<Command> sshare_commands() {
  CommandSpec spec;
  spec.name = "sshare";
  spec.summary = "Show what projects and users have used (as Slurm's)";
  spec.group = kFaceGroup;
  spec.description =
      "Usage is in core seconds of the jobs that the server keeps, projects have equal shares,\n"
      "and FairShare is what Slurm would compute from that. What really orders jobs is the\n"
      "cluster's `order`: see `dove why`.";
  spec.options = slurm_listing_options();
  const std::vector<OptionSpec> own = {{"all", 'a', "", "all users"},
                                       {"accounts", 'A', "PROJECTS", "these projects"},
                                       {"users", 'u', "USERS", "these users"},
                                       {"Users", 'U', "", "only users, without the projects"},
                                       {"format", 'o', "FIELDS", "columns, such as Account%30"},
                                       {"helpformat", 'e', "", "list the fields"},
                                       {"long", 'l', "", "more columns"},
                                       {"clusters", 'M', "NAMES", "accepted"},
                                       {"parent", 0, "", "accepted"},
                                       {"partition", 'm', "", "accepted"},
                                       {"verbose", 'v', "", "accepted"},
                                       {"version", 'V', "", "print the version"}};
  spec.options.insert(spec.options.end(), own.begin(), own.end());
  return {{spec, guarded_face("sshare", run_sshare)}};
}

}  // namespace dove::cli
