// Settings of a long-running command: a config file, the environment over it, flags over both.
//
// The names are those of the command's options: --port, DOVE_PORT, `port:` in the file. The file is
// YAML, flat, given by --config or DOVE_CONFIG, or /etc/dove/<command>.yaml when that exists; an
// unknown key is an error with file, line and a suggestion.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace dove::programs {

class Settings {
 public:
  static Result<Settings> load(const cli::CommandSpec& spec, const cli::Invocation& invocation);

  bool has(const std::string& name) const { return values_.count(name) != 0; }
  // All that are given, ascending.
  std::vector<std::string> names() const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  // Errors name where the value came from ("--port", "DOVE_PORT", "server.yaml:3:7").
  Result<std::int64_t> integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                               std::int64_t most) const;
  Result<bool> flag(const std::string& name) const;

 private:
  struct Value {
    std::string text;
    std::string origin;
  };
  Result<void> read_file(const cli::CommandSpec& spec, const std::string& path);

  std::map<std::string, Value> values_;
};

// $XDG_STATE_HOME/dove, or ~/.local/state/dove.
std::string default_data_dir();
// Where commands look for the data of a program on this machine: the user's own, or, where there
// are none, those of the service (deploy/systemd). DOVE_DATA names the server's before both.
std::string server_data_here();
inline constexpr const char* kServerDataHelp =
    "the server's directory (DOVE_DATA, else ~/.local/state/dove, else /var/lib/dove/server)";
std::string agent_data_here();

// --insecure of commands that show secrets to the server that --url names.
cli::OptionSpec insecure_spec();
// Whether they may, at that URL. Error insecure_url (wire/address.h).
Result<void> may_show_secrets(const Settings& given, const std::string& urls);

// The whole file without a trailing newline; kNotFound names it. At most 64 KiB.
Result<std::string> read_small_file(const std::string& path);

}  // namespace dove::programs
