#include "agent/tasks/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "agent/aside/linux_user.h"
#include "agent/forward/task_socket.h"
#include "agent/health/progress.h"
#include "agent/secrets/task_secrets.h"
#include "agent/tasks/rendezvous.h"
#include "text/hostlist.h"
#include "text/run_lengths.h"
#include "wire/address.h"

namespace dove::agent {
namespace {

std::string joined(const std::vector<std::int32_t>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

// Each device once: slices of one follow one another.
std::vector<std::int32_t> device_ids(const std::vector<DeviceGrant>& grants) {
  std::vector<std::int32_t> ids;
  for (const DeviceGrant& grant : grants) {
    if (ids.empty() || ids.back() != grant.device) ids.push_back(grant.device);
  }
  return ids;
}

// As NVIDIA's and AMD's drivers write them: GPU-8-4-4-4-12 and GPU-16 hexadecimal digits.
bool is_of_driver(std::string_view uuid) {
  if (!uuid.starts_with("GPU-") || (uuid.size() != 40 && uuid.size() != 20)) return false;
  return uuid.find_first_not_of("0123456789abcdef-", 4) == std::string_view::npos;
}

std::string uuid_of(const Inventory* inventory, std::int32_t device) {
  const auto index = static_cast<std::size_t>(device);
  const bool known = inventory != nullptr && index < inventory->devices.size();
  return known ? inventory->devices[index].uuid : "";
}

// What the driver calls the slice; where nobody cuts, it has no other name than its place:
// "MIG-<uuid of the device>/<start>/<size>".
std::string visible_device(const AgentFacts& facts, const DeviceGrant& grant) {
  if (!grant.is_slice()) return driver_name(facts.inventory, grant.device);
  if (facts.slices != nullptr) {
    const auto named = facts.slices->find({grant.device, grant.slice.start});
    if (named != facts.slices->end()) return named->second.name;
  }
  return fmt::format("MIG-{}/{}/{}", uuid_of(facts.inventory, grant.device), grant.slice.start,
                     grant.slice.size);
}

std::string visible_devices(const AgentFacts& facts, const std::vector<DeviceGrant>& grants) {
  std::vector<std::string> names;
  for (const DeviceGrant& grant : grants) names.push_back(visible_device(facts, grant));
  return fmt::format("{}", fmt::join(names, ","));
}

// "0:3:1:1": device, first memory slot, memory slots, slots of processors.
std::string slices_text(const std::vector<DeviceGrant>& grants) {
  std::vector<std::string> names;
  for (const DeviceGrant& grant : grants) {
    if (!grant.is_slice()) continue;
    names.push_back(fmt::format("{}:{}:{}:{}", grant.device, grant.slice.start, grant.slice.size,
                                grant.slice.compute));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

void add_devices(const AgentFacts& facts, const std::vector<DeviceGrant>& grants,
                 Environment& environment) {
  const std::string ids = joined(device_ids(grants));
  std::string vendor = "nvidia";
  if (!grants.empty() && facts.inventory != nullptr) {
    const auto index = static_cast<std::size_t>(grants.front().device);
    if (index < facts.inventory->devices.size()) vendor = facts.inventory->devices[index].vendor;
  }
  // Set even when empty: a task without a device must not find those of others.
  const std::string visible = vendor == "nvidia" ? visible_devices(facts, grants) : "";
  environment["CUDA_VISIBLE_DEVICES"] = visible;
  environment["NVIDIA_VISIBLE_DEVICES"] = visible.empty() ? "void" : visible;
  // Not HIP_VISIBLE_DEVICES: it counts among those that this one leaves.
  if (vendor == "amd") environment["ROCR_VISIBLE_DEVICES"] = visible_devices(facts, grants);
  if (!visible.empty()) environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  environment["DOVE_DEVICES"] = ids;
  if (const std::string slices = slices_text(grants); !slices.empty()) {
    environment["DOVE_SLICES"] = slices;
  }
  if (grants.size() == 1 && !grants.front().is_slice() &&
      grants.front().share_milli < kWholeDevice_milli) {
    environment["DOVE_DEVICE_SHARE_MILLI"] = std::to_string(grants.front().share_milli);
  }
}

std::vector<std::string> names_of(const LaunchOrder& order) {
  std::vector<std::string> names;
  for (const PeerNode& node : order.nodes) names.push_back(node.name);
  return names;
}

void add_identity(const AgentFacts& facts, const LaunchOrder& order, Environment& e) {
  if (const std::optional<LinuxUser> user = known_linux_user(order.linux_user)) {
    e["HOME"] = user->home;
    e["USER"] = e["LOGNAME"] = user->name;
    e["SHELL"] = user->shell;
    e["SLURM_JOB_UID"] = std::to_string(user->uid);
    e["SLURM_JOB_GID"] = std::to_string(user->gid);
  }
  e["PATH"] = facts.bin_directory + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  e["LANG"] = "C.UTF-8";
}

// What the job set itself (sbatch passes on the submitter's whole environment), with our commands
// still first in PATH.
void add_own(const AgentFacts& facts, const std::map<std::string, std::string>& own,
             Environment& e) {
  for (const auto& [name, value] : own) e[name] = value;
  if (!facts.python_directory.empty()) {
    std::string& python = e["PYTHONPATH"];
    const bool has = python.ends_with(facts.python_directory);
    if (!has) python += (python.empty() ? "" : ":") + facts.python_directory;
  }
  const auto path = own.find("PATH");
  if (path != own.end() && path->second.rfind(facts.bin_directory + ":", 0) != 0) {
    e["PATH"] = facts.bin_directory + ":" + path->second;
  }
}

void add_progress(const AgentFacts& facts, const LaunchOrder& order, Rank rank,
                  const std::string& attempt_directory, Environment& e) {
  const std::string directory = order.exec.container.image.empty()
                                    ? facts.progress_directory
                                    : own_progress_directory(attempt_directory);
  e["DOVE_PROGRESS"] = fmt::format("{}/{}.{}", directory, progress_prefix(order), rank);
}

void add_dove(const AgentFacts& facts, const LaunchOrder& order, Rank rank,
              const std::string& attempt_directory, Environment& e) {
  const std::string job = std::to_string(order.key.job.value);
  e["DOVE_JOB_ID"] = job;
  e["DOVE_JOB_NAME"] = order.name;
  e["DOVE_JOB_USER"] = order.user;
  e["DOVE_ATTEMPT"] = std::to_string(order.key.attempt);
  e["DOVE_RESTART_COUNT"] = std::to_string(order.restart_count);
  e["DOVE_NODE"] = facts.node;
  e["DOVE_NODELIST"] = text::fold_hostlist(names_of(order));
  name_controller(facts.url, e);
  if (!facts.authority_path.empty()) e["DOVE_CA_FILE"] = facts.authority_path;
  e["DOVE_JOB_TOKEN"] = order.job_token;
  add_progress(facts, order, rank, attempt_directory, e);
  e["DOVE_SOCKETS"] = sockets_directory(attempt_directory, order.exec);
  if (!order.secrets.empty()) {
    e["DOVE_SECRETS"] = secret_files(secrets_directory(facts.secrets_place, order.key));
    // What is in the environment from here on: our commands pass these on to nobody.
    std::vector<std::string> names;
    for (const SecretUse& use : order.secrets) {
      if (!use.variable.empty()) names.push_back(use.variable);
    }
    e["DOVE_SECRET_VARIABLES"] = fmt::format("{}", fmt::join(names, ","));
  }
  e["DOVE_CHECKPOINT_DIR"] = checkpoints_of(facts, order.key.job);
  e["DOVE_CHECKPOINT_LATEST"] = e["DOVE_CHECKPOINT_DIR"] + "/latest";
  e["DOVE_CHECKPOINT_SIGNAL"] = std::to_string(order.checkpoint_signal);
  if (!facts.stage_directory.empty()) e["DOVE_CHECKPOINT_STAGE"] = stage_of(facts, order.key);
}

// The numbers that were asked for. A batch script has them as Slurm's does: those that its options
// named (jobfiles/slurm_variables.h), and those that differ from what no option means.
void add_slurm_sizes(const LaunchOrder& order, Environment& e) {
  const bool batch = order.launch == LaunchMode::kBatch;
  if (!batch || order.tasks != static_cast<std::int32_t>(order.nodes.size())) {
    e["SLURM_NTASKS"] = e["SLURM_NPROCS"] = std::to_string(order.tasks);
  }
  if (!batch || order.cpus_per_task > 1) {
    e["SLURM_CPUS_PER_TASK"] = std::to_string(order.cpus_per_task);
  }
  const auto& own = order.exec.environment;
  if (order.placement.memory_bytes > 0 && !own.contains("SLURM_MEM_PER_CPU") &&
      !own.contains("SLURM_MEM_PER_GPU")) {
    e["SLURM_MEM_PER_NODE"] = std::to_string(order.placement.memory_bytes >> 20);
  }
  if (!order.placement.devices.empty()) {
    e["SLURM_JOB_GPUS"] = joined(device_ids(order.placement.devices));
    e["SLURM_GPUS_ON_NODE"] = std::to_string(order.placement.devices.size());
  }
}

void add_slurm(const AgentFacts& facts, const LaunchOrder& order, Environment& e) {
  std::vector<std::int32_t> tasks_per_node;
  std::vector<std::int32_t> cores_per_node;
  for (const PeerNode& node : order.nodes) {
    tasks_per_node.push_back(static_cast<std::int32_t>(node.ranks.size()));
    cores_per_node.push_back(node.cores);
  }
  const std::string nodes = text::fold_hostlist(names_of(order));
  const std::string job = std::to_string(order.key.job.value);
  e["SLURM_JOB_ID"] = e["SLURM_JOBID"] = job;
  e["SLURM_JOB_NAME"] = order.name;
  e["SLURM_JOB_USER"] = order.user;
  e["SLURM_JOB_NODELIST"] = e["SLURM_NODELIST"] = nodes;
  e["SLURM_JOB_NUM_NODES"] = e["SLURM_NNODES"] = std::to_string(order.nodes.size());
  e["SLURM_TASKS_PER_NODE"] = text::fold_counts(tasks_per_node);
  e["SLURM_JOB_CPUS_PER_NODE"] = text::fold_counts(cores_per_node);
  e["SLURM_CPUS_ON_NODE"] = std::to_string(order.placement.cores.size());
  add_slurm_sizes(order, e);
  e["SLURM_JOB_PARTITION"] = order.pool;
  if (!order.project.empty()) e["SLURM_JOB_ACCOUNT"] = order.project;
  if (!order.queue.empty()) e["SLURM_JOB_QOS"] = order.queue;
  e["SLURM_CLUSTER_NAME"] = facts.cluster;
  e["SLURM_SUBMIT_DIR"] = order.exec.workdir;
  e["SLURMD_NODENAME"] = e["SLURM_TOPOLOGY_ADDR"] = facts.node;
  e["SLURM_TOPOLOGY_ADDR_PATTERN"] = "node";
  e["SLURM_NODE_ALIASES"] = "(null)";
  e["SLURM_PRIO_PROCESS"] = "0";
  e["SLURM_NODEID"] = std::to_string(order.placement.node_rank);
  e["SLURM_PROCID"] = e["SLURM_LOCALID"] = "0";
  e["SLURM_RESTART_COUNT"] = std::to_string(order.restart_count);
  if (order.array) {
    e["SLURM_ARRAY_JOB_ID"] = std::to_string(order.array.value);
    e["SLURM_ARRAY_TASK_ID"] = std::to_string(order.array_index);
  }
}

// Open MPI finds its hosts and its way to them without a flag. `ras` and `regx` keep it from
// reading SLURM_* and from compressing names; nodes that share a machine also need their traffic on
// loopback, and no shared memory between what counts as two nodes
// (docs/decisions/0004-open-mpi.md).
void add_open_mpi(const AgentFacts& facts, const LaunchOrder& order,
                  const std::string& attempt_directory, Environment& e) {
  const std::string mca = "OMPI_MCA_";
  e[mca + "plm"] = "rsh";
  e[mca + "plm_rsh_agent"] = facts.bin_directory + "/dove-rsh";
  e[mca + "plm_rsh_no_tree_spawn"] = "1";
  if (order.launch == LaunchMode::kBatch) {
    e[mca + "orte_default_hostfile"] = attempt_directory + "/hostfile";
  }
  e[mca + "ras"] = "^slurm";
  e[mca + "regx"] = "naive";
  e[mca + "orte_keep_fqdn_hostnames"] = "1";
  e[mca + "hwloc_base_binding_policy"] = "none";
  // A daemon that left its step would be swept with it.
  e[mca + "orte_leave_session_attached"] = "1";
  const auto shares_machine = [&](const PeerNode& node) {
    return node.address == order.nodes.front().address;
  };
  if (order.nodes.size() > 1 &&
      std::all_of(order.nodes.begin(), order.nodes.end(), shares_machine)) {
    e[mca + "btl"] = "self,tcp";
    e[mca + "pml"] = "ob1";
    e[mca + "btl_tcp_if_include"] = "lo";
    e[mca + "oob_tcp_if_include"] = "lo";
    e[mca + "mpi_yield_when_idle"] = "1";
  }
  if (geteuid() == 0) e["OMPI_ALLOW_RUN_AS_ROOT"] = e["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
}

// Who a task is, in Slurm's words and ours.
void add_task(const RankPlace& place, Environment& e) {
  e["SLURM_PROCID"] = e["DOVE_RANK"] = std::to_string(place.rank);
  e["SLURM_LOCALID"] = std::to_string(place.local_rank);
  e["SLURM_NODEID"] = std::to_string(place.node_rank);
}

// For the tasks that start together on this node. The shim fills in the process id.
void add_local(const std::vector<TaskGrant>& tasks, Environment& e) {
  std::vector<std::string> ranks;
  for (const TaskGrant& task : tasks) ranks.push_back(std::to_string(task.rank));
  e["SLURM_GTIDS"] = fmt::format("{}", fmt::join(ranks, ","));
  e["SLURM_TASK_PID"] = "";
}

// What the step has on this node.
void add_step_amounts(const AgentFacts& facts, const LaunchOrder& order, const StepOrder& step,
                      const TaskGrant& task, Environment& e) {
  const std::vector<DeviceGrant>& devices = step_devices(order, step, task);
  add_devices(facts, devices, e);
  CoreSet cores;
  std::vector<std::int32_t> all;
  for (const TaskGrant& each : step.tasks) {
    cores |= each.cores;
    const std::vector<std::int32_t> its = device_ids(step_devices(order, step, each));
    all.insert(all.end(), its.begin(), its.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!cores.empty()) e["SLURM_CPUS_ON_NODE"] = std::to_string(cores.size());
  e.erase("SLURM_STEP_GPUS");
  e.erase("SLURM_GPUS_ON_NODE");
  if (!all.empty()) e["SLURM_GPUS_ON_NODE"] = std::to_string(all.size());
  if (!devices.empty()) e["SLURM_STEP_GPUS"] = joined(device_ids(devices));
}

void add_fabric(const AgentFacts& facts, const LaunchOrder& order,
                const std::vector<DeviceGrant>& grants, Environment& e) {
  if (facts.fabric == nullptr || facts.inventory == nullptr) return;
  // In a network of the gang's own the node's interfaces are not there.
  if (order.in_network) return;
  const std::vector<std::string>* const cards =
      facts.allocator == nullptr ? nullptr : facts.allocator->units_of(order.key, kCards);
  const auto found = fabric_environment(*facts.fabric, facts.planes, *facts.inventory, grants,
                                        order.nodes.size() > 1, cards);
  const auto& own = order.exec.environment;
  for (const auto& [name, value] : found) {
    if (!own.contains(name)) e[name] = value;
  }
}

}  // namespace

const std::vector<DeviceGrant>& step_devices(const LaunchOrder& order, const StepOrder& step,
                                             const TaskGrant& task) {
  const bool all = !step.devices_given && task.devices.empty();
  return all ? order.placement.devices : task.devices;
}

std::string shared_of(const AgentFacts& facts, const char* kind, JobId job) {
  const std::string of = facts.cluster_id.empty() ? "" : facts.cluster_id + "-";
  return fmt::format("{}/{}/{}{}", facts.shared_directory, kind, of, job.value);
}

std::string checkpoints_of(const AgentFacts& facts, JobId job) {
  return shared_of(facts, "checkpoints", job);
}

std::string stage_of(const AgentFacts& facts, AttemptKey key) {
  return facts.stage_directory + "/" + key.text();
}

std::string driver_name(const Inventory* inventory, std::int32_t device) {
  const std::string uuid = uuid_of(inventory, device);
  return is_of_driver(uuid) ? uuid : std::to_string(device);
}

void name_controller(const std::string& url, Environment& e) {
  e["DOVE_URL"] = url;
  if (!wire::may_show_secrets(url, /*insecure=*/false).ok()) e["DOVE_INSECURE"] = "1";
}

Environment attempt_environment(const AgentFacts& facts, const LaunchOrder& order,
                                const std::string& attempt_directory) {
  Environment e;
  add_identity(facts, order, e);
  add_slurm(facts, order, e);
  add_open_mpi(facts, order, attempt_directory, e);
  add_local({TaskGrant{}}, e);
  add_devices(facts, order.placement.devices, e);
  add_fabric(facts, order, order.placement.devices, e);
  e["DOVE_ATTEMPT_DIR"] = attempt_directory;
  add_own(facts, order.exec.environment, e);
  add_dove(facts, order, 0, attempt_directory,
           e);  // last: a job's own settings never hide who it is
  return e;
}

Environment task_environment(const AgentFacts& facts, const LaunchOrder& order,
                             const TaskGrant& task, const std::string& attempt_directory) {
  Environment e = attempt_environment(facts, order, attempt_directory);
  const RankPlace place{task.rank, task.local_rank, order.placement.node_rank};
  add_task(place, e);
  const RankVariables given = rank_variables(rendezvous_of(order), place);
  for (const auto& [name, value] : given) e[name] = value;
  e["DOVE_GIVEN"] = given_text(given);
  add_progress(facts, order, task.rank, attempt_directory, e);
  add_local(order.placement.tasks, e);
  // Devices asked per node belong to all tasks there.
  const auto& devices = task.devices.empty() ? order.placement.devices : task.devices;
  add_devices(facts, devices, e);
  add_fabric(facts, order, devices, e);
  return e;
}

Environment step_environment(const AgentFacts& facts, const LaunchOrder& order,
                             const StepOrder& step, const TaskGrant& task,
                             const std::string& attempt_directory) {
  Environment e = attempt_environment(facts, order, attempt_directory);
  add_own(facts, step.environment, e);
  add_dove(facts, order, task.rank, attempt_directory, e);
  const RankPlace place{task.rank, task.local_rank, step.node_rank};
  add_task(place, e);
  RankVariables given = rank_variables(rendezvous_of(order, step), place);
  std::erase_if(given, [&](const auto& entry) { return e.contains(entry.first); });
  for (const auto& [name, value] : given) e[name] = value;
  e["DOVE_GIVEN"] = given_text(given);
  add_local(step.tasks, e);
  add_step_amounts(facts, order, step, task, e);
  e["SLURMD_NODENAME"] = e["SLURM_TOPOLOGY_ADDR"] = facts.node;
  // Tasks of nodes that share a machine must not meet in /tmp (Open MPI's session directories).
  e["TMPDIR"] = attempt_directory + "/tmp";
  e["SLURM_STEP_ID"] = e["SLURM_STEPID"] = std::to_string(step.step);
  e["SLURM_STEP_NUM_TASKS"] = e["SLURM_NTASKS"] = e["SLURM_NPROCS"] =
      std::to_string(step.tasks_total);
  e["SLURM_STEP_NODELIST"] = text::fold_hostlist(step.nodes);
  e["SLURM_STEP_NUM_NODES"] = e["SLURM_NNODES"] = std::to_string(step.nodes.size());
  e["SLURM_STEP_TASKS_PER_NODE"] = e["SLURM_TASKS_PER_NODE"] =
      text::fold_counts(step.tasks_per_node);
  return e;
}

}  // namespace dove::agent
