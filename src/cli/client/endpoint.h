// The address of the server, and how callers prove who they are.
//
// It is looked for in this order: --url / DOVE_URL; --data / DOVE_DATA (a server's data directory,
// which holds `url` and `token`); $XDG_CONFIG_HOME/dove/config.yaml; /etc/dove/config.yaml; the
// default data directory ($XDG_STATE_HOME/dove, ~/.local/state/dove), then that of the service. The
// token is DOVE_TOKEN, the file DOVE_TOKEN_FILE, inside a job DOVE_JOB_TOKEN, or the one beside the
// URL; a stored token is sent only to the URL that it was stored for. The authorities of an
// https:// server are in the file DOVE_CA_FILE, or `ca_file:` of the configuration, or ca.pem of
// the data directory. Reads files, keeps nothing.
//
// A token is sent to no http:// server on another machine, unless --insecure, DOVE_INSECURE=1, or
// `insecure: true` beside the URL in the configuration says that the network is trusted. A URL from
// the server's own data directory needs no such permission: its administrator gave it to the
// server.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

struct Endpoint {
  std::string url;
  std::string token;         // "" : none found
  std::string ca_file = {};  // of an https:// server's authorities; "": the system's
  std::string origin;        // where the URL came from, for messages
  std::string unix_socket =
      {};                 // without a token, on the server's machine: who calls is known there
  bool insecure = false;  // secrets may go there in the clear
};

// kUnavailable "no_server" says how to start one; kInvalid names a bad configuration file;
// insecure_url (wire/address.h).
Result<Endpoint> find_endpoint(const Invocation& invocation);

// By --insecure or DOVE_INSECURE.
bool is_told_insecure(const Invocation& invocation);

// The whole file without trailing white space, at most 64 KiB.
Result<std::string> read_line_file(const std::string& path);
// The variable's value, "" when it is not set.
std::string environment_value(const char* name);
// All of this process.
std::map<std::string, std::string> own_variables();
// $XDG_CONFIG_HOME/dove, or ~/.config/dove.
std::string config_directory();
// Where the server of the packages keeps its data (deploy/systemd).
inline constexpr const char kServiceData[] = "/var/lib/dove/server";

}  // namespace dove::cli
