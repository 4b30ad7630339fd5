#include "slurm/slurm_json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

#include "slurm/recorded_for_test.h"

namespace dove::slurm {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

std::vector<NodeSeen> recorded_nodes() { return read_nodes(kRecordedNodes).value(); }
std::vector<JobSeen> recorded_jobs() { return read_jobs(kRecordedJobs, recorded_nodes()).value(); }

TEST(SlurmJson, Nodes) {
  const std::vector<NodeSeen> nodes = recorded_nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "n0");
  EXPECT_EQ(nodes[0].state, NodeSeen::State::kUp);
  EXPECT_EQ(nodes[0].device_types,
            (std::vector<std::string>{"h200_0", "h200_1", "h200_2", "h200_3"}));
  EXPECT_EQ(nodes[0].partitions, std::vector<std::string>{"main"});
  EXPECT_EQ(nodes[0].cores_per_socket, 8);
  EXPECT_EQ(nodes[1].state, NodeSeen::State::kDrained);
  EXPECT_EQ(nodes[1].reason, "bad fan");
}

TEST(SlurmJson, JobsWithWhatTheyHoldOnEachNode) {
  const std::vector<JobSeen> jobs = recorded_jobs();
  ASSERT_EQ(jobs.size(), 6u);
  const JobSeen& train = jobs[0];
  EXPECT_EQ(train.id, 320);
  EXPECT_EQ(train.name, "train");
  EXPECT_EQ(train.user, "root");
  EXPECT_EQ(train.partition, "main");
  EXPECT_EQ(train.phase, JobPhase::kHolding);
  EXPECT_EQ(train.started_s, 1795453177);
  EXPECT_EQ(train.ends_s, 1795456777);
  EXPECT_EQ(train.allocations,
            (std::vector<NodeAllocation>{{"n0", {0, 1}, {0}, 1024 * kMebibyte}}));
  EXPECT_TRUE(train.may_requeue);
  EXPECT_EQ(train.handle, "320");
  EXPECT_EQ(train.restarts, 0);
  const JobSeen& two = jobs[1];
  EXPECT_EQ(two.ends_s, 0) << "it has no time limit";
  ASSERT_EQ(two.allocations.size(), 2u);
  EXPECT_EQ(two.allocations[0].node, "n0");
  EXPECT_EQ(two.allocations[0].devices, std::vector<int>{1});
  EXPECT_EQ(two.allocations[1].node, "n1");
  EXPECT_EQ(two.allocations[1].devices, std::vector<int>{0});
}

TEST(SlurmJson, HowOftenAJobHasBegunAgain) {
  std::string text = kRecordedJobs;
  constexpr std::string_view kNever = "\"restart_cnt\": 0";
  text.replace(text.find(kNever), kNever.size(), "\"restart_cnt\": 3");
  EXPECT_EQ(read_jobs(text, recorded_nodes()).value()[0].restarts, 3);
}

TEST(SlurmJson, JobsThatAreOverEndOrWait) {
  const std::vector<JobSeen> jobs = recorded_jobs();
  EXPECT_EQ(jobs[2].phase, JobPhase::kEnded);
  EXPECT_EQ(jobs[2].allocations, (std::vector<NodeAllocation>{{"n1", {}, {}, 0}}));
  EXPECT_EQ(jobs[3].phase, JobPhase::kEnding);
  EXPECT_TRUE(jobs[3].wants_devices);
  EXPECT_FALSE(jobs[3].devices_known);
  EXPECT_EQ(jobs[3].allocations[0].node, "n1");
  EXPECT_EQ(jobs[5].phase, JobPhase::kWaiting);
  EXPECT_TRUE(jobs[5].allocations.empty());
}

// A flag of former versions: slurmdbd has yet to hear of it.
TEST(SlurmJson, AJobWithNewsForTheAccountingHoldsWhatItHas) {
  std::string text = kRecordedJobs;
  constexpr std::string_view kRuns = "\"job_state\": \"RUNNING\"";
  text.replace(text.find(kRuns), kRuns.size(), R"("job_state": ["RUNNING", "UPDATE_DB"])");
  const std::vector<JobSeen> jobs = read_jobs(text, recorded_nodes()).value();
  EXPECT_EQ(jobs[0].phase, JobPhase::kHolding);
  EXPECT_EQ(jobs[0].allocations, recorded_jobs()[0].allocations);
}

