#include "cli/cli.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cli_bed_for_test.h"

namespace dove::cli {
namespace {

using nlohmann::json;

json job(int id, const std::string& state) {
  const bool ended = state == "completed" || state == "failed";
  return {{"id", id},
          {"name", "train"},
          {"user", "ann"},
          {"queue", "default"},
          {"pool", "gpu"},
          {"state", state},
          {"phase", ended                ? "ended"
                    : state == "running" ? "active"
                                         : "waiting"},
          {"exit_code", state == "failed" ? json(3)
                        : ended           ? json(0)
                                          : json()},
          {"array", nullptr},
          {"attempt", state == "waiting" ? 0 : 1},
          {"nodes", state == "waiting" ? json::array() : json{"n1", "n2"}},
          {"request", {{"tasks", 4}, {"nodes_min", 2}, {"cores", 4}, {"gpus_milli", 2000}}},
          {"submitted_at_us", 1'000'000}};
}

TEST_F(CliTest, FamiliesOfCommandsHaveHelp) {
  for (const char* help : {"--help", "-h"}) {
    const Outcome outcome = run({"dove", "token", help});
    EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
    EXPECT_NE(outcome.out.find("token create"), std::string::npos) << outcome.out;
  }
}

TEST_F(CliTest, UnknownCommandsAreSuggested) {
  const Outcome outcome = run({"dove", "sumbit"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_NE(outcome.err.find("unknown command 'sumbit'. Did you mean `dove submit`?"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST_F(CliTest, NothingKnownSaysHowToStart) {
  unsetenv("DOVE_URL");
  const Outcome outcome = run({"dove", "ps"});
  EXPECT_EQ(outcome.code, kExitUnavailable);
  EXPECT_NE(outcome.err.find("dove up"), std::string::npos) << outcome.err;
}

TEST_F(CliTest, TheDataDirectoryNamesServerAndToken) {
  unsetenv("DOVE_URL");
  std::filesystem::create_directories(folder_ / "data");
  file("data/url", server_.url() + "\n");
  file("data/token", "secret-token\n");
  server_.set("GET /v1/jobs", {200, R"({"jobs":[]})"});
  const Outcome outcome = run({"dove", "ps", "--data", (folder_ / "data").string()});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_NE(outcome.err.find("no jobs"), std::string::npos);
  EXPECT_EQ(outcome.out, "");
  ASSERT_FALSE(server_.requests().empty());
  EXPECT_EQ(server_.requests()[0].header("Authorization"), "Bearer secret-token");
}

TEST_F(CliTest, AStoredTokenIsNotSentElsewhere) {
  std::filesystem::create_directories(folder_ / "state/dove");
  file("state/dove/url", "http://127.0.0.1:1\n");
  file("state/dove/token", "secret-token\n");
  server_.set("GET /v1/jobs", {200, R"({"jobs":[]})"});
  EXPECT_EQ(run({"dove", "ps"}).code, kExitOk);
  EXPECT_EQ(server_.requests()[0].header("Authorization"), "");
}

TEST_F(CliTest, PsListsJobs) {
  server_.set("GET /v1/jobs", {200, json{{"jobs", {job(7, "running"), job(8, "waiting")}}}.dump()});
  server_.set("GET /v1/jobs/8/why",
              {200, R"({"reasons":[{"kind":"resources","text":"needs 2 GPUs; 1 free"}]})"});
  const Outcome outcome = run({"dove", "ps"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out,
            "ID  NAME   USER  QUEUE    STATE    TIME  NODES   REASON\n"
            "7   train  ann   default  running  0:00  n[1-2]\n"
            "8   train  ann   default  waiting  0:00  2       needs 2 GPUs; 1 free\n");
  EXPECT_EQ(run({"dove", "ps", "-o", "name"}).out, "7\n8\n");
  EXPECT_EQ(json::parse(run({"dove", "ps", "-o", "json"}).out)["jobs"].size(), 2u);
  EXPECT_EQ(run({"dove", "ps", "-o", "xml"}).code, kExitUsage);
  json of_project = job(9, "running");
  of_project["project"] = "vision";
  server_.set("GET /v1/jobs", {200, json{{"jobs", {job(7, "running"), of_project}}}.dump()});
  EXPECT_EQ(run({"dove", "ps", "--project", "vision,speech", "-o", "name"}).out, "9\n");
}

TEST_F(CliTest, PsFoldsArraysAndCutsNothingInAPipe) {
  json jobs = json::array();
  for (const int index : {0, 1, 2, 7}) {
    json one = job(1047 + index, "waiting");
    one["array"] = {{"id", 1047}, {"index", index}};
    one["name"] = std::string("tr\u00e8s-long-\u540d\u5b57-") + std::string(40, 'x');
    jobs.push_back(one);
  }
  server_.set("GET /v1/jobs", {200, json{{"jobs", jobs}}.dump()});
  const std::string why(120, 'w');
  server_.set("GET /v1/jobs/1047/why",
              {200, json{{"reasons", {{{"kind", "resources"}, {"text", why}}}}}.dump()});
  const Outcome outcome = run({"dove", "ps"});
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
  EXPECT_NE(outcome.out.find("1047_[0-2,7]"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(jobs[0]["name"].get<std::string>()), std::string::npos);
  EXPECT_NE(outcome.out.find(why), std::string::npos);
}

TEST_F(CliTest, WhyOfAJobThatEndedSaysWhatBecameOfIt) {
  json never = job(1200, "failed");
  never["state"] = "dependency_never_met";
  never["dependencies"] = {{{"kind", "afterok"}, {"job", 1199}}};
  server_.set("GET /v1/jobs/1200", {200, never.dump()});
  server_.set("GET /v1/jobs/1199", {200, job(1199, "failed").dump()});
  for (const char* id : {"1199", "1200"}) {
    server_.set(std::string("GET /v1/jobs/") + id + "/why", {200, R"({"reasons":[]})"});
  }
  EXPECT_EQ(run({"dove", "why", "1200"}).out,
            "Job 1200 never ran: it needed job 1199 to succeed (afterok), and job 1199 failed\n");
  EXPECT_EQ(run({"dove", "why", "1199"}).out,
            "Job 1199 has ended (failed); `dove show 1199` says how\n");
}

TEST_F(CliTest, SqueueIsAFace) {
  server_.set("GET /v1/jobs", {200, json{{"jobs", {job(7, "running")}}}.dump()});
  const Outcome outcome = run({"/usr/bin/squeue", "-h", "-o", "%i %t %P %R"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "7 R gpu n[1-2]\n");
  const Outcome wrong = run({"squeue", "-t", "happy"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err, "squeue: error: Invalid job state specified: happy\n");
}

TEST_F(CliTest, ErrorsOfTheServerBecomeExitCodes) {
  EXPECT_EQ(run({"dove", "show", "9"}).code, kExitNotFound);
  server_.set("POST /v1/jobs/7/hold", {409, R"({"code":"job_ended","detail":"job 7 has ended"})"});
  const Outcome conflict = run({"dove", "hold", "7"});
  EXPECT_EQ(conflict.code, kExitConflict);
  EXPECT_NE(conflict.err.find("job 7 has ended"), std::string::npos);
  setenv("DOVE_URL", "http://127.0.0.1:1", 1);
  EXPECT_EQ(run({"dove", "nodes"}).code, kExitUnavailable);
}

TEST_F(CliTest, SubmitSendsTheJobOnce) {
  server_.set("POST /v1/jobs", {201, R"({"id":12,"ids":[12],"warnings":[]})"});
  const Outcome outcome = run({"dove", "submit", "-N", "2", "--name=both", "--set", "retries_max=2",
                               "--", "/bin/echo", "hi"});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out, "Submitted job 12\n");
  const json body = json::parse(server_.body_of("POST /v1/jobs"));
  EXPECT_EQ(body["command"], (json{"/bin/echo", "hi"}));
  EXPECT_EQ(body["name"], "both");
  EXPECT_EQ(body["retries_max"], 2);
  EXPECT_FALSE(server_.requests()[0].header("Idempotency-Key").empty());
}

TEST_F(CliTest, DryRunPrintsTheJobAndItsWarnings) {
  const std::string script =
      file("job.sh", "#!/bin/sh\n#SBATCH --ntasks=2\n#SBATCH --mem-bind=local\necho hi\n");
  const Outcome outcome = run({"dove", "submit", "--dry-run", "-o", "json", script});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["launch"], "batch");
  EXPECT_NE(outcome.err.find("job.sh:3:"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("warning"), std::string::npos) << outcome.err;
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(CliTest, SbatchSpeaksAsSlurmDoes) {
  server_.set("POST /v1/jobs", {201, R"({"id":12,"ids":[12],"warnings":[]})"});
  const std::string script = file("job.sh", "#!/bin/sh\necho hi\n");
  EXPECT_EQ(run({"sbatch", script, "--an", "argument"}).out, "Submitted batch job 12\n");
  EXPECT_EQ(run({"sbatch", "--parsable", script}).out, "12\n");
  EXPECT_EQ(run({"sbatch", "--wrap=hostname"}).out, "Submitted batch job 12\n");
  const Outcome wrong = run({"sbatch", "--nodez=2", script});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("--nodes"), std::string::npos);
}

TEST_F(CliTest, WaitGivesTheExitCodeOfTheJob) {
  const auto waited = [&](const char* line) {
    server_.set("GET /v1/jobs/7/wait", {200, std::string("\n\n") + line, true});
  };
  waited(R"({"jobs":1,"exit_code":3,"not_completed":[{"id":"7","state":"failed","exit_code":3}]})");
  const Outcome failed = run({"dove", "wait", "7"});
  EXPECT_EQ(failed.code, 3);
  EXPECT_NE(failed.err.find("job 7 failed, exit code 3"), std::string::npos) << failed.err;
  waited(R"({"jobs":1,"exit_code":0,"not_completed":[]})");
  EXPECT_EQ(run({"dove", "wait", "7"}).code, 0);
}

TEST_F(CliTest, WaitAsksAgainWhenTheServerEnds) {
  server_.set("GET /v1/jobs/7/wait",
              {200, "\n", true, [](FakeServer& server) {
                 server.set("GET /v1/jobs/7/wait",
                            {200, R"({"jobs":1,"exit_code":2,"not_completed":[]})", true});
               }});
  EXPECT_EQ(run({"dove", "wait", "7"}).code, 2);
  EXPECT_EQ(server_.requests().size(), 2u) << "and nothing else meanwhile";
}

TEST_F(CliTest, AJobSaysThatItHasSavedItsWork) {
  EXPECT_EQ(run({"dove", "checkpoint"}).code, 2) << "outside a job nobody knows which";
  setenv("DOVE_JOB_ID", "7", 1);
  server_.set("POST /v1/jobs/7/checkpoint", {200, R"({"ids":[7],"changed":1,"log_head":9})"});
  const Outcome outcome = run({"dove", "checkpoint"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job 7 has saved its work\n");
}

TEST_F(CliTest, AnIdleSessionSaysSoAndIsKept) {
  server_.set(
      "GET /v1/jobs/7",
      {200, R"({"id":7,"name":"tab","state":"running","phase":"active","idle":{"check":"input",)"
            R"("rule":"all","evidence":"no input for 1 h","ends_at_us":1000000}})"});
  const std::string shown = run({"dove", "show", "7"}).out;
  EXPECT_NE(shown.find("no input for 1 h; stopped at "), std::string::npos) << shown;
  server_.set("POST /v1/jobs/7/keep", {200, R"({"id":7,"rule":"all","kept_until_us":1000000})"});
  const Outcome kept = run({"dove", "keep", "7", "--for", "4h"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_TRUE(kept.out.starts_with("job 7 is kept until 19")) << kept.out;
  EXPECT_EQ(server_.requests().back().body, R"({"for_us":14400000000})");
  EXPECT_EQ(run({"dove", "keep", "7", "--for", "soon"}).code, 2);
}

TEST_F(CliTest, SrunInsideAJobIsAStep) {
  setenv("DOVE_JOB_ID", "7", 1);
  setenv("DOVE_JOB_TOKEN", "7.1.mac", 1);
  server_.set("POST /v1/jobs/7/steps",
              {200,
               "{\"begun\":{\"step\":0,\"tasks\":2}}\n"
               "{\"rank\":0,\"stream\":\"stdout\",\"data\":\"hel\"}\n"
               "{\"rank\":1,\"stream\":\"stderr\",\"data\":\"oops\\n\"}\n"
               "{\"rank\":0,\"stream\":\"stdout\",\"base64\":\"bG8K\"}\n"
               "{\"exit\":{\"rank\":1,\"exit_code\":4,\"signal\":0,\"cause\":\"\"}}\n"
               "{\"ended\":{\"exit_code\":4}}\n",
               true});
  const Outcome outcome = run({"srun", "-n", "2", "-l", "prog", "-x"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.out, "0: hello\n");
  EXPECT_NE(outcome.err.find("1: oops\n"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("task 1: Exited with exit code 4"), std::string::npos) << outcome.err;
  const json body = json::parse(server_.body_of("POST /v1/jobs/7/steps"));
  EXPECT_EQ(body["command"], (json{"prog", "-x"}));
  EXPECT_EQ(body["tasks"], 2);
  const Outcome rsh = run({"dove-rsh", "n2", "orted", "--tree", "a b"});
  EXPECT_EQ(rsh.code, 4);
  const json asked = json::parse(server_.body_of("POST /v1/jobs/7/steps"));
  EXPECT_EQ(asked["command"], (json{"/bin/sh", "-c", "orted --tree a b"}));
  EXPECT_EQ(asked["nodelist"], json{"n2"});
}

TEST_F(CliTest, SrunFromOutsideIsAStepOfTheJobThatItNames) {
  server_.set("POST /v1/jobs/7/steps",
              {200, "{\"begun\":{\"step\":0,\"tasks\":1}}\n{\"ended\":{\"exit_code\":3}}\n", true});
  EXPECT_EQ(run({"srun", "--jobid=7", "prog"}).code, 3);
  EXPECT_EQ(json::parse(server_.body_of("POST /v1/jobs/7/steps"))["command"], json{"prog"});
  server_.set("POST /v1/jobs/8/steps",
              {409, R"({"code":"not_running","detail":"the job is not running"})"});
  const Outcome over = run({"srun", "--jobid=8", "prog"});
  EXPECT_EQ(over.code, 1);
  EXPECT_NE(over.err.find("not running"), std::string::npos) << over.err;
  for (const auto& request : server_.requests()) EXPECT_NE(request.target, "/v1/jobs");
  // Inside a job its own token is all there is.
  setenv("DOVE_JOB_ID", "9", 1);
  setenv("DOVE_JOB_TOKEN", "9.1.mac", 1);
  const Outcome other = run({"srun", "--jobid=7", "prog"});
  EXPECT_EQ(other.code, 1) << other.err;
  EXPECT_NE(other.err.find("job 9"), std::string::npos) << other.err;
}

TEST_F(CliTest, NodesAndScontrol) {
  server_.set("GET /v1/nodes",
              {200, R"({"nodes":[{"name":"n1","state":"ready","cores":4,"cores_free":2,"gpus":2,
                "gpus_free_milli":1500,"memory_bytes":1073741824,"memory_free_bytes":1073741824,
                "jobs":[7],"address":"127.0.0.1"}]})"});
  EXPECT_EQ(run({"dove", "nodes"}).out,
            "NAME  STATE  CORES   GPUS  MEMORY  JOBS  REASON\n"
            "n1    ready    2/4  0.5/2    0/1G     1\n");
  server_.set("GET /v1/pools", {200, R"({"pools":[{"kind":"Pool","name":"gpu","nodes":["*"],
      "default":true,"open":true,"time_limit_max_s":0}]})"});
  EXPECT_EQ(run({"sinfo"}).out,
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "gpu*         up   infinite      1    mix n1\n");
  EXPECT_EQ(run({"scontrol", "show", "hostnames", "n[1-2]"}).out, "n1\nn2\n");
}

TEST_F(CliTest, ListsAreReadToTheirLastPage) {
  server_.set("GET /v1/nodes",
              {200, R"({"nodes":[{"name":"n1"}],"next":1})", false, [](FakeServer& server) {
                 server.set("GET /v1/nodes", {200, R"({"nodes":[{"name":"n2"}],"next":null})"});
               }});
  EXPECT_EQ(run({"dove", "nodes", "-o", "name"}).out, "n1\nn2\n");
  const auto requests = server_.requests();
  EXPECT_EQ(requests.back().target, "/v1/nodes?limit=1000&after=1");
}

TEST_F(CliTest, ANodeSaysForWhichSlicesItHasRoom) {
  server_.set("GET /v1/nodes/n1",
              {200, R"({"name":"n1","state":"ready","gpus":1,"gpus_free_milli":500,
                "slices_free":{"1g.5gb":3,"7g.40gb":0}})"});
  EXPECT_NE(run({"dove", "nodes", "n1"}).out.find("room for 1g.5gb 3, 7g.40gb 0\n"),
            std::string::npos);
}

TEST_F(CliTest, ANodeSaysHowMuchIsUsedOfWhatIsCounted) {
  server_.set("GET /v1/nodes/n1",
              {200, R"({"name":"n1","state":"ready","countables":{"hugepages-2Mi":1073741824,
                "rdma":8},"countables_free":{"hugepages-2Mi":536870912,"rdma":7}})"});
  const std::string shown = run({"dove", "nodes", "n1"}).out;
  EXPECT_NE(shown.find("hugepages-2Mi 512 MiB of 1 GiB in use\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("rdma 1 of 8 in use\n"), std::string::npos) << shown;
}

TEST_F(CliTest, AJobSaysWhyANodeRefusedIt) {
  json refused = job(7, "failed");
  refused["attempts"] = {{{"number", 2}, {"stop_reason", "launch_failed"}, {"stage", "ended"}}};
  server_.set("GET /v1/jobs/7", {200, refused.dump()});
  server_.set("GET /v1/events", {200, R"({"events":[{"data":{"attempt":1,"why":"first"}},
                {"data":{"attempt":2,"why":"Linux user 'zoe' does not exist on node n1"}}]})"});
  EXPECT_NE(run({"dove", "show", "7"})
                .out.find("Attempt 2 was refused: Linux user 'zoe' does not exist on node n1\n"),
            std::string::npos);
}

TEST_F(CliTest, AnUpgradeIsShownBeforeItIsAskedFor) {
  server_.set("POST /v1/maintenance-plan",
              {200, R"({"action":"upgrade","at_us":1000000,"done_us":null,"each_s":600,
                "max_unavailable":1,"endless":[7],"nodes":[
                {"node":"n1","from_us":1000000,"idle_us":31000000,"back_us":631000000,"go_on":[],
                 "may_end":[],"checkpointed":[3,4],"restarted":[5]},
                {"node":"n2","from_us":null,"idle_us":null,"back_us":null,"go_on":[],
                 "may_end":[],"checkpointed":[],"restarted":[]}]})"});
  const Outcome shown = run({"dove", "upgrade", "n[1-2]", "--drivers", "--dry-run", "--each=10m"});
  EXPECT_EQ(shown.out,
            "upgrade of 2 nodes, at most 1 away at once, 10m 0s each: its end cannot be predicted\n"
            "ORDER  NODE  FROM  IDLE      BACK  JOBS\n"
            "    1  n1     now  +30s  +10m 30s  3,4 checkpointed; 5 stopped, run again\n"
            "    2  n2       ?     ?         ?  -\n"
            "job 7 has no time limit: give --by or --when now, or cancel it\n"
            "Nothing was changed. The plan does not count what starts on these nodes meanwhile.\n");
  const json asked = json::parse(server_.body_of("POST /v1/maintenance-plan"));
  EXPECT_EQ(asked["nodes"], (json{"n1", "n2"}));
  EXPECT_EQ(asked["action"], "upgrade");
  EXPECT_EQ(asked["each_s"], 600);
}

TEST_F(CliTest, ApplySendsAllAtOnce) {
  const std::string path =
      file("pools.yaml", "kind: Pool\nname: a\nnodes: ['*']\n---\nkind: queue\nname: b\n");
  EXPECT_EQ(run({"dove", "apply", "-f", path}).code, kExitNotFound);
  EXPECT_EQ(server_.requests().size(), 1u);
  server_.set("POST /v1/objects",
              {200, R"({"changes":[{"change":"create","object":{"kind":"Pool","name":"a"},
                                    "warnings":["odd"]},
                                   {"change":"none","object":{"kind":"Queue","name":"b"}}]})"});
  const Outcome applied = run({"dove", "apply", "-f", path});
  EXPECT_EQ(applied.out, "pool/a created\nqueue/b unchanged\n");
  EXPECT_EQ(applied.err, "warning: pool/a: odd\n");
  const json sent = json::parse(server_.body_of("POST /v1/objects"));
  EXPECT_EQ(sent["objects"].size(), 2u);
  EXPECT_EQ(sent["objects"][1]["kind"], "Queue");
}

void drop_nulls(json& value) {
  if (!value.is_structured()) return;
  for (json& member : value) drop_nulls(member);
  if (!value.is_object()) return;
  std::vector<std::string> gone;
  for (const auto& [name, member] : value.items()) {
    if (member.is_null()) gone.push_back(name);
  }
  for (const std::string& name : gone) value.erase(name);
}

// The two objects of TACC's slides: a namespace's quota, and a queue of Kueue without its
// resourceGroups.
TEST_F(CliTest, ApplyReadsQuotasOfKubernetes) {
  const std::string path = file("quotas.yaml", R"(apiVersion: v1
kind: ResourceQuota
metadata: {name: quota, namespace: vision}
spec:
  hard:
    requests.nvidia.com/mig-1g.6gb: "2"
    requests.storage: 1000Gi
    limits.memory: 128Gi
    requests.memory: 64Gi
    count/jobs.batch: "20"
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: research}
spec:
  queueingStrategy: StrictFIFO
  resources:
  - {name: cpu, nominalQuota: 200}
  - {name: memory, nominalQuota: 1280Gi}
  - {name: nvidia.com/gpu, nominalQuota: 10}
  - {name: rdma/hca_shared_devices_a, nominalQuota: 100}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: lab}
spec:
  cohort: research
  preemption: {withinClusterQueue: LowerPriority}
  fairSharing: {weight: "1500m"}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - name: a100
      resources:
      - {name: cpu, nominalQuota: 500m}
      - {name: nvidia.com/gpu, nominalQuota: 4, borrowingLimit: 2}
)");
  server_.set("POST /v1/objects", {200, R"({"changes":[]})"});
  const Outcome outcome = run({"dove", "apply", "-f", path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  json sent = json::parse(server_.body_of("POST /v1/objects"))["objects"];
  // What a quota does not name is taken back.
  EXPECT_TRUE(sent[0]["limits"].contains("gpus_milli"));
  EXPECT_TRUE(sent[1].contains("parent"));
  drop_nulls(sent);
  EXPECT_EQ(sent[0], json::parse(R"({"kind": "Project", "name": "vision", "limits": {
    "slices": {"1g.6gb": 2}, "memory": 68719476736, "jobs_waiting": 20}})"));
  const json amounts = json::parse(R"({"cores": 200, "memory": 1374389534720,
    "gpus_milli": 10000, "countables": {"rdma/hca_shared_devices_a": 100}})");
  EXPECT_EQ(sent[1], (json{{"kind", "Queue"},
                           {"name", "research"},
                           {"order", "strict_fifo"},
                           {"guaranteed", amounts},
                           {"limits", amounts}}));
  EXPECT_EQ(sent[2], json::parse(R"({"kind": "Queue", "name": "lab", "parent": "research",
    "weight": 2, "guaranteed": {"cores": 1, "gpus_milli": 4000}, "limits": {"gpus_milli": 6000}})"));
  EXPECT_EQ(outcome.err,
            "warning: ResourceQuota vision/quota: spec.hard.requests.storage has no effect\n"
            "warning: ClusterQueue lab: spec.preemption has no effect\n");
  const std::string wrong = file("wrong.yaml", R"(apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {requests.memory: lots}}
)");
  EXPECT_NE(run({"dove", "apply", "-f", wrong}).err.find("spec.hard.requests.memory"),
            std::string::npos);
}

TEST_F(CliTest, TcloudSaysWhatTaccsDoes) {
  server_.set("POST /v1/jobs", {201, R"({"id":12,"ids":[12],"warnings":[]})"});
  std::filesystem::create_directories(folder_ / "hello");
  file("hello/tuxiv.conf", "entrypoint:\n  - echo hello\njob:\n  general:\n    - nodes=1\n");
  const Outcome outcome = run({"tcloud", "submit", (folder_ / "hello").string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "Start parsing tuxiv.conf...\nSubmitted batch job 12\nJob hello submitted.\n");
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "USERDIR/slurm_log"));
  const std::string data = file("data.txt", "numbers\n");
  EXPECT_EQ(run({"tcloud", "upload", data}).code, 0);
  EXPECT_EQ(run({"tcloud", "cat", "data.txt"}).out, "numbers\n");
  EXPECT_EQ(run({"tcloud", "ls"}).out, "data.txt\nslurm_log\n");
  EXPECT_EQ(run({"tcloud", "cat", "../data.txt"}).code, 1);
}

TEST_F(CliTest, AnotherToolsNameThatIsNoneIsAnError) {
  const Outcome outcome = run({"/opt/bin/sacctx", "-j", "1"});
  EXPECT_EQ(outcome.code, 127);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("sacctx: dove has no command of this name"), std::string::npos);
  EXPECT_NE(outcome.err.find("sbatch, squeue"), std::string::npos) << "the names that there are";
  EXPECT_EQ(run({"sbatch.old", "--help"}).code, 127);
  for (const char* own : {"dove", "dove-1.2", "/usr/local/bin/dove.new", ""}) {
    EXPECT_EQ(run({own, "--help"}).code, 0) << own;
  }
}

}  // namespace
}  // namespace dove::cli
