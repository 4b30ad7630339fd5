// Completion of shells, generated from the table of commands. Jobs and nodes are asked of the
// server.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/manual.h"

namespace dove::cli {
namespace {

std::string options_of(const CommandSpec& spec) {
  std::string words;
  for (const OptionSpec& option : spec.options) {
    words += "--" + option.name + (option.value.empty() || option.value_optional ? " " : "= ");
  }
  return words + "--help";
}

// The words of the commands that begin with `prefix`: "tcloud" gives "submit ps cancel ...".
std::string words_behind(const std::vector<Command>& commands, const std::string& prefix) {
  std::string words;
  for (const Command& command : commands) {
    if (command.spec.hidden) continue;
    const std::string& name = command.spec.name;
    if (!prefix.empty() && !name.starts_with(prefix + " ")) continue;
    const std::string rest = prefix.empty() ? name : name.substr(prefix.size() + 1);
    const std::string word = rest.substr(0, rest.find(' '));
    if ((" " + words).find(" " + word + " ") == std::string::npos) words += word + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == ':' || c == '[' || c == ']')
      out += ' ';
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands,
                            const std::vector<std::string>& faces) {
  std::string cases;
  for (const Command& command : commands) {
    if (command.spec.hidden) continue;
    cases += fmt::format("    \"{}\") options='{}'; kind='{}' ;;\n", command.spec.name,
                         options_of(command.spec), command.spec.completes);
  }
  std::string families;
  for (const char* family :
       {"tcloud", "token", "join-token", "key", "ssh-key", "controller", "tcloud env"}) {
    const std::string words = words_behind(commands, family);
    if (!words.empty()) families += fmt::format("    \"{}\") more='{}' ;;\n", family, words);
  }
  std::string out = "# bash completion of dove: eval \"$(dove completion bash)\"\n_dove() {\n";
  out += "  local word=${COMP_WORDS[COMP_CWORD]} command='' options='' kind='' more='' i\n";
  out += "  COMPREPLY=()\n";
  out += "  [ \"${COMP_WORDS[0]##*/}\" = dove ] || command=${COMP_WORDS[0]##*/}\n";
  out += "  for ((i = 1; i < COMP_CWORD; ++i)); do\n";
  out += "    case ${COMP_WORDS[i]} in -*) continue ;; esac\n";
  out +=
      "    case $command in ''|tcloud|token|join-token|key|ssh-key|controller|'tcloud env') "
      "command=\"${command:+$command "
      "}${COMP_WORDS[i]}\" ;; esac\n";
  out += "  done\n  case $command in\n";
  out += fmt::format("    '') more='{}' ;;\n{}{}  esac\n", words_behind(commands, ""), families,
                     cases);
  out +=
      "  if [ -n \"$more\" ]; then COMPREPLY=($(compgen -W \"$more\" -- \"$word\")); return; fi\n";
  out += "  case $word in -*)\n    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n";
  out += "    case ${COMPREPLY[0]-} in *=) compopt -o nospace ;; esac\n    return ;;\n  esac\n";
  out += "  case $kind in\n";
  out +=
      "    job) COMPREPLY=($(compgen -W \"$(timeout 2 dove ps -o name 2>/dev/null)\" -- "
      "\"$word\")) ;;\n";
  out +=
      "    node) COMPREPLY=($(compgen -W \"$(timeout 2 dove nodes -o name 2>/dev/null)\" -- "
      "\"$word\")) ;;\n";
  out += "    *) compopt -o default ;;\n  esac\n}\n";
  out += fmt::format("complete -F _dove dove {}\n", fmt::join(faces, " "));
  return out;
}

std::string zsh_completion(const std::vector<Command>& commands,
                           const std::vector<std::string>& faces) {
  std::string out = fmt::format(
      "#compdef dove {}\n# zsh completion of dove: source <(dove completion zsh)\n_dove() {{\n",
      fmt::join(faces, " "));
  out += "  local -a commands\n  commands=(\n";
  for (const Command& command : commands) {
    if (command.spec.hidden || command.spec.name.find(' ') != std::string::npos) continue;
    out += fmt::format("    '{}:{}'\n", command.spec.name, quoted(command.spec.summary));
  }
  for (const char* family : {"tcloud", "token", "join-token", "key", "ssh-key", "controller"}) {
    out += fmt::format("    '{}:{}'\n", family, words_behind(commands, family));
  }
  out += "  )\n  local name=${words[1]:t}\n";
  out += "  if [[ $name == dove ]]; then\n";
  out += "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n";
  out += "    name=$words[2]\n  fi\n";
  out += "  case $name in\n";
  for (const Command& command : commands) {
    if (command.spec.hidden || command.spec.name.find(' ') != std::string::npos) continue;
    out += fmt::format("    {})\n      _arguments -s", command.spec.name);
    for (const OptionSpec& option : command.spec.options) {
      out += fmt::format(" \\\n        '*--{}{}[{}]{}'", option.name,
                         option.value.empty() ? "" : "=", quoted(option.help),
                         option.value.empty() ? "" : ":" + quoted(option.value) + ":_files");
    }
    const std::string& kind = command.spec.completes;
    const std::string operand = kind == "job"    ? "job:_dove_jobs"
                                : kind == "node" ? "node:_dove_nodes"
                                                 : "file:_files";
    out += fmt::format(" \\\n        '*:{}' ;;\n", operand);
  }
  for (const char* family : {"tcloud", "token", "join-token", "key", "ssh-key", "controller"}) {
    out += fmt::format("    {}) compadd {} ;;\n", family, words_behind(commands, family));
  }
  out += "  esac\n}\n";
  out += "_dove_jobs() { compadd -- ${(f)\"$(timeout 2 dove ps -o name 2>/dev/null)\"} }\n";
  out += "_dove_nodes() { compadd -- ${(f)\"$(timeout 2 dove nodes -o name 2>/dev/null)\"} }\n";
  out += fmt::format("compdef _dove dove {}\n", fmt::join(faces, " "));
  return out;
}

std::string fish_completion(const std::vector<Command>& commands,
                            const std::vector<std::string>& faces) {
  std::string out = "# fish completion of dove: dove completion fish | source\n";
  const auto operands = [](const std::string& kind) -> std::string {
    if (kind == "job") return " -f -a '(timeout 2 dove ps -o name 2>/dev/null)'";
    if (kind == "node") return " -f -a '(timeout 2 dove nodes -o name 2>/dev/null)'";
    return "";
  };
  const auto options = [](const CommandSpec& spec, const std::string& head) {
    std::string lines;
    for (const OptionSpec& option : spec.options) {
      lines += fmt::format("{} -l {}{}{} -d '{}'\n", head, option.name,
                           option.letter == 0 ? "" : fmt::format(" -s {}", option.letter),
                           option.value.empty() || option.value_optional ? "" : " -r",
                           quoted(option.help));
    }
    return lines;
  };
  for (const Command& command : commands) {
    const CommandSpec& spec = command.spec;
    if (spec.hidden) continue;
    const bool is_face = std::find(faces.begin(), faces.end(), spec.name) != faces.end();
    const std::size_t blank = spec.name.find(' ');
    const std::string family = spec.name.substr(0, blank);
    if (blank != std::string::npos) {
      const std::string rest = spec.name.substr(blank + 1);
      if (rest.find(' ') != std::string::npos) continue;
      out += fmt::format("complete -c dove -n '__fish_seen_subcommand_from {}' -f -a {} -d '{}'\n",
                         family, rest, quoted(spec.summary));
      continue;
    }
    out += fmt::format("complete -c dove -n __fish_use_subcommand -f -a {} -d '{}'\n", spec.name,
                       quoted(spec.summary));
    const std::string head =
        fmt::format("complete -c dove -n '__fish_seen_subcommand_from {}'", spec.name);
    out += options(spec, head);
    if (!operands(spec.completes).empty()) out += head + operands(spec.completes) + "\n";
    if (is_face) out += options(spec, "complete -c " + spec.name);
  }
  for (const char* name : {"tcloud", "token", "join-token", "key", "ssh-key", "controller"}) {
    out += fmt::format("complete -c dove -n __fish_use_subcommand -f -a {}\n", name);
  }
  return out;
}

}  // namespace dove::cli
