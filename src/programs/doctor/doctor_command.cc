// dove doctor: what is wrong, by what evidence, and what to do about it. It writes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "programs/commands.h"
#include "programs/doctor/checks.h"
#include "programs/settings.h"
#include "telemetry/clock.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "doctor";
  spec.summary = "Look for what is wrong, and say what to do about it";
  spec.group = "Programs";
  spec.operands = "[PART...]";
  spec.operands_max = 4;
  spec.description =
      "PART is server (the data of a controller on this machine), agent (those of an agent\n"
      "here), store (the PostgreSQL of --store) or cluster (as its API shows it). Without PART\n"
      "it looks at everything on this machine. It writes nothing, and server and agent may run\n"
      "meanwhile. Exits 0 when all is well or there are only warnings, 1 when there is a fault.";
  spec.options = {
      {"data", 0, "DIR", kServerDataHelp, false},
      {"agent-data", 0, "DIR",
       "the agent's directory (~/.local/state/dove-agent, else /var/lib/dove/agent)", false},
      {"shared", 0, "DIR", "the agent's --shared (as its configuration says)", false},
      {"tls-certificate", 0, "FILE", "the server's --tls-certificate (as its configuration says)",
       false},
      {"tls-key", 0, "FILE", "the server's --tls-key (as its configuration says)", false},
      {"store", 0, "URL", "PostgreSQL of several controllers (DOVE_STORE)", false},
      {"whole-log", 0, "", "verify every record that is kept, not only those after the snapshot",
       false},
      {"url", 0, "URL", "of the server (DOVE_URL)", false},
      insecure_spec(),
      {"output", 'o', "FORMAT", "table or json", false},
  };
  return spec;
}

std::string style_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "32";
    case Verdict::kWarning:
    case Verdict::kUnknown:
      return "33";
    case Verdict::kFault:
      return "31";
  }
  return "";
}

void print_table(const std::vector<Check>& checks) {
  const bool colours = cli::colours_on();
  for (const Check& check : checks) {
    const std::string verdict = fmt::format("{:<8}", word(check.verdict));
    fmt::print("{} {:<8} {}: {}\n", cli::styled(verdict, style_of(check.verdict), colours),
               check.part, cli::printable(check.subject), cli::printable(check.evidence));
    if (!check.remedy.empty()) fmt::print("{:18}do: {}\n", "", cli::printable(check.remedy));
  }
  const auto count = [&](Verdict verdict) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const Check& check) { return check.verdict == verdict; });
  };
  fmt::print("{} good, {} warnings, {} faults, {} unknown\n", count(Verdict::kGood),
             count(Verdict::kWarning), count(Verdict::kFault), count(Verdict::kUnknown));
}

void print_json(const std::vector<Check>& checks) {
  nlohmann::json list = nlohmann::json::array();
  for (const Check& check : checks) {
    list.push_back({{"part", check.part},
                    {"subject", check.subject},
                    {"verdict", word(check.verdict)},
                    {"evidence", check.evidence},
                    {"remedy", check.remedy}});
  }
  fmt::print("{}\n", nlohmann::json{{"checks", std::move(list)}}.dump(
                         2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int fail(const Error& error) {
  fmt::print(stderr, "dove doctor: {}\n", error.message);
  return cli::exit_code(error);
}

void append(std::vector<Check>& to, std::vector<Check> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

// What is given, or what the configuration says of the program whose data these are; "": nothing.
std::string stated(const cli::Invocation& invocation, const cli::CommandSpec& of,
                   const std::string& data, const char* name) {
  if (invocation.has(name)) return fs::absolute(invocation.get(name));
  const Result<Settings> given = Settings::load(of, {});
  if (!given.ok() || given->text(name, "").empty()) return "";
  const std::string its = given->text("data", "");
  if (!its.empty() && fs::absolute(its) != data) return "";
  return fs::absolute(given->text(name, ""));
}

// What this user cannot see is looked at, and said to be unknown.
bool may_hold(const std::string& directory, const char* name) {
  std::error_code failed;
  return fs::exists(directory + "/" + name, failed) || failed == std::errc::permission_denied;
}

int run(const cli::Invocation& invocation) {
  for (const std::string& part : invocation.operands) {
    if (part == "server" || part == "agent" || part == "store" || part == "cluster") continue;
    return fail(Error{ErrorKind::kInvalid, "bad_operand",
                      fmt::format("'{}' is none of server, agent, store, cluster", part), "PART"});
  }
  const std::string& output = invocation.get("output", "table");
  if (output != "table" && output != "json") {
    return fail(Error{ErrorKind::kInvalid, "bad_option", "--output: write table or json", "-o"});
  }
  DoctorOptions options;
  options.now_s = telemetry::now_us() / 1'000'000;
  options.whole_log = invocation.has("whole-log");
  options.server_data = fs::absolute(invocation.get("data", server_data_here()));
  options.agent_data = fs::absolute(invocation.get("agent-data", agent_data_here()));
  const cli::CommandSpec agent = agent_command().spec;
  options.shared = stated(invocation, agent, options.agent_data, "shared");
  const cli::CommandSpec server = server_command().spec;
  options.certificate = stated(invocation, server, options.server_data, "tls-certificate");
  options.key = stated(invocation, server, options.server_data, "tls-key");
  options.store = invocation.get("store", cli::environment_value("DOVE_STORE"));
  const auto wants = [&](const char* part, bool is_here) {
    const auto& parts = invocation.operands;
    return parts.empty() ? is_here : std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  std::vector<Check> checks;
  if (wants("server", may_hold(options.server_data, "log.sqlite"))) {
    append(checks, check_server(options));
  }
  if (wants("agent", may_hold(options.agent_data, "agent_token"))) {
    append(checks, check_agent(options));
  }
  if (wants("store", !options.store.empty())) {
    if (options.store.empty()) {
      return fail(Error{ErrorKind::kInvalid, "no_store",
                        "name the store: --store postgres://USER@HOST/DATABASE", "--store"});
    }
    append(checks, check_store(options));
  }
  Result<cli::Api> api = cli::Api::connect(invocation);
  if (wants("cluster", api.ok())) {
    if (!api.ok()) return fail(api.error());
    append(checks, check_cluster(*api, options));
  }
  if (checks.empty()) {
    return fail(Error{ErrorKind::kNotFound, "nothing_here",
                      "there is neither a server nor an agent here, and no server is known; name "
                      "one with --data, --agent-data or --url",
                      ""});
  }
  if (output == "json") {
    print_json(checks);
  } else {
    print_table(checks);
  }
  const bool has_fault = std::any_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.verdict == Verdict::kFault;
  });
  return has_fault ? cli::kExitFailed : cli::kExitOk;
}

}  // namespace

cli::Command doctor_command() { return {spec(), run}; }

}  // namespace dove::programs
