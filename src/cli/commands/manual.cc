#include "cli/commands/manual.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::cli {
namespace {

// Groups in the order in which they are listed; others follow as they come.
std::vector<std::string> groups_of(const std::vector<Command>& commands) {
  std::vector<std::string> groups = {"Programs", "Jobs", "Nodes", "Declared state", "People"};
  for (const Command& command : commands) {
    if (std::find(groups.begin(), groups.end(), command.spec.group) == groups.end()) {
      groups.push_back(command.spec.group);
    }
  }
  return groups;
}

template <class Each>
void each_of_group(const std::vector<Command>& commands, const std::string& group, Each each) {
  for (const Command& command : commands) {
    if (command.spec.group == group && !command.spec.hidden) each(command.spec);
  }
}

std::string usage_of(const CommandSpec& spec) {
  return fmt::format("dove {}{}{}{}", spec.name, spec.options.empty() ? "" : " [options]",
                     spec.operands.empty() ? "" : " ", spec.operands);
}

std::string option_text(const OptionSpec& option) {
  std::string text = option.letter != 0 ? fmt::format("-{}, --{}", option.letter, option.name)
                                        : "--" + option.name;
  if (option.value.empty()) return text;
  return text + (option.value_optional ? "[=" + option.value + "]" : "=" + option.value);
}

std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    if (c == '\n') continue;
  }
  // A line must not begin with a request.
  std::string safe;
  bool at_begin = true;
  for (const char c : out) {
    if (at_begin && (c == '.' || c == '\'')) safe += "\\&";
    safe += c;
    at_begin = c == '\n';
  }
  return safe;
}

void append_roff(const CommandSpec& spec, std::string& out) {
  out += fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", roff(spec.name), roff(spec.summary),
                     roff(usage_of(spec)));
  if (!spec.description.empty()) out += ".PP\n" + roff(spec.description) + "\n";
  for (const OptionSpec& option : spec.options) {
    out += fmt::format(".TP\n.B {}\n{}\n", roff(option_text(option)), roff(option.help));
  }
}

const char* const kExitCodes =
    "0 it worked, 1 it failed, 2 the command line is wrong, 3 what was named does not exist,\n"
    "4 its state forbids this, 5 no permission, 6 the server cannot be reached, 7 the time is up.\n"
    "`wait`, `srun` and `submit --wait` give the exit code of the job. The commands under Slurm's\n"
    "names give 1 for every failure. An interrupt gives 130.";

const char* const kServer =
    "The server is that of --url or DOVE_URL; of the data directory --data or DOVE_DATA; of "
    "`url:`\n"
    "in ~/.config/dove/config.yaml or /etc/dove/config.yaml; of `dove up` in ~/.local/state/dove; "
    "or\n"
    "of this machine's service in /var/lib/dove/server.\n"
    "The token is DOVE_TOKEN, the file DOVE_TOKEN_FILE, or the one beside the URL "
    "(`token_file:`).\n"
    "It is not sent to an http:// server on another machine, unless --insecure, DOVE_INSECURE=1\n"
    "or `insecure: true` beside the URL says that everybody on the network is trusted.";

const char* const kPages =
    "What is named docs/... is in /usr/share/doc/dovetail-cli, or in the source tree.";

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\\|");
  }
  return text;
}

}  // namespace

std::string overview_text(const std::vector<Command>& commands) {
  std::string out = "Usage: dove COMMAND [options] [arguments]\n";
  for (const std::string& group : groups_of(commands)) {
    std::string lines;
    each_of_group(commands, group, [&](const CommandSpec& spec) {
      lines += fmt::format("  {:<18} {}\n", spec.name, spec.summary);
    });
    if (!lines.empty()) out += fmt::format("\n{}:\n{}", group, lines);
  }
  out += "\n`dove COMMAND --help` says more. `dove up` starts a cluster on this machine.\n";
  return out;
}

std::string family_text(const std::vector<Command>& commands, const std::string& prefix) {
  std::string out;
  for (const Command& command : commands) {
    if (!command.spec.name.starts_with(prefix + " ")) continue;
    out += fmt::format("  {:<18} {}\n", command.spec.name, command.spec.summary);
  }
  return out.empty() ? out : fmt::format("Usage: dove {} COMMAND\n\n{}", prefix, out);
}

std::string man_page(const std::vector<Command>& commands) {
  std::string out =
      ".TH DOVE 1 \"\" \"Dovetail\" \"User Commands\"\n.SH NAME\ndove \\- schedule jobs on a "
      "cluster of GPUs\n";
  out += ".SH SYNOPSIS\n.B dove\nCOMMAND [options] [arguments]\n";
  for (const std::string& group : groups_of(commands)) {
    std::string sections;
    each_of_group(commands, group, [&](const CommandSpec& spec) { append_roff(spec, sections); });
    if (!sections.empty()) out += fmt::format(".SH {}\n{}", roff(group), sections);
  }
  out += fmt::format(".SH FINDING THE SERVER\n{}\n.SH EXIT STATUS\n{}\n.SH FILES\n{}\n",
                     roff(kServer), roff(kExitCodes), roff(kPages));
  return out;
}

std::string man_page(const CommandSpec& spec) {
  std::string title = "dove-" + spec.name;
  std::replace(title.begin(), title.end(), ' ', '-');
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"Dovetail\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH DESCRIPTION\n",
      roff(title), roff(title), roff(spec.summary));
  append_roff(spec, out);
  return out + fmt::format(".SH EXIT STATUS\n{}\n.SH FILES\n{}\n", roff(kExitCodes), roff(kPages));
}

std::string markdown_section(const CommandSpec& spec) {
  std::string out =
      fmt::format("### dove {}\n\n{}.\n\n    {}\n", spec.name, spec.summary, usage_of(spec));
  if (!spec.description.empty()) out += "\n" + spec.description + "\n";
  if (spec.options.empty()) return out;
  out += "\n| option | |\n|---|---|\n";
  for (const OptionSpec& option : spec.options) {
    out += fmt::format("| `{}` | {} |\n", cell(option_text(option)), cell(option.help));
  }
  return out;
}

std::string markdown_page(const std::vector<Command>& commands) {
  std::string out =
      "# The command line\n\nGenerated by `dove man --markdown`; a test compares it with "
      "the program.\n"
      "Data goes to standard output, messages to standard error.\n\n## The server\n\n";
  out += std::string(kServer) + "\n\n## Exit codes\n\n" + kExitCodes + "\n";
  for (const std::string& group : groups_of(commands)) {
    std::string sections;
    each_of_group(commands, group,
                  [&](const CommandSpec& spec) { sections += "\n" + markdown_section(spec); });
    if (!sections.empty()) out += fmt::format("\n## {}\n{}", group, sections);
  }
  return out;
}

}  // namespace dove::cli
