// A command as data: --help, the man page, shell completion and parsing all come from one table.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::cli {

struct OptionSpec {
  std::string name;   // "nodes", given as --nodes
  char letter = 0;    // 'N', given as -N; 0: none
  std::string value;  // what --help calls the value ("COUNT"); "" : a flag without one
  std::string help;
  bool repeats = false;
  bool value_optional = false;  // only as --name=value; without one the value is ""
};

struct CommandSpec {
  std::string name;         // "submit"; two words are a subcommand: "token create"
  std::string summary;      // one line, no full stop
  std::string operands;     // "JOB...", for the usage line; "" : takes none
  std::string description;  // paragraphs for --help and the man page
  std::vector<OptionSpec> options;
  std::string group;      // heading under which `dove --help` lists it
  std::string completes;  // what operands complete to: "job", "node", "file", ""
  int operands_min = 0;
  int operands_max = 0;  // -1: any number
  // True: everything after the first operand is an operand too (a program and its arguments).
  bool ends_at_operand = false;
  bool takes_all = false;  // every argument is an operand, those with dashes too
  bool hidden = false;     // not listed
};

// A parsed command line.
class Invocation {
 public:
  std::vector<std::string> operands;
  std::map<std::string, std::vector<std::string>> values;  // by option name, in order
  int operands_before_dashes = -1;                         // -1: there was no "--"

  bool has(const std::string& name) const { return values.count(name) != 0; }
  // The last value given, or `otherwise`.
  std::string get(const std::string& name, const std::string& otherwise = "") const;
  // All values given, in order.
  std::vector<std::string> all(const std::string& name) const;
};

// `args` without the program's and the command's name. Errors (kInvalid "usage") name the argument
// and suggest the nearest option. Accepts --name=value, --name value, -Nvalue, -N value, -ab, "--",
// and long names shortened where that is not ambiguous.
Result<Invocation> parse(const CommandSpec& spec, const std::vector<std::string>& args);

struct Command {
  CommandSpec spec;
  std::function<int(const Invocation&)> run;  // gives the exit code
};

// Exit codes, the same for every command (docs/guide/cli.md).
enum ExitCode {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitConflict = 4,
  kExitDenied = 5,
  kExitUnavailable = 6,
  kExitTimeout = 7,
};
int exit_code(const Error& error);

// The text of `dove COMMAND --help`.
std::string help_text(const CommandSpec& spec);

}  // namespace dove::cli
