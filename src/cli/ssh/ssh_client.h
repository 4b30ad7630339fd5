// SshClient: the system's ssh, connected to a running job with a key that is valid for five
// minutes.
//
// Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/api.h"

namespace dove::cli {

struct SshWanted {
  std::string job;
  std::string task;                  // "": rank 0
  std::vector<std::string> options;  // of ssh itself
  std::vector<std::string> command;  // empty: a shell
};

// The key is made here and registered with the server; it lies in a directory of its own (mode
// 0700), which goes when ssh has ended. The gateway's host key comes from the server, and no other
// one is taken. The result is ssh's exit code. One thread.
Result<int> run_ssh(Api& api, const SshWanted& wanted);

// "[gateway]:7722 ssh-ed25519 AAAA...": the gateway as known_hosts has it, a line each.
std::string known_hosts_lines(const nlohmann::json& gateway, const std::string& name = "");

}  // namespace dove::cli
