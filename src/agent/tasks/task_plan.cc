#include "agent/tasks/task_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "agent/aside/linux_user.h"
#include "agent/attempts/attempt_record.h"
#include "agent/containers/container_network.h"
#include "agent/devices/direct_storage.h"
#include "agent/forward/task_socket.h"
#include "agent/health/progress.h"
#include "agent/secrets/task_secrets.h"
#include "agent/tasks/output_path.h"
#include "agent/tasks/session_home.h"
#include "containers/place.h"
#include "model/huge_pages.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr char kBatchName[] = "batch";
constexpr char kContainerEnv[] = "DOVE_CONTAINER_ENV";  // jobfiles/container_options.h

Error cannot(const std::string& code, const std::string& message) {
  return Error{ErrorKind::kInvalid, code, message, ""};
}

std::string task_mark(const PlanContext& context, const std::string& name) {
  return fmt::format("{}.{}", attempt_mark(context), name);
}

// The memory near the task's cores, where there is enough of it for the attempt; else all.
std::vector<std::int32_t> near_memory(const PlanContext& context, const CoreSet& cores) {
  const Inventory* inventory = context.facts.inventory;
  const std::int64_t wanted_bytes = context.order.placement.memory_bytes;
  if (inventory == nullptr || wanted_bytes == 0) return {};
  std::vector<std::int32_t> near;
  std::int64_t near_bytes = 0;
  for (std::size_t i = 0; i < inventory->numa.size(); ++i) {
    const NumaNode& numa = inventory->numa[i];
    if (numa.cores.size_with(cores) == 0) continue;
    near.push_back(static_cast<std::int32_t>(i));
    near_bytes += numa.memory_bytes;
  }
  return near_bytes >= wanted_bytes ? near : std::vector<std::int32_t>();
}

// As the name of a cgroup.
std::string step_group(std::int32_t step) { return fmt::format("step{}", step); }

// What the attempt's placement grants the task of the node's cores and memory.
void set_limits(const PlanContext& context, const CoreSet& granted, TaskPlan& plan) {
  const CoreSet& cores = granted.empty() ? context.order.placement.cores : granted;
  plan.cores = cores.ids();
  plan.numa_nodes = near_memory(context, cores);
  plan.memory_bytes = context.order.placement.memory_bytes;
  for (const Countable& one : context.order.placement.countables) {
    const std::int64_t page_bytes = huge_page_bytes(one.name);
    if (page_bytes > 0) plan.huge_pages[page_bytes] = one.amount;
  }
  // The pages that it was promised may lie anywhere.
  if (!plan.huge_pages.empty()) plan.numa_nodes.clear();
}

// What the pool asks for must be what this agent can give.
Result<void> check_run_as(const PlanContext& context, bool contained) {
  const LaunchOrder& order = context.order;
  if (order.run_as == RunAs::kSubmitter && !context.mapped_users) {
    return cannot("no_linux_user",
                  fmt::format("pool '{}' runs tasks as their submitters, and the agent of node {} "
                              "runs all as itself; start it as root without --run-as-self",
                              order.pool, context.facts.node));
  }
  if (order.run_as == RunAs::kVirtual && !contained) {
    return cannot("no_image",
                  fmt::format("pool '{}' runs nothing but containers (run_as: virtual); name an "
                              "image, or another pool",
                              order.pool));
  }
  return {};
}

