#include "shim/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "shim/format.h"
#include "shim/text.h"

namespace dove::shim {
namespace {

namespace keys = dove::agent::shim;

constexpr std::int64_t kMostBytes = 64 << 20;

// The value of `record` if its key is `key`, else nullptr.
char* value_of(char* record, const char* key) {
  const std::size_t length = std::strlen(key);
  if (std::strncmp(record, key, length) != 0 || record[length] != '=') return nullptr;
  return record + length + 1;
}

template <class T>
bool reserve(Array<T>& array, int count) {
  array.items = static_cast<T*>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(T)));
  return array.items != nullptr;
}

template <class T>
void push(Array<T>& array, T value) {
  array.items[array.count++] = value;
}

bool take_text(char* record, Config& config) {
  const struct {
    const char* key;
    const char** to;
  } texts[] = {
      {keys::kSecrets, &config.secrets},        {keys::kCwd, &config.cwd},
      {keys::kTerminal, &config.terminal},      {keys::kStdin, &config.stdin_path},
      {keys::kStdout, &config.stdout_path},     {keys::kStderr, &config.stderr_path},
      {keys::kOutputDir, &config.output_dir},   {keys::kLease, &config.lease},
      {keys::kCgroupKill, &config.cgroup_kill}, {keys::kCgroupOom, &config.cgroup_oom},
      {keys::kPidFile, &config.pid_file},       {keys::kProgram, &config.program},
  };
  for (const auto& text : texts) {
    if (char* value = value_of(record, text.key)) {
      *text.to = value;
      return true;
    }
  }
  return false;
}

bool take_scalar(char* record, Config& config) {
  if (char* v = value_of(record, keys::kUid)) {
    config.change_user = true;
    config.uid = static_cast<unsigned>(number_of(v));
  } else if (char* gid = value_of(record, keys::kGid)) {
    config.gid = static_cast<unsigned>(number_of(gid));
  } else if (char* umask = value_of(record, keys::kUmask)) {
    config.umask = static_cast<unsigned>(number_of(umask));
  } else if (char* append = value_of(record, keys::kAppend)) {
    config.append = number_of(append) != 0;
  } else if (char* holds = value_of(record, keys::kHoldsInput)) {
    config.holds_input = number_of(holds) != 0;
  } else if (char* bytes = value_of(record, keys::kRotateBytes)) {
    config.rotate_bytes = number_of(bytes);
  } else if (char* keep = value_of(record, keys::kRotateKeep)) {
    config.rotate_keep = static_cast<int>(number_of(keep));
  } else if (char* grace = value_of(record, keys::kKillGraceMs)) {
    config.kill_grace_us = number_of(grace) * 1000;
  } else if (char* fence = value_of(record, keys::kFenceGraceMs)) {
    config.fence_grace_us = number_of(fence) * 1000;
  } else if (char* allowance = value_of(record, keys::kLeaseAllowanceMs)) {
    config.lease_allowance_us = number_of(allowance) * 1000;
  } else if (char* joins = value_of(record, keys::kJoins)) {
    config.joins = number_of(joins) != 0;
  } else if (char* hold = value_of(record, keys::kHold)) {
    config.hold = number_of(hold) != 0;
  } else {
    return false;
  }
  return true;
}

Rlimit rlimit_of(const char* text) {
  Rlimit limit{};
  limit.resource = static_cast<int>(take_number(text));
  limit.soft = take_number(text);
  limit.hard = take_number(text);
  return limit;
}

bool take_item(char* record, Config& config) {
  if (char* arg = value_of(record, keys::kArg)) {
    push(config.argv, arg);
  } else if (char* env = value_of(record, keys::kEnv)) {
    push(config.environment, env);
  } else if (char* group = value_of(record, keys::kGroup)) {
    push(config.groups, static_cast<unsigned>(number_of(group)));
  } else if (char* cpu = value_of(record, keys::kCpu)) {
    push(config.cpus, static_cast<int>(number_of(cpu)));
  } else if (char* limit = value_of(record, keys::kRlimit)) {
    push(config.rlimits, rlimit_of(limit));
  } else if (char* procs = value_of(record, keys::kCgroupProcs)) {
    push<const char*>(config.cgroup_procs, procs);
  } else {
    return false;
  }
  return true;
}

// All of the file, with a NUL after it; nullptr if it cannot be had.
char* read_all(int fd, std::size_t& size) {
  struct stat facts;
  if (::fstat(fd, &facts) != 0 || facts.st_size <= 0 || facts.st_size > kMostBytes) return nullptr;
  size = static_cast<std::size_t>(facts.st_size);
  char* bytes = static_cast<char*>(std::malloc(size + 1));
  if (bytes == nullptr) return nullptr;
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(fd, bytes + have, size - have, static_cast<off_t>(have));
    if (got <= 0) return nullptr;
    have += static_cast<std::size_t>(got);
  }
  bytes[size] = '\0';
  return bytes;
}

// In place of the variable of that name, if there is one.
void put_variable(Array<char*>& environment, char* variable) {
  const std::size_t name = static_cast<std::size_t>(end_at(variable, '=') - variable) + 1;
  for (char*& one : environment) {
    if (std::strncmp(one, variable, name) != 0) continue;
    one = variable;
    return;
  }
  push(environment, variable);
}

}  // namespace

bool read_config(int fd, Config& config) {
  std::size_t size = 0;
  char* const bytes = read_all(fd, size);
  if (bytes == nullptr || value_of(bytes, keys::kMagic) == nullptr) {
    return false;
  }
  int records = 1;
  for (std::size_t i = 0; i < size; ++i)
    records += bytes[i] == '\0' && bytes[i + 1] != '\0' ? 1 : 0;
  if (!reserve(config.argv, records) || !reserve(config.environment, records) ||
      !reserve(config.groups, records) || !reserve(config.cpus, records) ||
      !reserve(config.rlimits, records) || !reserve(config.cgroup_procs, records)) {
    return false;
  }
  bool whole = false;
  for (char* record = bytes; record < bytes + size; record += std::strlen(record) + 1) {
    if (take_item(record, config) || take_scalar(record, config) || take_text(record, config)) {
      continue;
    }
    whole = value_of(record, keys::kEnd) != nullptr;
    if (!whole) continue;
    config.report_at = record - bytes + static_cast<std::int64_t>(std::strlen(record)) + 1;
    break;
  }
  return whole && config.argv.count > 0;
}

bool take_secrets(Config& config) {
  if (config.secrets == nullptr) return true;
  const int fd = ::open(config.secrets, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat facts;
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(fd);
    errno = EINVAL;
    return false;
  }
  std::size_t size = 0;
  errno = EINVAL;  // unless the reason is another one
  char* const bytes = facts.st_size == 0 ? nullptr : read_all(fd, size);
  const int reason = errno;
  ::close(fd);
  if (facts.st_size == 0) return true;
  if (bytes == nullptr) {
    errno = reason;
    return false;
  }
  int records = config.environment.count + 1;
  for (std::size_t i = 0; i < size; ++i) records += bytes[i] == '\0' ? 1 : 0;
  Array<char*> environment;
  if (!reserve(environment, records)) return false;
  for (char* one : config.environment) push(environment, one);
  for (char* record = bytes; record < bytes + size; record += std::strlen(record) + 1) {
    if (*end_at(record, '=') == '=') put_variable(environment, record);
  }
  config.environment = environment;
  return true;
}

}  // namespace dove::shim