TEST(SlurmJson, AJobThatLacksRoomWithWhatItAsksFor) {
  const JobSeen waits = recorded_jobs()[5];
  EXPECT_EQ(waits.reason, kLacksRoom);
  EXPECT_EQ(waits.partition, "main");
  EXPECT_EQ(waits.user, "root");
  EXPECT_EQ(waits.priority, 4294901743);
  ASSERT_TRUE(waits.asks);
  EXPECT_FALSE(waits.gate);
  EXPECT_EQ(waits.asks->nodes, 2);
  EXPECT_EQ(waits.asks->gpus_per_node, 4);
  EXPECT_EQ(waits.asks->memory_per_node, 1024 * kMebibyte);
  const auto behind = read_jobs(R"({"jobs": [{"job_id": 1, "job_state": "PENDING",
      "partition": "main", "state_reason": "Priority"}]})",
                                {});
  ASSERT_TRUE(behind.ok());
  EXPECT_EQ(behind->at(0).reason, "Priority");
  EXPECT_FALSE(behind->at(0).asks) << "thousands may be behind it";
}

TEST(SlurmJson, APlaceholderWithItsMark) {
  const JobSeen placeholder = recorded_jobs()[4];
  EXPECT_EQ(placeholder.name, "dove-17.2@dove");
  EXPECT_EQ(placeholder.mark, "dovetail");
  EXPECT_EQ(placeholder.user, "nobody");
  ASSERT_EQ(placeholder.allocations.size(), 1u);
  EXPECT_EQ(placeholder.allocations[0].devices, std::vector<int>{2});
  EXPECT_EQ(placeholder.allocations[0].memory_bytes, 4096 * kMebibyte);
}

TEST(SlurmJson, ANiceBelowZeroIsWrittenUnsigned) {
  for (const auto& [written, meant] :
       std::map<std::string, std::int64_t>{{"4294967291", -5}, {"-5", -5}, {"7", 7}, {"null", 0}}) {
    const auto jobs = read_jobs(
        R"({"jobs": [{"job_id": 1, "job_state": "PENDING",
        "admin_comment": "dovetail-gate", "nice": )" +
            written + "}]}",
        {});
    ASSERT_TRUE(jobs.ok()) << jobs.error().message;
    ASSERT_TRUE(jobs->at(0).gate.has_value());
    EXPECT_EQ(jobs->at(0).gate->nice, meant) << written;
  }
}

// As 22.05 says them: CoreSpecCount=1 of four cores with two threads; CPUs=4 of the same.
TEST(SlurmJson, CpusOfACoreAndCoresThatAreSetAside) {
  const auto read = [](const std::string& more) {
    return read_nodes(R"({"errors": [], "nodes": [{"name": "n0", "state": "idle",
        "state_flags": [], "cores": 4, "sockets": 1, "threads": 2, "gres": "")" +
                      more + "}]}")
        .value()
        .front();
  };
  const NodeSeen aside = read(R"(, "cpus": 8, "tres": "cpu=6,mem=16000M,billing=6")");
  EXPECT_EQ((std::array{aside.cpus_per_core, aside.cores_set_aside, aside.cores_for_jobs()}),
            (std::array{2, 1, 3}));
  const NodeSeen plain = read(R"(, "cpus": 4, "tres": "cpu=4,mem=16000M,billing=4")");
  EXPECT_EQ((std::array{plain.cpus_per_core, plain.cores_set_aside}), (std::array{1, 0}));
  const NodeSeen silent = read(R"(, "tres": "mem=16000M")");
  EXPECT_EQ((std::array{silent.cpus_per_core, silent.cores_set_aside}), (std::array{2, 0}));
}

// Sockets=2 CoresPerSocket=4 ThreadsPerCore=2, CPU_IDs=0-3,8-13 in scontrol's words.
TEST(SlurmJson, CoresAreCountedThroughTheSockets) {
  const auto nodes = read_nodes(R"({"errors": [], "nodes": [{"name": "n0", "state": "mixed",
      "state_flags": [], "cores": 4, "threads": 2, "gres": ""}]})");
  ASSERT_TRUE(nodes.ok());
  EXPECT_EQ(nodes->front().cpus_per_core, 2);
  const auto jobs = read_jobs(R"({"errors": [], "jobs": [{"job_id": 1, "job_state": "RUNNING",
      "job_resources": {"nodes": "n0", "allocated_nodes": [{"nodename": "n0", "memory_allocated": 100,
        "sockets": {"0": {"cores": {"0": "allocated", "1": "allocated"}},
                    "1": {"cores": {"0": "allocated", "1": "allocated", "2": "allocated"}}}}]}}]})",
                              *nodes);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(jobs->front().allocations[0].cores, (std::vector<int>{0, 1, 4, 5, 6}));
}