// A task's directory, user and files: what batch, main and step tasks have in common.
Result<TaskPlan> plan_basics(const PlanContext& context, const std::string& name, Rank rank,
                             const ContainerSpec& container) {
  const LaunchOrder& order = context.order;
  TaskPlan plan;
  plan.authority_path = context.facts.authority_path;
  plan.path = fmt::format("{}/{}{}", context.attempt_directory, kTaskPrefix, name);
  plan.output_dir = context.attempt_directory + "/output";
  plan.mark = task_mark(context, name);
  plan.attempt = attempt_mark(context);
  plan.rank = rank;
  plan.kill_grace_us = order.kill_grace.us;
  plan.append = order.exec.output.append;
  plan.umask = static_cast<std::int32_t>(std::strtol(order.exec.umask.c_str(), nullptr, 8));
  plan.container = container;
  const bool contained = !plan.container.image.empty();
  if (context.checks_files) TRY(check_run_as(context, contained));
  const bool mapped = context.mapped_users && order.run_as != RunAs::kAgent;
  const bool is_nobody = mapped || order.run_as == RunAs::kVirtual;
  if (is_nobody && order.linux_user.empty()) plan.volume_user = order.user;
  if (mapped && !(contained && order.linux_user.empty())) {
    if (order.linux_user.empty()) {
      return cannot(
          "no_linux_user",
          fmt::format("user '{}' is mapped to no Linux user, so nothing can be run for them; an "
                      "administrator runs `dove apply` with kind: User, name: {}, linux_user: …",
                      order.user, order.user));
    }
    const std::optional<LinuxUser> user = known_linux_user(order.linux_user);
    // What runs already stays while users cannot be looked up; what is started looks again.
    const bool is_missing = !user && context.checks_files;
    if (is_missing || (user && user->uid == 0)) {
      return cannot(
          "no_linux_user",
          fmt::format("Linux user '{}' {} on node {}; make one there, or name another "
                      "with kind: User, name: {}, linux_user: …",
                      order.linux_user, !user ? "does not exist" : "is root and runs no tasks",
                      context.facts.node, order.user));
    }
    plan.linux_user = order.linux_user;
  }
  if (!order.secrets.empty()) {
    plan.secrets = secrets_directory(context.facts.secrets_place, order.key);
  }
  plan.workdir =
      order.exec.workdir.empty() ? context.attempt_directory + "/work" : order.exec.workdir;
  return plan;
}

// Output goes where the job says, else to files of the task's own, which `dove logs` reads.
void set_outputs(const PlanContext& context, const std::string& name,
                 const std::string& out_pattern, const std::string& err_pattern, std::int32_t step,
                 TaskPlan& plan) {
  const LaunchOrder& order = context.order;
  const std::string& node = context.facts.node;
  plan.stdout_path = output_path(out_pattern, order, node, plan.workdir, plan.rank, step);
  plan.stderr_path = output_path(err_pattern, order, node, plan.workdir, plan.rank, step);
  if (plan.stdout_path.empty()) {
    plan.stdout_path = fmt::format("{}/{}.stdout", plan.output_dir, name);
    plan.rotate_bytes = context.rotate_bytes;
    if (plan.stderr_path.empty()) {
      plan.stderr_path = fmt::format("{}/{}.stderr", plan.output_dir, name);
    }
  } else if (plan.stderr_path.empty()) {
    plan.stderr_path = plan.stdout_path;
  }
}

