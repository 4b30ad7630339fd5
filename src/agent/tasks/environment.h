// What a task finds in its environment: Dovetail's own names, the rendezvous of its ranks, Slurm's
// names, Open MPI's settings and the devices it may use.
//
// Sources: torch.distributed "Environment variable initialization"; TF_CONFIG of
// tf.distribute; OUTPUT ENVIRONMENT VARIABLES of sbatch(1) and srun(1), 22.05.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/devices/device_allocator.h"
#include "agent/devices/device_shares.h"
#include "agent/devices/fabric.h"
#include "agent/devices/slice_cutter.h"
#include "devices/machine.h"
#include "model/node.h"

namespace dove::agent {

using Environment = std::map<std::string, std::string>;

// The network of containers whose job does not name one.
enum class NetworkRule {
  kAuto,  // their gang's where the attempt's nodes offer it, else the node's, with a warning
  kGang,  // or the attempt fails
  kHost,  // the node's
};

// What is the same for all tasks of this agent.
struct AgentFacts {
  std::string node;
  std::string url;                  // of the controller, for steps
  std::string authority_path = {};  // file of its certificate's authorities; "": the system's
  std::string gang_url;             // of it in networks of gangs; "": as `url`
  NetworkRule networks = NetworkRule::kAuto;
  std::function<std::string()> network_shortfall = {};  // what networks of gangs lack; or unset
  std::string progress_directory;                       // agent/health/progress.h
  std::string python_directory;                         // with the package dove; "": there is none
  std::string secrets_place = {};                       // agent/secrets/task_secrets.h
  std::string stage_directory;   // of checkpoints on their way; "": there is none
  std::string bin_directory;     // holds srun and the Open MPI launch agent; first in PATH
  std::string shared_directory;  // below it: checkpoints/<cluster_id>-<job>
  std::string cluster = "dove";
  // Tells clusters apart that share a file system, and one from its predecessor, whose jobs had the
  // same numbers; "": the controller does not say.
  std::string cluster_id = {};
  const Inventory* inventory = nullptr;
  const Slices* slices = nullptr;
  const devices::DeviceFiles* device_files = nullptr;
  const devices::Fabric* fabric = nullptr;
  Planes planes = {};
  const DeviceAllocator* allocator = nullptr;
  ShareOptions shares = {};
  std::string cufile = {};  // the configuration of direct storage; "": there is none
};

// How commands in the task find the controller at that URL, and that they may show it their job's
// token: the agent was told that the network is trusted, or it is the way through this machine.
void name_controller(const std::string& url, Environment& e);

// The environment of the attempt itself: of the batch script, which has no rank.
Environment attempt_environment(const AgentFacts& facts, const LaunchOrder& order,
                                const std::string& attempt_directory);

// The environment of one task of the attempt: attempt_environment and its rank.
Environment task_environment(const AgentFacts& facts, const LaunchOrder& order,
                             const TaskGrant& task, const std::string& attempt_directory);

// The environment of one task of a step: that of the step's client, and, where it leaves gaps, the
// task's rank within the step.
Environment step_environment(const AgentFacts& facts, const LaunchOrder& order,
                             const StepOrder& step, const TaskGrant& task,
                             const std::string& attempt_directory);

// The devices that a task of a step sees: those that it was given, or all of its job's.
const std::vector<DeviceGrant>& step_devices(const LaunchOrder& order, const StepOrder& step,
                                             const TaskGrant& task);

// A directory of the job's own on the storage that nodes share: SHARED/KIND/CLUSTER-JOB.
std::string shared_of(const AgentFacts& facts, const char* kind, JobId job);
// Where a job's checkpoints are, on all nodes.
std::string checkpoints_of(const AgentFacts& facts, JobId job);
// Where the attempt may write its checkpoints first. REQUIRES: there is a stage_directory.
std::string stage_of(const AgentFacts& facts, AttemptKey key);

// What the device's driver calls it: its UUID, as drivers number only the devices that they see,
// and in their own order; its number where the driver knows no such name.
std::string driver_name(const Inventory* inventory, std::int32_t device);

}  // namespace dove::agent