TEST(SlurmJson, TheFeaturesOfANodeAreThoseThatAreActive) {
  const auto features = [](const std::string& said) {
    const auto nodes =
        read_nodes(R"({"nodes": [{"name": "n", "cores": 1, "state": "idle", )" + said + "}]}");
    return nodes.ok() ? nodes->front().features : std::vector<std::string>{nodes.error().message};
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(features(R"("features": "nvlink,ib,old", "active_features": "nvlink,ib")"),
            (Names{"ib", "nvlink"}));
  EXPECT_EQ(features(R"("features": "", "active_features": "")"), Names{});
  EXPECT_EQ(features(R"("features": ["b", "a"], "active_features": ["a"])"), Names{"a"});
  EXPECT_EQ(features(R"("features": "a")"), Names{"a"});
}

TEST(SlurmJson, StatesOfNodes) {
  const auto state = [](const char* word, const char* flag) {
    return read_nodes(std::string(R"({"nodes": [{"name": "n", "cores": 1, "state": ")") + word +
                      R"(", "state_flags": [)" + flag + "]}]}")
        .value()[0]
        .state;
  };
  EXPECT_EQ(state("idle", ""), NodeSeen::State::kUp);
  EXPECT_EQ(state("allocated", "\"COMPLETING\""), NodeSeen::State::kUp);
  EXPECT_EQ(state("idle", "\"NOT_RESPONDING\""), NodeSeen::State::kDown);
  EXPECT_EQ(state("down", "\"DRAIN\""), NodeSeen::State::kDown);
  EXPECT_EQ(state("unknown", ""), NodeSeen::State::kDown);
  EXPECT_EQ(state("mixed", "\"DRAIN\""), NodeSeen::State::kDrained);
  EXPECT_EQ(state("mixed", "\"DRAIN\", \"MAINTENANCE\""), NodeSeen::State::kDrained);
  EXPECT_EQ(state("mixed", "\"MAINTENANCE\", \"RESERVED\""), NodeSeen::State::kUp)
      << "its reservation says who may have what";
  const auto nodes = read_nodes(R"({"nodes": [{"name": "a", "cores": 1, "state": "unknown"},
      {"name": "b", "cores": 1, "state": "down", "state_flags": ["NOT_RESPONDING"]}]})");
  EXPECT_TRUE(nodes->at(0).settles);
  EXPECT_FALSE(nodes->at(1).settles);
}

TEST(SlurmJson, ANodeThatHasYetToRegisterIsKnownByItsStart) {
  EXPECT_TRUE(recorded_nodes()[0].registered);
  const auto nodes = read_nodes(R"({"nodes": [
      {"name": "a", "cores": 1, "state": "mixed", "slurmd_start_time": 0},
      {"name": "b", "cores": 1, "state": "mixed"}]})");
  EXPECT_FALSE(nodes->at(0).registered);
  EXPECT_TRUE(nodes->at(1).registered) << "a Slurm that does not say it is not waited for";
}

// A job that is passed over would be taken to have ended.
TEST(SlurmJson, WhatIsNotUnderstoodIsAnErrorAndNoShorterList) {
  const std::vector<NodeSeen> nodes = recorded_nodes();
  for (const char* bad :
       {"", "[]", "{}", R"({"jobs": 7})", R"({"errors": [{"error": "no"}], "jobs": []})",
        R"({"jobs": [7]})", R"({"jobs": [{"job_state": "RUNNING"}]})",
        R"({"jobs": [{"job_id": 1}]})", R"({"jobs": [{"job_id": 1, "job_state": "DANCING"}]})",
        R"({"jobs": [{"job_id": 1, "job_state": "RUNNING"}]})",
        R"({"jobs": [{"job_id": 1, "job_state": "RUNNING", "job_resources":
             {"allocated_nodes": [{"nodename": "elsewhere"}]}}]})",
        R"({"jobs": [{"job_id": 1, "job_state": "RUNNING", "job_resources":
             {"allocated_nodes": [{"nodename": "n0", "sockets": {"0": {"cores": {"99": ""}}}}]}}]})"}) {
    EXPECT_FALSE(read_jobs(bad, nodes).ok()) << bad;
  }
  for (const char* bad : {"", "{}", R"({"nodes": [{}]})", R"({"nodes": [{"name": "n"}]})",
                          R"({"nodes": [{"name": "n", "state": "idle"}]})"}) {
    EXPECT_FALSE(read_nodes(bad).ok()) << bad;
  }
}

