#include "agent/tasks/session_home.h"

#include <algorithm>

namespace dove::agent {
namespace {

constexpr char kRootHome[] = "/root";
constexpr char kHome[] = "/home/user";  // of whom the node does not know

// As its user's entry on the node says, so that programs that ask for it find the same.
std::string target_of(const TaskPlan& plan) {
  if (plan.container.root) return kRootHome;
  const auto of_user = plan.environment.find("HOME");
  const bool is_known = of_user != plan.environment.end() && of_user->second.starts_with('/') &&
                        of_user->second != "/";
  return is_known ? of_user->second : kHome;
}

}  // namespace

std::string session_home_of(const AgentFacts& facts, const LaunchOrder& order) {
  const bool is_contained_session =
      !order.exec.app.name.empty() && !order.exec.container.image.empty();
  if (!is_contained_session || facts.shared_directory.empty() ||
      order.exec.environment.contains("HOME")) {
    return "";
  }
  return shared_of(facts, "homes", order.key.job);
}

void give_session_home(const AgentFacts& facts, const LaunchOrder& order, TaskPlan& plan) {
  const std::string home = session_home_of(facts, order);
  if (home.empty()) return;
  const std::string target = target_of(plan);
  plan.environment["HOME"] = target;
  const auto& volumes = plan.container.volumes;
  const bool is_taken = std::any_of(volumes.begin(), volumes.end(), [&](const Volume& volume) {
    const std::string& at = volume.target.empty() ? volume.source : volume.target;
    return (target + "/").starts_with(at + "/");
  });
  if (!is_taken) plan.shared.push_back({home, target, true});
  if (plan.container.workdir.empty()) plan.container.workdir = target;
}

}  // namespace dove::agent
