#include "agent/task_plan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "agent/output_path.h"
#include "codec/json.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

Error cannot(const std::string& code, const std::string& message) {
  return Error{ErrorKind::kInvalid, code, message, ""};
}

// Replaces the file as a whole: readers see the old or the new one.
Result<void> write_file(const std::string& path, const std::string& text, mode_t mode) {
  const std::string fresh = path + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return cannot("cannot_write", fmt::format("{}: {}", fresh, strerror(errno)));
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) {
      const std::string why = n == 0 ? "short write" : strerror(errno);
      close(fd);
      unlink(fresh.c_str());
      return cannot("cannot_write", fmt::format("{}: {}; free some space there", fresh, why));
    }
    done += static_cast<std::size_t>(n);
  }
  close(fd);
  if (rename(fresh.c_str(), path.c_str()) != 0) {
    return cannot("cannot_write", fmt::format("{}: {}", path, strerror(errno)));
  }
  return {};
}

std::string hostfile(const LaunchOrder& order) {
  std::string text;
  for (const PeerNode& node : order.nodes) {
    text += fmt::format("{} slots={}\n", node.name, std::max<std::size_t>(node.ranks.size(), 1));
  }
  return text;
}

std::string task_mark(const PlanContext& context, const std::string& name) {
  return fmt::format("{}.{}.{}", context.facts.node, context.order.key.text(), name);
}

// A task's directory, user and files: what batch, main and step tasks have in common.
Result<TaskPlan> plan_basics(const PlanContext& context, const std::string& name, Rank rank) {
  const LaunchOrder& order = context.order;
  TaskPlan plan;
  plan.directory = context.attempt_directory + "/tasks/" + name;
  plan.mark = task_mark(context, name);
  plan.rank = rank;
  plan.kill_grace_us = order.kill_grace_us;
  plan.memory_bytes = 0;
  plan.append = order.exec.output.append;
  plan.umask = static_cast<std::int32_t>(std::strtol(order.exec.umask.c_str(), nullptr, 8));
  if (context.mapped_users) {
    if (order.linux_user.empty()) {
      return cannot("no_linux_user",
                    fmt::format("user '{}' is mapped to no Linux user, so nothing can be run for "
                                "them; an administrator says `dove apply` with kind: User, name: "
                                "{}, linux_user: …",
                                order.user, order.user));
    }
    const passwd* entry = getpwnam(order.linux_user.c_str());
    if (entry == nullptr || entry->pw_uid == 0) {
      return cannot("no_linux_user",
                    fmt::format("Linux user '{}' {} on node {}", order.linux_user,
                                entry == nullptr ? "does not exist" : "is root and runs no tasks",
                                context.facts.node));
    }
    plan.linux_user = order.linux_user;
  }
  plan.workdir =
      order.exec.workdir.empty() ? context.attempt_directory + "/work" : order.exec.workdir;
  return plan;
}

// Output goes where the job says, else to files of the task's own, which `dove logs` reads.
void set_outputs(const PlanContext& context, const std::string& out_pattern,
                 const std::string& err_pattern, std::int32_t step, TaskPlan& plan) {
  const LaunchOrder& order = context.order;
  const std::string& node = context.facts.node;
  plan.stdout_path = output_path(out_pattern, order, node, plan.workdir, plan.rank, step);
  plan.stderr_path = output_path(err_pattern, order, node, plan.workdir, plan.rank, step);
  if (plan.stdout_path.empty()) {
    // Beside the task's directory, which is the agent's alone.
    const std::string name = plan.directory.substr(plan.directory.rfind('/') + 1);
    plan.stdout_path = fmt::format("{}/output/{}.stdout", context.attempt_directory, name);
    plan.rotate_bytes = context.rotate_bytes;
    if (plan.stderr_path.empty()) {
      plan.stderr_path = fmt::format("{}/output/{}.stderr", context.attempt_directory, name);
    }
  } else if (plan.stderr_path.empty()) {
    plan.stderr_path = plan.stdout_path;
  }
}