// What the task opens to use its devices.
std::vector<std::string> device_nodes(const PlanContext& context,
                                      const std::vector<DeviceGrant>& grants) {
  std::vector<std::string> nodes;
  const auto add = [&](const std::vector<std::string>& files) {
    nodes.insert(nodes.end(), files.begin(), files.end());
  };
  const AgentFacts& facts = context.facts;
  for (const DeviceGrant& grant : grants) {
    const auto index = static_cast<std::size_t>(grant.device);
    if (facts.device_files == nullptr || index >= facts.device_files->size()) continue;
    add((*facts.device_files)[index]);
    if (!grant.is_slice() || facts.slices == nullptr) continue;
    const auto slice = facts.slices->find({grant.device, grant.slice.start});
    if (slice != facts.slices->end()) add(slice->second.files);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<GivenDevice> given_devices(const PlanContext& context,
                                       const std::vector<DeviceGrant>& grants) {
  std::vector<GivenDevice> given;
  const AgentFacts& facts = context.facts;
  for (const DeviceGrant& grant : grants) {
    const auto index = static_cast<std::size_t>(grant.device);
    if (facts.inventory == nullptr || index >= facts.inventory->devices.size()) continue;
    const Device& device = facts.inventory->devices[index];
    GivenDevice one{device.vendor, device.uuid, ""};
    const bool has_files = facts.device_files != nullptr && index < facts.device_files->size() &&
                           !(*facts.device_files)[index].empty();
    if (has_files && !grant.is_slice()) one.file = (*facts.device_files)[index].front();
    if (grant.is_slice() && facts.slices != nullptr) {
      const auto slice = facts.slices->find({grant.device, grant.slice.start});
      if (slice != facts.slices->end()) one.name = slice->second.name;
    }
    given.push_back(std::move(one));
  }
  return given;
}

// What plug-ins want for a task that was given these devices, of an attempt with its units.
void add_edits(const PlanContext& context, const std::vector<DeviceGrant>& grants, TaskPlan& plan) {
  const DeviceAllocator* allocator = context.facts.allocator;
  if (allocator == nullptr) return;
  const DeviceEdits* const of_devices = grants.empty() ? nullptr : allocator->find(grants);
  for (const DeviceEdits* edits : {of_devices, allocator->find_units(context.order.key)}) {
    if (edits != nullptr) plan.edits.add(*edits);
  }
  for (const auto& [name, value] : plan.edits.edits.environment) plan.environment[name] = value;
  const std::vector<std::string>& files = plan.edits.edits.devices;
  plan.device_nodes.insert(plan.device_nodes.end(), files.begin(), files.end());
}

// Processes get the variables and the device files of what plug-ins want.
void warn_of_edits(TaskPlan& plan) {
  std::vector<std::string> without;
  for (const containers::CdiMount& mount : plan.edits.edits.mounts) without.push_back(mount.target);
  for (const std::string& device : plan.edits.cdi_devices) without.push_back("CDI " + device);
  for (const auto& [name, value] : plan.edits.annotations) without.push_back("annotation " + name);
  if (without.empty()) return;
  plan.warnings.push_back(
      fmt::format("the device plug-in's {} apply only to containers; a job with an image has them",
                  fmt::join(without, ", ")));
}

// What is of the node in a task's environment means nothing in its container. `own`: what the job
// or its step set. Where pyxis' options ask for it, the image's variables count for more than
// these.
void use_image_environment(const PlanContext& context,
                           const std::map<std::string, std::string>& own, TaskPlan& plan) {
  std::set<std::string> kept;
  const auto rule = plan.environment.find(kContainerEnv);
  if (rule != plan.environment.end()) {
    std::istringstream names(rule->second);
    for (std::string name; std::getline(names, name, ',');) kept.insert(name);
    LaunchOrder bare = context.order;
    bare.exec.environment.clear();
    const Environment ours = attempt_environment(context.facts, bare, context.attempt_directory);
    for (const auto& [name, value] : own) {
      if (!ours.contains(name) && !kept.contains(name)) plan.yields.insert(name);
    }
  }
  for (const char* name : {"PATH", "PYTHONPATH", "SHELL", "TMPDIR", "DOVE_ATTEMPT_DIR"}) {
    plan.environment.erase(name);
    const auto given = own.find(name);
    if (given != own.end() && kept.contains(name)) plan.environment[name] = given->second;
  }
  const auto& of_job = context.order.exec.environment;
  if (const auto python = of_job.find("PYTHONPATH"); python != of_job.end()) {
    plan.environment.try_emplace("PYTHONPATH", python->second);
  }
  if (plan.linux_user.empty()) plan.environment.erase("HOME");
  std::erase_if(plan.environment,
                [](const auto& entry) { return entry.first.starts_with("OMPI_MCA_"); });
}

// The container's network: its gang's, or the node's with a word about why.
Result<void> join_network(const PlanContext& context, TaskPlan& plan) {
  const AgentFacts& facts = context.facts;
  if (!context.order.in_network) {
    const std::string& why = context.order.no_network;
    if (why.empty() || facts.networks == NetworkRule::kHost) return {};
    if (facts.networks == NetworkRule::kGang && context.checks_files) {
      return cannot("no_gang_network", why);
    }
    plan.warnings.push_back(why);
    return {};
  }
  const std::string shortfall = facts.network_shortfall ? facts.network_shortfall() : "";
  if (!shortfall.empty()) plan.warnings.push_back(shortfall);
  const std::vector<Countable>& counted = context.order.placement.countables;
  if (std::any_of(counted.begin(), counted.end(),
                  [](const Countable& one) { return one.name == kCards; })) {
    plan.warnings.push_back(
        "its nics cannot be used from the network of its gang; choose the node's own: "
        "--container-network=host");
  }
  TRY_ASSIGN(plan.network, network_of(context.order, context.facts.node));
  plan.hostname = containers::network_host(plan.network->nodes[plan.network->here].ranks.front());
  if (!facts.gang_url.empty()) name_controller(facts.gang_url, plan.environment);
  return {};
}

// Its devices, and what is of the node in its environment.
Result<void> contain(const PlanContext& context, const std::vector<DeviceGrant>& grants,
                     TaskPlan& plan, const StepOrder* step = nullptr) {
  plan.device_nodes = device_nodes(context, grants);
  const AgentFacts& facts = context.facts;
  plan.pins_memory = context.order.nodes.size() > 1 && facts.fabric != nullptr &&
                     facts.inventory != nullptr &&
                     !cards_for(*facts.fabric, facts.planes, *facts.inventory, grants).empty();
  if (facts.fabric != nullptr && !grants.empty()) {
    use_direct_storage(*facts.fabric, facts.cufile, plan);
  }
  add_edits(context, grants, plan);
  const auto share = [&] {
    if (facts.inventory == nullptr) return;
    hold_to_share(facts.shares, *facts.inventory, context.order.placement, grants,
                  context.attempt_directory, plan);
  };
  if (plan.container.image.empty()) {
    share();
    warn_of_edits(plan);
    return {};
  }
  const OutputSpec& output = context.order.exec.output;
  const bool names_files = !output.stdout_path.empty() || !output.stderr_path.empty() ||
                           !output.stdin_path.empty() || !plan.container.save.empty();
  if (context.mapped_users && plan.linux_user.empty() && names_files) {
    return cannot("no_linux_user",
                  fmt::format("user '{}' is mapped to no Linux user, so their containers write no "
                              "files of the node; leave output and input to `dove logs`",
                              context.order.user));
  }
  const auto& own = step == nullptr ? context.order.exec.environment : step->environment;
  use_image_environment(context, own, plan);
  const std::string checkpoints = checkpoints_of(context.facts, context.order.key.job);
  plan.shared.push_back({checkpoints, checkpoints, true});
  give_session_home(context.facts, context.order, plan);
  const std::string progress = own_progress_directory(context.attempt_directory);
  plan.shared.push_back({progress, progress, true, true});
  const std::string sockets = sockets_directory(context.attempt_directory, context.order.exec);
  plan.shared.push_back({sockets, sockets, true, true});
  if (!plan.secrets.empty()) {
    const std::string files = secret_files(plan.secrets);
    plan.shared.push_back({files, files, false});
    plan.shared.push_back({secret_variables(plan.secrets), containers::kSecrets, false});
  }
  const DeviceEdits* const named =
      facts.allocator == nullptr ? nullptr : facts.allocator->find(grants);
  // A plug-in that names its devices for CDI knows better.
  if (named == nullptr || named->cdi_devices.empty()) plan.devices = given_devices(context, grants);
  if (const auto stage = plan.environment.find("DOVE_CHECKPOINT_STAGE");
      stage != plan.environment.end()) {
    plan.shared.push_back({stage->second, stage->second, true});
  }
  share();
  return join_network(context, plan);
}

}  // namespace

std::string attempt_mark(const std::string& node, AttemptKey key) {
  return fmt::format("{}.{}", node, key.text());
}

std::string attempt_mark(const PlanContext& context) {
  return attempt_mark(context.facts.node, context.order.key);
}

Result<TaskPlan> plan_batch_script(const PlanContext& context) {
  TRY_ASSIGN(TaskPlan plan, plan_basics(context, kBatchName, 0, context.order.exec.container));
  const ExecSpec& exec = context.order.exec;
  plan.argv = {context.attempt_directory + "/script"};
  plan.argv.insert(plan.argv.end(), exec.script_arguments.begin(), exec.script_arguments.end());
  plan.environment = attempt_environment(context.facts, context.order, context.attempt_directory);
  set_limits(context, {}, plan);
  if (!plan.container.image.empty()) plan.script_path = plan.argv[0];
  TRY(contain(context, context.order.placement.devices, plan));
  plan.ports = exec.container.ports;
  set_outputs(context, kBatchName, exec.output.stdout_path, exec.output.stderr_path, -1, plan);
  plan.stdin_path =
      output_path(exec.output.stdin_path, context.order, context.facts.node, plan.workdir, 0, -1);
  return plan;
}

Result<TaskPlan> plan_main_task(const PlanContext& context, const TaskGrant& grant) {
  const std::string name = fmt::format("r{}", grant.rank);
  TRY_ASSIGN(TaskPlan plan, plan_basics(context, name, grant.rank, context.order.exec.container));
  const ExecSpec& exec = context.order.exec;
  plan.argv = exec.command;
  if (plan.argv.empty()) return cannot("no_command", "the job has neither script nor command");
  plan.environment =
      task_environment(context.facts, context.order, grant, context.attempt_directory);
  set_limits(context, grant.cores, plan);
  TRY(contain(context, grant.devices.empty() ? context.order.placement.devices : grant.devices,
              plan));
  if (plan.network != nullptr) {
    plan.hostname = containers::network_host(grant.rank);
    plan.environment.merge(containers::session_environment(*plan.network, grant.rank));
    const bool first = plan.network->nodes[plan.network->here].ranks.front() == grant.rank;
    if (first) plan.ports = exec.container.ports;
  }
  set_outputs(context, name, exec.output.stdout_path, exec.output.stderr_path, -1, plan);
  plan.stdin_path = output_path(exec.output.stdin_path, context.order, context.facts.node,
                                plan.workdir, grant.rank, -1);
  return plan;
}

void place_again(const PlanContext& context, TaskPlan& plan) {
  CoreSet granted;
  if (context.order.launch != LaunchMode::kBatch) {
    for (const TaskGrant& grant : context.order.placement.tasks) {
      if (grant.rank == plan.rank) granted = grant.cores;
    }
  }
  set_limits(context, granted, plan);
}

Result<TaskPlan> plan_batch_world(const PlanContext& context, const TaskGrant& grant) {
  TRY_ASSIGN(TaskPlan plan,
             plan_basics(context, "world", grant.rank, context.order.exec.container));
  plan.mark.clear();
  plan.environment = attempt_environment(context.facts, context.order, context.attempt_directory);
  set_limits(context, grant.cores, plan);
  TRY(contain(context, context.order.placement.devices, plan));
  return plan;
}

Result<TaskPlan> plan_step_task(const PlanContext& context, const StepOrder& step,
                                const TaskGrant& grant) {
  const std::string name = fmt::format("s{}.{}", step.step, grant.rank);
  const bool own_container = !step.container.image.empty();
  TRY_ASSIGN(TaskPlan plan,
             plan_basics(context, name, grant.rank,
                         own_container ? step.container : context.order.exec.container));
  if (!own_container) plan.container.save.clear();  // that is for the job's own first task
  if (!step.workdir.empty()) plan.workdir = step.workdir;
  plan.step = step_group(step.step);
  plan.step_bytes = step.memory_bytes;
  plan.argv = step.command;
  if (plan.argv.empty()) return cannot("no_command", "the step has no command");
  plan.environment =
      step_environment(context.facts, context.order, step, grant, context.attempt_directory);
  set_limits(context, grant.cores, plan);
  TRY(contain(context, step_devices(context.order, step, grant), plan, &step));
  // The job's own is a directory that only its tasks see.
  if (own_container && context.order.exec.container.image.empty()) {
    plan.environment.erase("DOVE_PROGRESS");
  }
  set_outputs(context, name, step.stdout_path, step.stderr_path, step.step, plan);
  plan.rotate_bytes = 0;  // the relay follows the file from its beginning
  const bool reads =
      step.stdin_rank < 0 || step.stdin_rank == static_cast<std::int32_t>(grant.rank);
  if (step.stdin_text == "stream") {
    plan.holds_input = reads;
    if (reads) plan.stdin_path = step_input_path(context.attempt_directory, step.step, grant.rank);
  } else if (step.stdin_text != "none" && reads) {
    plan.stdin_path = output_path(step.stdin_text, context.order, context.facts.node, plan.workdir,
                                  grant.rank, step.step);
  }
  return plan;
}

std::string step_input_path(const std::string& attempt_directory, std::int32_t step, Rank rank) {
  return fmt::format("{}/input.s{}.{}", attempt_directory, step, rank);
}

std::vector<TaskOnDisk> read_tasks(const PlanContext& context) {
  std::vector<TaskOnDisk> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(context.attempt_directory, error)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(kTaskPrefix)) continue;
    name.erase(0, sizeof kTaskPrefix - 1);
    TaskOnDisk task;
    const char* const end = name.data() + name.size();
    const char* at = name.data() + 1;
    if (name.starts_with('s')) {
      const auto step = std::from_chars(at, end, task.step);
      if (step.ec != std::errc() || step.ptr == end || *step.ptr != '.') continue;
      at = step.ptr + 1;
    }
    if (name != kBatchName) {
      if (!name.starts_with('s') && !name.starts_with('r')) continue;
      const auto rank = std::from_chars(at, end, task.plan.rank);
      if (rank.ec != std::errc() || rank.ptr != end) continue;
    }
    task.plan.path = entry.path().string();
    task.plan.mark = task_mark(context, name);
    task.plan.attempt = attempt_mark(context);
    if (task.step >= 0) task.plan.step = step_group(task.step);
    task.plan.kill_grace_us = context.order.kill_grace.us;
    found.push_back(std::move(task));
  }
  std::sort(found.begin(), found.end(),
            [](const TaskOnDisk& a, const TaskOnDisk& b) { return a.plan.path < b.plan.path; });
  return found;
}

}  // namespace dove::agent
