#include "cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/program.h"
#include "cli/commands/manual.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "text/spelling.h"

namespace dove::cli {
namespace {

void append(std::vector<Command>& all, std::vector<Command> some) {
  for (Command& command : some) {
    for (OptionSpec& option : server_options()) command.spec.options.push_back(std::move(option));
    all.push_back(std::move(command));
  }
}

Result<int> run_version(const Invocation& invocation) {
  print(fmt::format("dove {}\n", version()));
  const Result<Endpoint> endpoint = find_endpoint(invocation);
  if (!endpoint.ok()) return kExitOk;
  Api api(*endpoint);
  const Result<nlohmann::json> said = api.get("/version");
  if (said.ok()) print(fmt::format("server {} at {}\n", text_of(*said, "version"), endpoint->url));
  return kExitOk;
}

Result<int> run_completion(const std::vector<Command>& commands, const Invocation& invocation) {
  const std::string& shell = invocation.operands[0];
  if (shell == "bash") {
    print(bash_completion(commands, face_names()));
  } else if (shell == "zsh") {
    print(zsh_completion(commands, face_names()));
  } else if (shell == "fish") {
    print(fish_completion(commands, face_names()));
  } else {
    return usage_error(
        fmt::format("there is completion for bash, zsh and fish, not for '{}'", shell));
  }
  return kExitOk;
}

const Command* find(const std::vector<Command>& commands, const std::string& name) {
  for (const Command& command : commands) {
    if (command.spec.name == name) return &command;
  }
  return nullptr;
}

// On a terminal as man shows it, with its pager; else, or without man, the page's source.
void show_page(const std::string& page) {
  if (stdout_is_terminal()) {
    const auto end = run_program({.command = {"man", "-l", "-"}, .environment = {}, .input = page});
    if (end.ok() && end->code == 0) return;
  }
  print(page);
}

Result<int> run_man(const std::vector<Command>& commands, const Invocation& invocation) {
  if (invocation.has("markdown")) {
    print(markdown_page(commands));
    return kExitOk;
  }
  if (invocation.operands.empty()) {
    show_page(man_page(commands));
    return kExitOk;
  }
  const std::string name = fmt::format("{}", fmt::join(invocation.operands, " "));
  const Command* command = find(commands, name);
  if (command == nullptr) {
    return Error{ErrorKind::kNotFound, "no_such_command",
                 fmt::format("there is no command '{}'", name), ""};
  }
  show_page(man_page(command->spec));
  return kExitOk;
}

// Commands about the commands: they see the whole table, themselves included.
void append_own(std::vector<Command>& all, const std::vector<Command>& extra) {
  CommandSpec version_spec;
  version_spec.name = "version";
  version_spec.summary = "Print the versions of the program and the server";
  version_spec.group = "This program";
  version_spec.options = server_options();
  all.push_back({version_spec, guarded("version", run_version)});
  CommandSpec completion;
  completion.name = "completion";
  completion.summary = "Print the completion of a shell";
  completion.group = "This program";
  completion.operands = "bash|zsh|fish";
  completion.operands_min = completion.operands_max = 1;
  completion.description =
      "For bash: eval \"$(dove completion bash)\"; for zsh: source <(dove completion zsh);\n"
      "for fish: dove completion fish | source.";
  all.push_back({completion, guarded("completion", [extra](const Invocation& given) {
                   return run_completion(all_commands(extra), given);
                 })});
  CommandSpec man;
  man.name = "man";
  man.summary = "Print the man page, of all or of one command";
  man.group = "This program";
  man.operands = "[COMMAND]";
  man.operands_max = 3;
  man.description = "On a terminal through man(1); otherwise the source of the page.";
  man.options = {{"markdown", 0, "", "as the page docs/guide/cli.md"}};
  all.push_back({man, guarded("man", [extra](const Invocation& given) {
                   return run_man(all_commands(extra), given);
                 })});
}

std::vector<Command> table_of(const std::vector<Command>& extra) {
  std::vector<Command> table = extra;
  for (auto family :
       {submit_commands,     job_commands,         output_commands,       exec_commands,
        ssh_commands,        forward_commands,     app_commands,          attach_commands,
        job_action_commands, event_commands,       node_commands,         node_maintenance_commands,
        declared_commands,   key_commands,         people_commands,       notice_commands,
        login_commands,      secret_commands,      controller_commands,   token_commands,
        tcloud_commands,     tcloud_file_commands, sbatch_commands,       squeue_commands,
        scancel_commands,    sacct_commands,       sinfo_commands,        scontrol_commands,
        srun_commands,       salloc_commands,      sacctmgr_commands,     sshare_commands,
        sprio_commands,      sstat_commands,       declared_app_commands, session_action_commands,
        run_commands,        use_commands,         usage_commands}) {
    append(table, family());
  }
  return table;
}

bool is_face(const std::string& name) {
  const std::vector<std::string>& names = face_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The program may be called dove-1.2 or dove.new; whoever links it to anything else means a face.
bool is_own_name(const std::string& name) { return name.empty() || name.starts_with("dove"); }

// 127 is what a shell says of a command that is not there, which scripts look for.
int no_such_face(const std::string& name) {
  const std::vector<std::string> names = face_names();
  const std::string_view near = text::nearest(name, names);
  fmt::print(stderr,
             "{}: dove has no command of this name{}; a link to dove may be called {}, or dove\n",
             printable(name), near.empty() ? "" : fmt::format("; did you mean {}?", near),
             fmt::join(names, ", "));
  return 127;
}

// --url and --data may stand before the command too; tcloud has its -v there.
void move_leading_options(std::vector<std::string>& words) {
  std::vector<std::string> moved;
  while (!words.empty()) {
    const std::string first = words[0];
    const bool known = first.starts_with("--url") || first.starts_with("--data");
    if (!known) break;
    const bool apart = first.find('=') == std::string::npos && words.size() > 1;
    moved.insert(moved.end(), words.begin(), words.begin() + (apart ? 2 : 1));
    words.erase(words.begin(), words.begin() + (apart ? 2 : 1));
  }
  if (words.size() > 1 && words[0] == "tcloud" && (words[1] == "-v" || words[1] == "--verbose")) {
    words.erase(words.begin() + 1);
  }
  if (!words.empty()) words.insert(words.begin() + 1, moved.begin(), moved.end());
}

int unknown_command(const std::vector<Command>& table, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  if (const std::string family = family_text(table, words[0]); !family.empty()) {
    if (words.size() == 1 || words[1] == "--help" || words[1] == "-h") {
      print(family);
      return kExitOk;
    }
    const std::string first = words[0] + " ";
    if (const std::string inner = family_text(table, first + words[1]); !inner.empty()) {
      print(inner);
      const bool asked = words.size() == 2 || words[2] == "--help" || words[2] == "-h";
      return asked ? kExitOk : kExitUsage;
    }
    for (const Command& command : table) {
      if (command.spec.name.starts_with(first)) names.push_back(command.spec.name);
    }
    const std::string_view near = text::nearest(first + words[1], names);
    say(fmt::format("unknown command '{}{}'.{} `dove {}--help` lists the commands", first, words[1],
                    near.empty() ? "" : fmt::format(" Did you mean `dove {}`?", near), first));
    return kExitUsage;
  }
  for (const Command& command : table) {
    names.push_back(command.spec.name.substr(0, command.spec.name.find(' ')));
  }
  const std::string_view near = text::nearest(words[0], names);
  say(fmt::format("unknown command '{}'.{} `dove --help` lists the commands", words[0],
                  near.empty() ? "" : fmt::format(" Did you mean `dove {}`?", near)));
  return kExitUsage;
}

int dispatch(const std::vector<Command>& table, std::vector<std::string> words, bool is_face_call) {
  for (std::size_t count = std::min<std::size_t>(words.size(), 3); count > 0; --count) {
    const std::string name = fmt::format(
        "{}", fmt::join(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count), " "));
    const Command* command = find(table, name);
    if (command == nullptr) continue;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
    const Result<Invocation> invocation = parse(command->spec, words);
    if (!invocation.ok()) {
      const std::string& message = invocation.error().message;
      fmt::print(stderr, "{}\n",
                 is_face_call && message.starts_with("dove ") ? message.substr(5) : message);
      return is_face_call ? kExitFailed : kExitUsage;
    }
    if (invocation->has("help")) {
      print(help_text(command->spec));
      return kExitOk;
    }
    return command->run(*invocation);
  }
  return unknown_command(table, words);
}

// A reader that has gone is no failure worth a message.
int finish(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  if (errno != EPIPE && errno != 0) {
    fmt::print(stderr, "dove: standard output cannot be written\n");
    return code == kExitOk ? kExitFailed : code;
  }
  return code;
}

}  // namespace

const std::vector<std::string>& face_names() {
  static const std::vector<std::string> kNames = {
      "tcloud", "sbatch",   "squeue", "scancel",  "sacct",  "sinfo", "scontrol",
      "srun",   "dove-rsh", "salloc", "sacctmgr", "sshare", "sprio", "sstat"};
  return kNames;
}

const char* version() { return "0.1.0"; }

std::vector<Command> all_commands(const std::vector<Command>& extra) {
  std::vector<Command> table = table_of(extra);
  append_own(table, extra);
  return table;
}

int run_cli(const std::vector<Command>& extra, int argc, char** argv) {
  const std::vector<Command> table = all_commands(extra);
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::string called = argc > 0 ? argv[0] : "dove";
  called = called.substr(called.rfind('/') + 1);
  const bool face_call = is_face(called);
  if (!face_call && !is_own_name(called)) return no_such_face(called);
  if (face_call) words.insert(words.begin(), called);
  move_leading_options(words);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" ||
      (words[0] == "help" && words.size() == 1)) {
    print(overview_text(table));
    return finish(kExitOk);
  }
  if (words[0] == "--version" || words[0] == "-V") words = {"version"};
  if (words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words[0] == "tcloud" && words.size() > 1 && (words[1] == "--help" || words[1] == "-h")) {
    words.resize(1);
  }
  return finish(dispatch(table, std::move(words), face_call));
}

}  // namespace dove::cli