Result<void> check_workdir(const PlanContext& context, const TaskPlan& plan) {
  if (!context.checks_files) return {};
  struct stat info {};
  if (stat(plan.workdir.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return cannot("no_workdir",
                  fmt::format("working directory {} does not exist on node {}; submit from a "
                              "directory that all nodes share, or give --chdir",
                              plan.workdir, context.facts.node));
  }
  return {};
}

}  // namespace

Result<TaskPlan> plan_batch_script(const PlanContext& context) {
  TRY_ASSIGN(TaskPlan plan, plan_basics(context, "batch", 0));
  TRY(check_workdir(context, plan));
  const ExecSpec& exec = context.order.exec;
  plan.argv = {context.attempt_directory + "/script"};
  plan.argv.insert(plan.argv.end(), exec.script_arguments.begin(), exec.script_arguments.end());
  plan.environment = attempt_environment(context.facts, context.order, context.attempt_directory);
  plan.cores = context.order.placement.cores;
  plan.memory_bytes = context.order.placement.memory_bytes;
  set_outputs(context, exec.output.stdout_path, exec.output.stderr_path, -1, plan);
  plan.stdin_path =
      output_path(exec.output.stdin_path, context.order, context.facts.node, plan.workdir, 0, -1);
  return plan;
}

Result<TaskPlan> plan_main_task(const PlanContext& context, const TaskGrant& grant) {
  TRY_ASSIGN(TaskPlan plan, plan_basics(context, fmt::format("r{}", grant.rank), grant.rank));
  TRY(check_workdir(context, plan));
  const ExecSpec& exec = context.order.exec;
  plan.argv = exec.command;
  if (plan.argv.empty()) return cannot("no_command", "the job has neither script nor command");
  plan.environment =
      task_environment(context.facts, context.order, grant, context.attempt_directory);
  plan.cores = grant.cores.empty() ? context.order.placement.cores : grant.cores;
  set_outputs(context, exec.output.stdout_path, exec.output.stderr_path, -1, plan);
  plan.stdin_path = output_path(exec.output.stdin_path, context.order, context.facts.node,
                                plan.workdir, grant.rank, -1);
  return plan;
}

Result<TaskPlan> plan_step_task(const PlanContext& context, const StepOrder& step,
                                const TaskGrant& grant) {
  const std::string name = fmt::format("s{}.{}", step.step, grant.rank);
  TRY_ASSIGN(TaskPlan plan, plan_basics(context, name, grant.rank));
  if (!step.workdir.empty()) plan.workdir = step.workdir;
  TRY(check_workdir(context, plan));
  plan.argv = step.command;
  if (plan.argv.empty()) return cannot("no_command", "the step has no command");
  plan.environment =
      step_environment(context.facts, context.order, step, grant, context.attempt_directory);
  plan.cores = grant.cores.empty() ? context.order.placement.cores : grant.cores;
  set_outputs(context, step.stdout_path, step.stderr_path, step.step, plan);
  plan.rotate_bytes = 0;  // the relay follows the file from its beginning
  return plan;
}

Result<void> write_attempt(const std::string& directory, const LaunchOrder& order,
                           const std::string& order_text, const std::string& linux_user) {
  std::error_code error;
  fs::create_directories(directory + "/tasks", error);
  if (error) return cannot("cannot_write", fmt::format("{}: {}", directory, error.message()));
  chmod(directory.c_str(), 0711);  // the task's user passes through to what is its own
  chmod((directory + "/tasks").c_str(), 0700);
  const passwd* user = linux_user.empty() ? nullptr : getpwnam(linux_user.c_str());
  for (const char* name : {"output", "tmp", "work"}) {
    if (name == std::string_view("work") && !order.exec.workdir.empty()) continue;
    const std::string path = fmt::format("{}/{}", directory, name);
    fs::create_directory(path, error);
    const bool given = user == nullptr || chown(path.c_str(), user->pw_uid, user->pw_gid) == 0;
    if (error || !given || chmod(path.c_str(), 0700) != 0) {
      return cannot("cannot_write", fmt::format("{}: {}", path, strerror(errno)));
    }
  }
  if (order.launch == LaunchMode::kBatch && order.placement.node_rank == 0) {
    const std::string script = directory + "/script";
    TRY(write_file(script, order.exec.script, 0700));  // its text is nobody else's
    const passwd* owner =
        order.linux_user.empty() || geteuid() != 0 ? nullptr : getpwnam(order.linux_user.c_str());
    if (owner != nullptr && chown(script.c_str(), owner->pw_uid, owner->pw_gid) != 0) {
      return cannot("cannot_write", fmt::format("{}: {}", script, strerror(errno)));
    }
  }
  if (order.launch == LaunchMode::kBatch) {
    TRY(write_file(directory + "/hostfile", hostfile(order), 0644));
  }
  return write_file(directory + "/order", order_text, 0600);
}

