#include "agent/tasks/environment.h"

#include <gtest/gtest.h>

#include "agent/tasks/output_path.h"
#include "agent/tasks/rendezvous.h"

namespace dove::agent {
namespace {

LaunchOrder gang() {
  LaunchOrder order;
  order.key = {JobId(7), 2};
  order.restart_count = 1;
  order.name = "train/llm";
  order.user = "ann";
  order.tasks = 3;
  order.nodes = {{"gpu-001", "10.0.0.1", 0, {0, 1}, 4, {0, 1}},
                 {"gpu-002", "10.0.0.2", 1, {2}, 2, {0}}};
  order.placement.node_rank = 1;
  order.placement.devices = {{3, kWholeDevice_milli}};
  TaskGrant task;
  task.rank = 2;
  task.devices = order.placement.devices;
  order.placement.tasks = {task};
  return order;
}

AgentFacts facts() {
  AgentFacts facts;
  facts.node = "gpu-002";
  facts.url = "http://127.0.0.1:1";
  facts.bin_directory = "/bin-of-dove";
  facts.shared_directory = "/shared";
  return facts;
}

TEST(Environment, GivesEachTaskItsRendezvous) {
  const LaunchOrder order = gang();
  const Environment e = task_environment(facts(), order, order.placement.tasks[0], "/attempt");
  EXPECT_EQ(e.at("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(e.at("MASTER_PORT"), std::to_string(master_port(order.key.job, order.key.attempt)));
  EXPECT_EQ(e.at("WORLD_SIZE"), "3");
  EXPECT_EQ(e.at("RANK"), "2");
  EXPECT_EQ(e.at("LOCAL_RANK"), "0");
  EXPECT_EQ(e.at("NODE_RANK"), "1");
  EXPECT_EQ(e.at("PET_NNODES"), "2");
  EXPECT_EQ(e.at("DOVE_RESTART_COUNT"), "1");
  EXPECT_EQ(e.at("DOVE_CHECKPOINT_DIR"), "/shared/checkpoints/7");
  AgentFacts known = facts();
  known.cluster_id = "5f0c";
  EXPECT_EQ(checkpoints_of(known, JobId(7)), "/shared/checkpoints/5f0c-7");
  EXPECT_EQ(e.at("DOVE_CHECKPOINT_LATEST"), "/shared/checkpoints/7/latest");
  EXPECT_EQ(e.count("DOVE_CHECKPOINT_STAGE"), 0u);
  EXPECT_EQ(e.count("PYTHONPATH"), 0u);
  EXPECT_NE(e.at("TF_CONFIG").find("\"index\":2"), std::string::npos);
  EXPECT_NE(e.at("TF_CONFIG").find("10.0.0.2:"), std::string::npos);
  EXPECT_EQ(e.at("CUDA_VISIBLE_DEVICES"), "3");
}

TEST(Environment, CommandsMayShowTheJobsTokenWhereTheAgentMay) {
  Environment e;
  name_controller("http://127.0.0.1:1", e);
  EXPECT_EQ(e, (Environment{{"DOVE_URL", "http://127.0.0.1:1"}}));
  name_controller("https://head:1", e);
  EXPECT_EQ(e, (Environment{{"DOVE_URL", "https://head:1"}}));
  name_controller("http://100.112.0.1:1", e);  // the way out of a network of a gang
  EXPECT_EQ(e, (Environment{{"DOVE_URL", "http://100.112.0.1:1"}, {"DOVE_INSECURE", "1"}}));
}

TEST(Environment, TellsWhereProgressGoesAndThePackageIs) {
  const LaunchOrder order = gang();
  AgentFacts with = facts();
  with.python_directory = "/data/python";
  with.stage_directory = "/nvme";
  with.progress_directory = "/data/progress";
  LaunchOrder own = order;
  own.exec.environment["PYTHONPATH"] = "/mine";
  const TaskGrant& task = order.placement.tasks[0];
  EXPECT_EQ(task_environment(with, order, task, "/a").at("PYTHONPATH"), "/data/python");
  const Environment e = task_environment(with, own, task, "/a");
  EXPECT_EQ(e.at("PYTHONPATH"), "/mine:/data/python");
  EXPECT_EQ(e.at("DOVE_CHECKPOINT_STAGE"), "/nvme/" + order.key.text());
  // Nobody else can guess the file's name.
  const std::string& path = e.at("DOVE_PROGRESS");
  EXPECT_TRUE(path.starts_with("/data/progress/" + order.key.text() + ".")) << path;
  EXPECT_TRUE(path.ends_with(".2")) << path;
  LaunchOrder other = order;
  other.job_token = "another";
  EXPECT_NE(task_environment(with, other, task, "/a").at("DOVE_PROGRESS"), path);
}

// A program that is started plainly would wait for ranks that nobody starts.
TEST(Environment, ABatchScriptIsNoRank) {
  LaunchOrder order = gang();
  order.launch = LaunchMode::kBatch;
  const Environment e = attempt_environment(facts(), order, "/attempt");
  const Environment task = task_environment(facts(), order, order.placement.tasks[0], "/attempt");
  for (const auto& [name, value] : rank_variables(rendezvous_of(order), RankPlace{})) {
    EXPECT_FALSE(e.contains(name)) << name;
    EXPECT_TRUE(task.contains(name)) << name;
  }
  EXPECT_FALSE(e.contains("DOVE_RANK"));
  EXPECT_EQ(e.at("SLURM_PROCID"), "0");
  EXPECT_EQ(e.at("SLURM_LOCALID"), "0");
  for (const auto& [name, value] : e) EXPECT_FALSE(name.starts_with("PMI")) << name;
}

TEST(Environment, ABatchScriptHasTheNumbersThatWereAskedFor) {
  LaunchOrder order = gang();
  order.launch = LaunchMode::kBatch;
  order.queue = "fast";
  order.project = "proj";
  order.placement.memory_bytes = 2LL << 30;
  Environment e = attempt_environment(facts(), order, "/attempt");
  EXPECT_EQ(e.at("SLURM_NTASKS"), "3");
  EXPECT_FALSE(e.contains("SLURM_CPUS_PER_TASK"));
  EXPECT_EQ(e.at("SLURM_JOB_QOS"), "fast");
  EXPECT_EQ(e.at("SLURM_JOB_ACCOUNT"), "proj");
  EXPECT_EQ(e.at("SLURM_MEM_PER_NODE"), "2048");
  EXPECT_EQ(e.at("SLURM_TOPOLOGY_ADDR"), "gpu-002");
  order.tasks = 2;  // one for each node, and nobody asked
  order.exec.environment["SLURM_MEM_PER_CPU"] = "1024";
  e = attempt_environment(facts(), order, "/attempt");
  EXPECT_FALSE(e.contains("SLURM_NTASKS"));
  EXPECT_FALSE(e.contains("SLURM_MEM_PER_NODE"));
}

TEST(Environment, AStepFillsGapsOnly) {
  LaunchOrder order = gang();
  order.launch = LaunchMode::kBatch;
  StepOrder step;
  step.step = 1;
  step.tasks = {TaskGrant{}};
  step.tasks_total = 1;
  step.nodes = {"gpu-002"};
  step.tasks_per_node = {1};
  step.environment = {{"MASTER_ADDR", "my.host"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}};
  const Environment e = step_environment(facts(), order, step, step.tasks[0], "/attempt");
  EXPECT_EQ(e.at("MASTER_ADDR"), "my.host");
  EXPECT_EQ(e.at("WORLD_SIZE"), "2");
  EXPECT_EQ(e.at("RANK"), "1");
  EXPECT_EQ(e.at("LOCAL_RANK"), "0");
  // Its ranks meet where they are, not where the job begins.
  EXPECT_EQ(e.at("PET_MASTER_ADDR"), "10.0.0.2");
  EXPECT_EQ(e.at("PET_NNODES"), "1");
  EXPECT_NE(e.at("MASTER_PORT"), std::to_string(master_port(order.key.job, order.key.attempt)));
  const std::string& given = e.at("DOVE_GIVEN");
  EXPECT_NE(given.find("LOCAL_RANK=0"), std::string::npos) << given;
  EXPECT_EQ(given.find(" RANK="), std::string::npos) << given;
}

TEST(Environment, SpeaksSlurm) {
  const LaunchOrder order = gang();
  const Environment e = attempt_environment(facts(), order, "/attempt");
  EXPECT_EQ(e.at("SLURM_JOB_NODELIST"), "gpu-[001-002]");
  EXPECT_EQ(e.at("SLURM_TASKS_PER_NODE"), "2,1");
  EXPECT_EQ(e.at("SLURM_JOB_ID"), "7");
  EXPECT_EQ(e.at("SLURM_GTIDS"), "0");
}

TEST(Environment, AStepSpeaksSlurm) {
  const LaunchOrder order = gang();
  StepOrder step;
  step.tasks = {TaskGrant{}, TaskGrant{}};
  step.tasks[0].rank = 4;
  step.tasks[1].rank = 5;
  step.tasks_total = 6;
  step.nodes = {"gpu-001", "gpu-002"};
  step.tasks_per_node = {4, 2};
  const Environment e = step_environment(facts(), order, step, step.tasks[1], "/attempt");
  EXPECT_EQ(e.at("SLURM_GTIDS"), "4,5");
  EXPECT_EQ(e.at("SLURM_STEP_TASKS_PER_NODE"), "4,2");
  EXPECT_EQ(e.at("SLURM_TASKS_PER_NODE"), "4,2");
  EXPECT_EQ(e.at("SLURM_NTASKS"), "6");
}

TEST(Environment, AJobCannotHideWhoItIs) {
  LaunchOrder order = gang();
  order.exec.environment = {{"DOVE_JOB_ID", "1"}, {"RANK", "9"}, {"MINE", "yes"}};
  const Environment e = task_environment(facts(), order, order.placement.tasks[0], "/attempt");
  EXPECT_EQ(e.at("DOVE_JOB_ID"), "7");
  EXPECT_EQ(e.at("RANK"), "2");
  EXPECT_EQ(e.at("MINE"), "yes");
}

TEST(Environment, OurSrunComesBeforeAnotherOne) {
  LaunchOrder order = gang();
  order.exec.environment = {{"PATH", "/opt/slurm/bin:/bin"}};
  EXPECT_EQ(attempt_environment(facts(), order, "/a").at("PATH"),
            "/bin-of-dove:/opt/slurm/bin:/bin");
}

TEST(Environment, ATaskWithoutDevicesSeesNone) {
  LaunchOrder order = gang();
  order.placement.devices.clear();
  order.placement.tasks[0].devices.clear();
  const Environment e = task_environment(facts(), order, order.placement.tasks[0], "/attempt");
  EXPECT_EQ(e.at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_EQ(e.at("NVIDIA_VISIBLE_DEVICES"), "void");
}

TEST(Environment, NodesOnOneMachineKeepOpenMpiOnLoopback) {
  LaunchOrder order = gang();
  EXPECT_EQ(attempt_environment(facts(), order, "/a").count("OMPI_MCA_btl"), 0u);
  for (PeerNode& node : order.nodes) node.address = "127.0.0.1";
  EXPECT_EQ(attempt_environment(facts(), order, "/a").at("OMPI_MCA_btl"), "self,tcp");
}

TEST(TaskEnvironment, SlicesAreNamedByDeviceAndPlace) {
  LaunchOrder order = gang();
  Inventory inventory;
  inventory.devices.resize(2);
  inventory.devices[1].uuid = "GPU-emulated-1";
  AgentFacts facts;
  facts.inventory = &inventory;
  TaskGrant task;
  task.devices = {{1, 125, {2, 1, 1}}, {1, 500, {4, 4, 3}}};
  const Environment e = task_environment(facts, order, task, "/attempt");
  EXPECT_EQ(e.at("CUDA_VISIBLE_DEVICES"), "MIG-GPU-emulated-1/2/1,MIG-GPU-emulated-1/4/4");
  EXPECT_EQ(e.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(e.at("NVIDIA_VISIBLE_DEVICES"), e.at("CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(e.at("DOVE_DEVICES"), "1");
  EXPECT_EQ(e.at("DOVE_SLICES"), "1:2:1:1,1:4:4:3");
  EXPECT_FALSE(e.contains("DOVE_DEVICE_SHARE_MILLI"));
}

// Drivers number only the devices that a task's rules leave.
TEST(TaskEnvironment, DevicesAreNamedAsTheirDriverNamesThem) {
  LaunchOrder order = gang();
  Inventory inventory;
  inventory.devices.resize(3);
  inventory.devices[1].uuid = "GPU-5fd4f087-86f3-7a43-b711-4771313afc50";
  inventory.devices[2].uuid = "GPU-7d1c8e3b9a5f0246";
  inventory.devices[2].vendor = "amd";
  AgentFacts facts;
  facts.inventory = &inventory;
  TaskGrant task;
  task.devices = {{1, 1000, {}}};
  const Environment nvidia = task_environment(facts, order, task, "/attempt");
  EXPECT_EQ(nvidia.at("CUDA_VISIBLE_DEVICES"), inventory.devices[1].uuid);
  EXPECT_EQ(nvidia.at("DOVE_DEVICES"), "1");
  task.devices = {{2, 1000, {}}};
  const Environment amd = task_environment(facts, order, task, "/attempt");
  EXPECT_EQ(amd.at("ROCR_VISIBLE_DEVICES"), inventory.devices[2].uuid);
  EXPECT_FALSE(amd.contains("HIP_VISIBLE_DEVICES"));
}

TEST(OutputPath, FillsThePatternsOfSbatch) {
  LaunchOrder order = gang();
  order.array = JobId(5);
  order.array_index = 4;
  const auto path = [&](const char* pattern) {
    return output_path(pattern, order, "gpu-002", "/home/ann", 2, -1);
  };
  EXPECT_EQ(path("out-%j.%4t.log"), "/home/ann/out-7.0002.log");
  EXPECT_EQ(path("/tmp/%A_%a-%N-%u"), "/tmp/5_4-gpu-002-ann");
  EXPECT_EQ(path("%x"), "/home/ann/train_llm");
  EXPECT_EQ(path("100%%"), "/home/ann/100%");
  EXPECT_EQ(path("%q"), "/home/ann/%q");
  EXPECT_EQ(path("end%"), "/home/ann/end%");
  EXPECT_EQ(path(""), "");
}

}  // namespace
}  // namespace dove::agent
