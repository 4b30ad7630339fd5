#include "agent/exec/execs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <utility>

namespace dove::agent {
namespace {

constexpr char kPrefix[] = "exec-task.";

std::int64_t end_grace_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(ExecSession::kEndGrace).count();
}

}  // namespace

std::string exec_mark(const std::string& attempt, const std::string& id) {
  return attempt + ".e" + id;
}

TaskPlan exec_plan(const ExecOrder& order, TaskPlan target, const std::string& directory) {
  TaskPlan plan = std::move(target);
  plan.joins = std::exchange(plan.mark, exec_mark(plan.attempt, order.id));
  plan.path = fmt::format("{}/{}{}", directory, kPrefix, order.id);
  plan.rank = order.rank;
  plan.argv = order.program.command;
  if (!order.program.workdir.empty() && plan.container.image.empty())
    plan.workdir = order.program.workdir;
  for (const auto& [name, value] : order.program.environment) plan.environment[name] = value;
  plan.stdin_path.clear();
  plan.stdout_path.clear();
  plan.stderr_path.clear();
  plan.output_dir.clear();
  plan.holds_input = false;
  plan.append = true;
  plan.rotate_bytes = 0;
  plan.script_path.clear();
  plan.kill_grace_us = end_grace_us();
  return plan;
}

std::vector<std::string> exec_files(const std::string& directory) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().filename().string().starts_with(kPrefix)) {
      found.push_back(entry.path().string());
    }
  }
  return found;
}

Execs::Execs(ExecHost host, std::string directory, std::function<void()> settled)
    : host_(std::move(host)), directory_(std::move(directory)), settled_(std::move(settled)) {}

Execs::~Execs() = default;

void Execs::open(const ExecOrder& order, Result<TaskPlan> target) {
  if (host_.loop == nullptr || sessions_.count(order.id) != 0) return;
  Result<TaskPlan> plan = std::move(target);
  if (plan.ok()) plan = exec_plan(order, std::move(plan).value(), directory_);
  auto session =
      std::make_unique<ExecSession>(host_, order, std::move(plan), directory_ + "/exec." + order.id,
                                    [this, id = order.id] { over(id); });
  ExecSession& begun = *session;
  sessions_[order.id] = std::move(session);
  begun.begin();
}

void Execs::over(const std::string& id) {
  sessions_.erase(id);
  ::unlink(fmt::format("{}/{}{}", directory_, kPrefix, id).c_str());
  if (empty()) settled_();
}

void Execs::end_former(TaskPlan plan) {
  const std::string path = plan.path;
  const std::string id = path.substr(path.rfind('.') + 1);
  plan.mark = exec_mark(plan.attempt, id);
  plan.kill_grace_us = end_grace_us();
  for (const char* end : {"in", "out", "err"}) {
    ::unlink(fmt::format("{}/exec.{}.{}", directory_, id, end).c_str());
  }
  Result<std::unique_ptr<RunningTask>> task =
      host_.runner->adopt(plan, TaskCallbacks{[] {},
                                              [this, path](const TaskEnd&) {
                                                former_.erase(path);
                                                ::unlink(path.c_str());
                                                if (empty()) settled_();
                                              }});
  if (!task.ok()) return;
  (*task)->stop();
  former_[path] = std::move(task).value();
}

std::vector<std::string> Execs::ids(Rank rank) const {
  std::vector<std::string> found;
  for (const auto& [id, session] : sessions_) {
    if (session->rank() == rank) found.push_back(id);
  }
  return found;
}

void Execs::end(Rank rank, const std::string& why) {
  for (const auto& [id, session] : sessions_) {
    if (session->rank() == rank) session->end(why);
  }
}

void Execs::end_all(const std::string& why) {
  for (const auto& [id, session] : sessions_) session->end(why);
}

}  // namespace dove::agent
