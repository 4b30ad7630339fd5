// dove ssh, ssh-key add, list, remove, gateway: into running jobs with the system's own ssh.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/families.h"
#include "cli/ssh/ssh_client.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "files/text_file.h"
#include "wire/http.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kKeyBytesMax = 16 << 10;

Result<int> run_into(const Invocation& invocation) {
  SshWanted wanted;
  wanted.job = invocation.operands[0];
  wanted.task = invocation.get("task");
  auto first = invocation.operands.begin() + 1;
  if (first != invocation.operands.end() && *first == "--") ++first;
  wanted.command.assign(first, invocation.operands.end());
  if (invocation.has("tty")) wanted.options.emplace_back("-t");
  for (const std::string& forward : invocation.all("forward")) {
    wanted.options.insert(wanted.options.end(), {"-L", forward});
  }
  if (invocation.has("no-command")) wanted.options.emplace_back("-N");
  TRY_ASSIGN(Api api, Api::connect(invocation));
  return run_ssh(api, wanted);
}

// The caller, or who was named.
Result<std::string> keys_of(Api& api, const Invocation& invocation) {
  std::string user = invocation.get("user");
  if (user.empty()) {
    TRY_ASSIGN(const json me, api.get("/v1/me"));
    user = text_of(me, "user");
  }
  return "/v1/users/" + wire::percent_encode(user) + "/ssh-keys";
}

void warn_of(const json& key) {
  for (const json& warning : list_of(key, "warnings")) {
    if (warning.is_string()) say("warning: " + warning.get<std::string>());
  }
}

Result<int> run_add(const Invocation& invocation) {
  TRY_ASSIGN(const std::string line, files::read_text(invocation.operands[0], kKeyBytesMax));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, keys_of(api, invocation));
  TRY_ASSIGN(const json key, api.send("POST", target, json{{"key", line}}));
  warn_of(key);
  print(fmt::format("SSH key {} is added\n", text_of(key, "id")));
  return kExitOk;
}

Result<int> run_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, keys_of(api, invocation));
  TRY_ASSIGN(const json answer, api.get(target));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  Table table({{"ID"}, {"KIND"}, {"COMMENT"}});
  for (const json& key : list_of(answer, "keys")) {
    if (format == Format::kName) print(text_of(key, "id") + "\n");
    table.add({{text_of(key, "id"), ""},
               {text_of(key, "kind"), ""},
               {printable(text_of(key, "comment")), ""}});
    warn_of(key);
  }
  if (format == Format::kName) return kExitOk;
  if (table.empty()) {
    say("no SSH keys: `dove ssh-key add ~/.ssh/id_ed25519.pub` adds one");
  } else {
    print(table.text(colours_on()));
  }
  return kExitOk;
}

Result<int> run_remove(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const std::string target, keys_of(api, invocation));
  for (const std::string& id : invocation.operands) {
    TRY(api.send("DELETE", target + "/" + wire::percent_encode(id), json()));
    print(fmt::format("SSH key {} is removed\n", id));
  }
  return kExitOk;
}

Result<int> run_gateway(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json gateway, api.get("/v1/ssh-gateway"));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(gateway, format);
  } else {
    print(known_hosts_lines(gateway));
  }
  return kExitOk;
}

Command into_command() {
  CommandSpec into;
  into.name = "ssh";
  into.summary = "Open a shell in a running job with ssh";
  into.group = "Jobs";
  into.operands = "JOB [COMMAND...]";
  into.completes = "job";
  into.operands_min = 1;
  into.operands_max = -1;
  into.ends_at_operand = true;
  into.description =
      "Makes a key that is valid for five minutes and for this job only, and runs ssh with it;\n"
      "the gateway's host key comes from the server. The job's image needs no SSH server. For\n"
      "scp, rsync and editors, add a key of your own: dove ssh-key add. Exits as ssh does.";
  into.options = {
      {"task", 0, "TASK", "in this task: a rank, or GROUP/NUMBER (0)"},
      {"tty", 't', "", "a terminal for the command, too"},
      {"forward", 'L', "PORT:localhost:PORT", "forward a port here to one of the task", true},
      {"no-command", 'N', "", "only forward ports"}};
  return {into, guarded("ssh", run_into)};
}

}  // namespace

std::vector<Command> ssh_commands() {
  const OptionSpec user{"user", 0, "USER", "of somebody else; administrators only"};
  const auto key_spec = [&](const char* name, const char* summary, const char* operands) {
    CommandSpec spec;
    spec.name = name;
    spec.summary = summary;
    spec.group = "People";
    spec.operands = operands;
    spec.options = {user};
    return spec;
  };
  CommandSpec add = key_spec("ssh-key add", "Add an SSH key that lets you into your jobs", "FILE");
  add.operands_min = add.operands_max = 1;
  add.completes = "file";
  add.description =
      "FILE ends in .pub: Ed25519 or ECDSA, also on a security key, or RSA of at least 2048 bits.";
  CommandSpec list = key_spec("ssh-key list", "List your SSH keys", "");
  list.options.push_back(output_option());
  CommandSpec remove =
      key_spec("ssh-key remove", "Remove SSH keys, which then let nobody in", "ID...");
  remove.operands_min = 1;
  remove.operands_max = -1;
  CommandSpec gateway =
      key_spec("ssh-key gateway", "Print the SSH gateway's line for known_hosts", "");
  gateway.options = {output_option()};
  return {into_command(),
          {add, guarded("ssh-key add", run_add)},
          {list, guarded("ssh-key list", run_list)},
          {remove, guarded("ssh-key remove", run_remove)},
          {gateway, guarded("ssh-key gateway", run_gateway)}};
}

}  // namespace dove::cli