TEST(SlurmJson, NamesOfAnyBytes) {
  const auto jobs = read_jobs(
      "{\"jobs\": [{\"job_id\": 1, \"job_state\": \"PENDING\", \"name\": "
      "\"a\xff\xc3\u00e9\"}]}",
      {});
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(jobs->front().name, "a??\u00e9");
}

TEST(SlurmJson, NumbersAndStatesAsNewerVersionsWriteThem) {
  const auto jobs = read_jobs(R"({"jobs": [{"job_id": 1, "job_state": ["CANCELLED"],
      "priority": {"set": true, "infinite": false, "number": 7},
      "time_limit": {"set": true, "infinite": true, "number": 0}, "end_time": {"set": true,
      "infinite": false, "number": 9}}]})",
                              {});
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(jobs->front().phase, JobPhase::kEnded);
  EXPECT_EQ(jobs->front().priority, 7);
  EXPECT_EQ(jobs->front().ends_s, 0);
}

// As the data_parsers v0.0.41 to v0.0.43 write it, by their source: two sockets with four cores.
TEST(SlurmJson, WhatAJobHoldsAsNewerVersionsWriteIt) {
  const auto nodes = read_nodes(R"({"nodes": [{"name": "n0", "state": ["MIXED"], "cores": 4,
      "sockets": 2, "gres": "gpu:h200_0:1,gpu:h200_1:1", "partitions": ["main"]}]})");
  ASSERT_TRUE(nodes.ok()) << nodes.error().message;
  const auto read = [&](const std::string& core) {
    return read_jobs(R"json({"jobs": [{"job_id": 7, "job_state": ["RUNNING"],
      "start_time": {"set": true, "infinite": false, "number": 100},
      "end_time": {"set": true, "infinite": false, "number": 400},
      "time_limit": {"set": true, "infinite": false, "number": 5},
      "tres_per_node": "gres/gpu:1", "gres_detail": ["gpu:h200_0:0(IDX:),gpu:h200_1:1(IDX:1)"],
      "job_resources": {"select_type": ["CORE", "MEMORY"], "cpus": 2, "nodes": {"count": 1,
        "list": "n0", "whole": false, "allocation": [{"index": 0, "name": "n0",
        "cpus": {"count": 2, "used": 0}, "memory": {"used": 0, "allocated": 100}, "sockets": [
          {"index": 0, "cores": [{"index": 0, "status": ["UNALLOCATED"]},
                                 {"index": 3, "status": ["ALLOCATED"]}]},
          {"index": 1, "cores": [{"index": )json" +
                         core + R"json(, "status": ["ALLOCATED", "IN_USE"]}]}]}]}}}]})json",
                     *nodes);
  };
  const auto jobs = read("1");
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(jobs->front().allocations,
            (std::vector<NodeAllocation>{{"n0", {3, 5}, {1}, 100 * kMebibyte}}));
  EXPECT_EQ(jobs->front().started_s, 100);
  EXPECT_EQ(jobs->front().ends_s, 400);
  EXPECT_FALSE(read("4").ok()) << "a socket has four";
  EXPECT_FALSE(read(R"("1")").ok());
}

// What the gate says of a job with these fields besides.
GateSeen at_the_gate(const std::string& more) {
  std::string job = R"("job_id": 1, "job_state": "PENDING", "admin_comment": "dovetail-gate")";
  for (const std::string field : {R"("memory_per_node": 100)", R"("cpus": 4)"}) {
    const bool is_said = more.find(field.substr(0, field.find(' '))) != std::string::npos;
    if (!is_said) job += ", " + field;
  }
  const auto jobs = read_jobs(R"({"jobs": [{)" + job + more + "}]}", {});
  EXPECT_TRUE(jobs.ok()) << jobs.error().message;
  return jobs.ok() ? *jobs->front().gate : GateSeen();
}

// sbatch -n 1 -c 4: Slurm 22.05 estimates 4 nodes of the waiting job.
TEST(SlurmJson, AJobHasNoMoreNodesThanTasks) {
  const GateSeen one = at_the_gate(R"(, "node_count": 4, "tasks": 1)");
  EXPECT_EQ(one.cannot, "");
  EXPECT_EQ(one.nodes, 1);
  EXPECT_EQ(one.cpus, 4);
  EXPECT_EQ(at_the_gate(R"(, "node_count": 2, "tasks": 4)").nodes, 2);
  EXPECT_EQ(at_the_gate(R"(, "node_count": 2)").nodes, 2);
}

// As 22.05 says it of the waiting job, and what it then gave: sbatch --gres=gpu:2 --cpus-per-gpu=3
// --mem-per-gpu=100, where DefMemPerCPU is 100.
TEST(SlurmJson, CpusAndMemoryByGpu) {
  const GateSeen both = at_the_gate(R"(, "tres_per_node": "gres:gpu:2", "memory_per_cpu": 100,
      "cpus_per_tres": "gres:gpu:3", "memory_per_tres": "gres:gpu:100", "memory_per_node": null)");
  EXPECT_EQ(both.cannot, "");
  EXPECT_EQ(both.cpus, 6);
  EXPECT_EQ(both.memory_per_node, std::int64_t{200} << 20);
  const GateSeen by_cpu = at_the_gate(R"(, "tres_per_job": "gres:gpu:3", "memory_per_cpu": 100,
      "cpus_per_tres": "gres:gpu:2", "memory_per_node": null)");
  EXPECT_EQ(by_cpu.cpus, 6);
  EXPECT_EQ(by_cpu.memory_per_node, std::int64_t{600} << 20);
  const GateSeen tasks = at_the_gate(R"(, "tres_per_node": "gres:gpu:2", "cpus": 4, "tasks": 4,
      "cpus_per_tres": "gres:gpu:1")");
  EXPECT_EQ(tasks.cpus, 4) << "a CPU for each task is more";
  const GateSeen nodes = at_the_gate(R"(, "node_count": 2, "tasks": 2, "cpus": 2,
      "tres_per_node": "gres:gpu:2", "cpus_per_tres": "gres:gpu:2")");
  EXPECT_EQ(nodes.cpus, 8);
}

// As 24.11 says it of sbatch --gres=gpu:2 --cpus-per-gpu=3 --mem-per-gpu=100, which it gives 200
// MiB.
TEST(SlurmJson, MemoryByGpuThatStandsAtTheNodeToo) {
  const GateSeen both = at_the_gate(R"(, "tres_per_node": "gres/gpu:2", "cpus": 6,
      "cpus_per_tres": "gres/gpu:3", "memory_per_tres": "gres/gpu:100",
      "memory_per_node": {"set": true, "infinite": false, "number": 100},
      "memory_per_cpu": {"set": false, "infinite": false, "number": 0})");
  EXPECT_EQ(both.cannot, "");
  EXPECT_EQ(both.cpus, 6);
  EXPECT_EQ(both.memory_per_node, std::int64_t{200} << 20);
}

TEST(SlurmJson, AJobAtTheGateAsNewerVersionsWriteIt) {
  const GateSeen job = at_the_gate(R"(, "shared": ["none"], "tres_per_task": "cpu=2,gres/gpu:1",
      "tasks": {"set": true, "infinite": false, "number": 2},
      "exit_code": {"status": ["ERROR"], "return_code": {"set": true, "infinite": false, "number": 3},
        "signal": {"id": {"set": false, "infinite": false, "number": 0}, "name": ""}})");
  EXPECT_EQ(job.cannot, "");
  EXPECT_TRUE(job.is_exclusive);
  EXPECT_EQ(job.gpus_per_node, 2);
  EXPECT_EQ(job.wait_status, 3 << 8);
  EXPECT_EQ(at_the_gate(R"(, "tres_per_task": "cpu:2")").cannot, "") << "23.11 says -c so";
  EXPECT_FALSE(at_the_gate(R"(, "shared": ["oversubscribe"])").is_exclusive);
  EXPECT_EQ(at_the_gate(R"(, "shared": ["oversubscribe"])").cannot, "");
  EXPECT_NE(at_the_gate(R"(, "shared": ["user"])").cannot, "");
  const GateSeen killed = at_the_gate(R"(, "exit_code": {"status": ["SIGNALED"],
      "return_code": {"set": true, "infinite": false, "number": 0},
      "signal": {"id": {"set": true, "infinite": false, "number": 9}, "name": "KILL"}})");
  EXPECT_EQ(killed.wait_status, 9);
}

TEST(SlurmJson, AJobWithNodesOfItsOwn) {
  EXPECT_FALSE(at_the_gate("").is_exclusive);
  const GateSeen one = at_the_gate(R"(, "shared": "none", "memory_per_cpu": null)");
  EXPECT_TRUE(one.is_exclusive);
  EXPECT_EQ(one.cannot, "") << "it needs no --mem: all of it is its own";
  EXPECT_NE(at_the_gate(R"(, "shared": "user")").cannot, "");
}

TEST(SlurmJson, AJobAtTheGateMayNameAReservation) {
  EXPECT_EQ(at_the_gate("").reservation, "");
  const GateSeen one = at_the_gate(R"(, "resv_name": "course")");
  EXPECT_EQ(one.reservation, "course");
  EXPECT_EQ(one.cannot, "");
}

// sbatch -N2 --gpus=4: which node gives how many is Slurm's choice.
TEST(SlurmJson, GpusOfTheJobAreDividedAmongItsNodes) {
  const GateSeen one = at_the_gate(R"(, "tres_per_job": "gres:gpu:3")");
  EXPECT_EQ(one.gpus_per_node, 3);
  EXPECT_FALSE(one.divides_gpus);
  EXPECT_EQ(at_the_gate(R"(, "tres_per_job": "gres:gpu:0")").cannot, "");
  const GateSeen two = at_the_gate(R"(, "tres_per_job": "gres:gpu:4", "tasks": 2, "cpus": 2,
      "node_count": 2, "max_nodes": 2)");
  EXPECT_EQ(two.cannot, "");
  EXPECT_EQ(two.gpus_per_node, 2);
  EXPECT_TRUE(two.divides_gpus);
}

TEST(SlurmJson, LicencesAtTheGate) {
  const GateSeen one = at_the_gate(R"(, "licenses": "matlab:2,fluent@a;fluent@b:3,idl:0")");
  EXPECT_EQ(one.cannot, "");
  EXPECT_EQ(one.licences, (std::map<std::string, std::int64_t>{{"fluent", 4}, {"matlab", 2}}));
}

// sbatch -n 20 on nodes of 8 cores: Slurm 22.05 estimates 3 nodes.
TEST(SlurmJson, AJobWithoutANumberOfNodesHasAsManyTasksOnEach) {
  const GateSeen one = at_the_gate(R"(, "node_count": 3, "tasks": 20, "cpus": 20)");
  EXPECT_EQ(one.cannot, "");
  EXPECT_EQ(one.nodes, 4);
  EXPECT_TRUE(one.may_have_more_nodes);
  EXPECT_TRUE(at_the_gate(R"(, "tasks": 4, "cpus": 4)").may_have_more_nodes);
  EXPECT_FALSE(at_the_gate(R"(, "tasks": 4, "cpus": 4, "max_nodes": 1)").may_have_more_nodes);
  EXPECT_FALSE(at_the_gate("").may_have_more_nodes);
}

// sbatch -N2 -n5: 22.05 gives 3 tasks and 2, and with MinCPUsNode=3 three CPUs on each node.
TEST(SlurmJson, EachNodeGivesWhatTheOneWithTheMostTasksNeeds) {
  const std::tuple<const char*, int, int> kUneven[] = {
      {R"(, "node_count": 2, "max_nodes": 2, "tasks": 5, "cpus": 5)", 2, 6},
      {R"(, "node_count": 2, "max_nodes": 2, "tasks": 5, "cpus": 10)", 2, 12},
      {R"(, "node_count": 3, "max_nodes": 3, "tasks": 20, "cpus": 20)", 3, 21},
      {R"(, "node_count": 2, "tasks": 13, "cpus": 13)", 2, 14},  // evenly it would be on 13
      {R"(, "node_count": 2, "required_nodes": "n[1-2]", "tasks": 3, "cpus": 3)", 2, 4},
      {R"(, "node_count": 3, "tasks": 20, "cpus": 20, "tres_per_node": "gres:gpu:8")", 3, 21},
      {R"(, "node_count": 3, "tasks": 20, "cpus": 20, "shared": "none")", 3, 21},
      {R"(, "node_count": 2, "max_nodes": 2, "tasks": 3, "cpus": 2)", 2, 2},  // --overcommit
      // It has a place, and 22.05 says both.
      {R"(, "node_count": 2, "max_nodes": 2, "tasks": 5, "cpus": 6, "minimum_cpus_per_node": 3)", 2,
       6},
      {R"(, "node_count": 3, "max_nodes": 2, "tasks": 3, "cpus": 6, "minimum_cpus_per_node": 2)", 2,
       8},
      {R"(, "node_count": 2, "max_nodes": 2, "tasks": 3, "cpus": 12, "minimum_cpus_per_node": 6)",
       2, 12}};
  for (const auto& [more, nodes, cpus] : kUneven) {
    const GateSeen one = at_the_gate(more);
    EXPECT_EQ(one.cannot, "") << more;
    EXPECT_EQ(one.nodes, nodes) << more;
    EXPECT_EQ(one.cpus, cpus) << more;
  }
  // Placed on another number of nodes than Slurm estimates by now.
  EXPECT_EQ(cpus_on_each(at_the_gate(R"(, "node_count": 3, "tasks": 13, "cpus": 13)"), 2), 7);
  const GateSeen by_cpu = at_the_gate(R"(, "node_count": 2, "max_nodes": 2, "tasks": 5, "cpus": 5,
      "memory_per_node": null, "memory_per_cpu": 100)");
  EXPECT_EQ(by_cpu.memory_per_node, std::int64_t{300} << 20);
}

// sbatch -n 10 --ntasks-per-node=4: 22.05 estimates 2 nodes.
TEST(SlurmJson, ANodeHasNoMoreTasksThanItMay) {
  const GateSeen one = at_the_gate(R"(, "node_count": 2, "tasks": 10, "cpus": 10,
      "tasks_per_node": 4)");
  EXPECT_EQ(one.nodes, 5);
  EXPECT_EQ(one.cannot, "");
  EXPECT_NE(at_the_gate(R"(, "node_count": 2, "max_nodes": 2, "tasks": 10, "cpus": 10,
      "tasks_per_node": 4)")
                .cannot,
            "");
}

// sbatch --mincpus: 22.05 leaves it out of `cpus`.
TEST(SlurmJson, AJobHasNoFewerCpusThanItsNodesMustHave) {
  EXPECT_EQ(at_the_gate(R"(, "tasks": 2, "cpus": 2, "minimum_cpus_per_node": 3)").cpus, 3);
  EXPECT_EQ(at_the_gate(R"(, "tasks": 4, "cpus": 8, "minimum_cpus_per_node": 2)").cpus, 8);
  const GateSeen more = at_the_gate(R"(, "node_count": 3, "tasks": 20, "cpus": 20,
      "minimum_cpus_per_node": 8)");
  EXPECT_EQ(more.cpus, 32);
  EXPECT_EQ(more.nodes, 4);
}

TEST(SlurmJson, WhatTheGateCannotPlace) {
  EXPECT_EQ(at_the_gate("").cannot, "");
  EXPECT_EQ(at_the_gate(R"(, "tres_per_task": "gres:gpu:2", "tasks": 4)").gpus_per_node, 8);
  const std::pair<const char*, const char*> kBad[] = {
      {R"(, "cpus_per_tres": "gres:nic:4")", "CPUs by GPU"},
      {R"(, "memory_per_tres": "gres:gpu:all")", "memory by GPU"},
      {R"(, "threads_per_core": 1)", "threads"},
      {R"(, "tres_per_task": "gres:gpu:1000", "tasks": 1000000000)", "more GPUs"},
      {R"(, "tres_per_job": "gpu:3", "tasks": 2, "cpus": 2, "node_count": 2)", "more GPUs on one"},
      {R"(, "tres_per_job": "gpu:x", "tasks": 2, "cpus": 2, "node_count": 2)", "not understood"},
      {R"(, "tres_per_job": "gres:nic:2")", "other than GPUs"},
      {R"(, "tres_per_task": "gres:gpu:1", "tasks": 5, "cpus": 5, "node_count": 2)",
       "--gpus-per-task"},
      {R"(, "het_job_id": 7)", "heterogeneous"},
      {R"(, "licenses": "matlab:x")", "licences"},
      {R"(, "licenses": "matlab:9223372036854775807")", "licences"},
      {R"(, "licenses": "matlab,:2")", "licences"}};
  for (const auto& [more, said] : kBad) {
    EXPECT_NE(at_the_gate(more).cannot.find(said), std::string::npos) << more;
  }
}

}  // namespace
}  // namespace dove::slurm
