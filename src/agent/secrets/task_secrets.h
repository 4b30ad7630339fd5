// TaskSecrets: where the tasks of an attempt find the values of their job's secrets.
//
// They lie in the node's memory (a tmpfs), never on a disk. Each attempt has a folder that only its
// user may enter (`files`, DOVE_SECRETS), and beside it `variables`: NAME=VALUE entries, each
// followed by a NUL, which dove-shim or dove-contain puts into the environment of each task. No
// plan, order or record of the agent holds a value. The folder is removed with the attempt. The
// functions block for as long as memory does; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "base/result.h"

namespace dove::agent {

struct TaskSecret {
  std::string variable;  // "": none
  std::string file;      // "": none
  std::string value;
};

// The answer of the controller to giveSecrets. Errors: malformed_answer.
Result<std::vector<TaskSecret>> read_secrets(const nlohmann::json& answer);

// Where this machine has memory for the secrets of an agent of this user: "/run" for root, where it
// is a tmpfs; else "/dev/shm". systemd-logind (RemoveIPC=) removes a user's files in the latter
// when their last login ends, whatever tasks of theirs still run.
std::string secrets_memory();

// The folder of this agent's secrets beneath `memory`: its name is drawn once and kept in the data
// directory, so that nobody else can have made it before. One in /dev/shm that a former version of
// the agent has left is used until it is empty. "": it cannot be kept.
std::string secrets_place(const std::string& data_dir, const std::string& memory);

std::string secrets_directory(const std::string& place, AttemptKey key);
std::string secret_files(const std::string& directory);
std::string secret_variables(const std::string& directory);

struct SecretsOwner {
  bool is_other = false;  // than this process
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
// Whose the files of an order's tasks are. Errors: no_linux_user.
Result<SecretsOwner> secrets_owner(const LaunchOrder& order, const std::string& linux_user);

// Makes the folder anew, and overwrites the values. Errors: no_memory_files where `directory` would
// not be in memory; cannot_write.
Result<void> write_secrets(const std::string& directory, std::vector<TaskSecret>& secrets,
                           const SecretsOwner& owner);
// Whether it was written whole.
bool has_secrets(const std::string& directory);
void remove_secrets(const std::string& directory);
// Those of attempts that nobody holds any more.
void sweep_secrets(const std::string& place, const std::function<bool(AttemptKey)>& is_held);

}  // namespace dove::agent