void write_stage(const std::string& directory, const std::string& stage) {
  // A failure does no harm: a task's directory says as well that it was started.
  (void)write_file(directory + "/stage", stage, 0600);
}

void write_ended(const std::string& directory, const Report& report) {
  (void)write_file(directory + "/ended", report_json(report).dump(), 0600);
}

StageOnDisk read_stage(const std::string& directory) {
  StageOnDisk found;
  std::error_code error;
  found.started = fs::exists(directory + "/stage", error);
  std::ifstream file(directory + "/ended");
  if (!file) return found;
  std::stringstream text;
  text << file.rdbuf();
  Result<nlohmann::json> body = codec::parse_json(text.str(), 64u << 20);
  if (!body.ok()) return found;
  try {
    Report report;
    report.kind =
        body->value("kind", "") == "launch_failed" ? ReportKind::kLaunchFailed : ReportKind::kEnded;
    report.why = body->value("why", "");
    report.cpu_us = body->value("cpu_us", std::int64_t{0});
    report.memory_peak_bytes = body->value("memory_peak_bytes", std::int64_t{0});
    for (const auto& value : body->value("exits", nlohmann::json::array())) {
      if (Result<TaskExit> exit = codec::read_task_exit(value); exit.ok()) {
        report.exits.push_back(exit.value());
      }
    }
    found.ended = std::move(report);
  } catch (const nlohmann::json::exception&) {
    found.ended.reset();  // not what was written: what the tasks left says more
  }
  return found;
}

std::optional<AttemptKey> read_key(const std::string& text) {
  AttemptKey key;
  const char* const end = text.data() + text.size();
  const auto job = std::from_chars(text.data(), end, key.job.value);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '.') return std::nullopt;
  const auto attempt = std::from_chars(job.ptr + 1, end, key.attempt);
  if (attempt.ec != std::errc() || attempt.ptr != end) return std::nullopt;
  return key;
}

std::vector<TaskOnDisk> read_tasks(const PlanContext& context) {
  std::vector<TaskOnDisk> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(context.attempt_directory + "/tasks", error)) {
    const std::string name = entry.path().filename().string();
    TaskOnDisk task;
    const char* const end = name.data() + name.size();
    const char* at = name.data() + 1;
    if (name.starts_with('s')) {
      const auto step = std::from_chars(at, end, task.step);
      if (step.ec != std::errc() || step.ptr == end || *step.ptr != '.') continue;
      at = step.ptr + 1;
    }
    if (name != "batch") {
      if (!name.starts_with('s') && !name.starts_with('r')) continue;
      const auto rank = std::from_chars(at, end, task.plan.rank);
      if (rank.ec != std::errc() || rank.ptr != end) continue;
    }
    task.plan.directory = entry.path().string();
    task.plan.mark = task_mark(context, name);
    task.plan.kill_grace_us = context.order.kill_grace_us;
    found.push_back(std::move(task));
  }
  std::sort(found.begin(), found.end(), [](const TaskOnDisk& a, const TaskOnDisk& b) {
    return a.plan.directory < b.plan.directory;
  });
  return found;
}

}  // namespace dove::agent
