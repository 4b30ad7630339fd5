#include "agent/tasks/shim_config.h"

#include <fmt/format.h>

#include "shim/format.h"

namespace dove::agent {
namespace {

class Writer {
 public:
  void put(const char* key, std::string_view value) {
    if (value.find('\0') != std::string_view::npos && bad_.empty()) bad_ = key;
    bytes_.append(key).append(1, '=').append(value).append(1, '\0');
  }
  void put(const char* key, std::int64_t value) { put(key, std::to_string(value)); }
  void put_path(const char* key, const std::string& path) {
    if (path.empty()) return;
    if (path[0] != '/' && relative_.empty()) relative_ = key;
    put(key, path);
  }

  Result<std::string> finish() && {
    if (!bad_.empty()) {
      return Error{ErrorKind::kInvalid, "nul_byte",
                   fmt::format("the task's {} contains a NUL byte; remove it", bad_), bad_};
    }
    if (!relative_.empty()) {
      return Error{ErrorKind::kInvalid, "relative_path",
                   fmt::format("the task's {} must be an absolute path", relative_), relative_};
    }
    bytes_.append(shim::kReportBytes, '\0');
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::string bad_;
  std::string relative_;
};

void put_identity(const ShimConfig& config, Writer& out) {
  if (config.uid >= 0) {
    out.put(shim::kUid, config.uid);
    out.put(shim::kGid, config.gid >= 0 ? config.gid : config.uid);
    for (const std::uint32_t group : config.groups) out.put(shim::kGroup, std::int64_t{group});
  }
  out.put(shim::kUmask, config.umask);
}

void put_limits(const ShimConfig& config, Writer& out) {
  for (const std::int32_t cpu : config.cpus) out.put(shim::kCpu, cpu);
  for (const ShimRlimit& limit : config.rlimits) {
    out.put(shim::kRlimit, fmt::format("{} {} {}", limit.resource, limit.soft, limit.hard));
  }
  out.put(shim::kKillGraceMs, config.kill_grace_ms);
  if (!config.lease_path.empty()) {
    out.put_path(shim::kLease, config.lease_path);
    out.put(shim::kFenceGraceMs, config.fence_grace_ms);
    out.put(shim::kLeaseAllowanceMs, config.lease_allowance_ms);
  }
  for (const std::string& path : config.cgroup_procs) out.put_path(shim::kCgroupProcs, path);
  out.put_path(shim::kCgroupKill, config.cgroup_kill);
  out.put_path(shim::kCgroupOom, config.cgroup_oom);
}

}  // namespace

Result<std::string> shim_config_bytes(const ShimConfig& config) {
  if (config.argv.empty()) {
    return Error{ErrorKind::kInvalid, "no_command", "the task has no command to run", "argv"};
  }
  Writer out;
  out.put(shim::kMagic, 1);
  for (const std::string& arg : config.argv) out.put(shim::kArg, arg);
  for (const auto& [name, value] : config.environment) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return Error{ErrorKind::kInvalid, "bad_variable",
                   fmt::format("\"{}\" cannot be the name of an environment variable", name),
                   "environment"};
    }
    if (name != shim::kMarkVariable) out.put(shim::kEnv, name + '=' + value);
  }
  if (!config.mark.empty()) {
    out.put(shim::kEnv, fmt::format("{}={}", shim::kMarkVariable, config.mark));
  }
  out.put_path(shim::kSecrets, config.secrets_path);
  out.put_path(shim::kCwd, config.workdir);
  put_identity(config, out);
  out.put_path(shim::kTerminal, config.terminal);
  out.put_path(shim::kStdin, config.stdin_path);
  if (config.holds_input) out.put(shim::kHoldsInput, 1);
  out.put_path(shim::kStdout, config.stdout_path);
  out.put_path(shim::kStderr, config.stderr_path);
  out.put_path(shim::kOutputDir, config.output_dir);
  out.put(shim::kAppend, config.append ? 1 : 0);
  out.put(shim::kRotateBytes, config.rotate_bytes);
  out.put(shim::kRotateKeep, config.rotate_keep);
  put_limits(config, out);
  out.put_path(shim::kPidFile, config.pid_file);
  if (!config.pid_file.empty()) out.put(shim::kProgram, config.program);
  if (config.joins) out.put(shim::kJoins, 1);
  out.put(shim::kHold, config.hold ? 1 : 0);
  out.put(shim::kEnd, 1);
  return std::move(out).finish();
}

}  // namespace dove::agent
