#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/record_samples.h"

namespace dove::codec {
namespace {

Result<Submission> submit(std::string_view text) {
  auto body = parse_json(text, 10 << 20);
  if (!body.ok()) return body.error();
  return read_submission(*body);
}

TEST(Submission, TheShortestIsEnough) {
  auto got = submit(R"({"command": ["true"]})");
  ASSERT_TRUE(got.ok()) << got.error().field << ": " << got.error().message;
  EXPECT_EQ(got->spec.name, "job");
  EXPECT_EQ(got->spec.launch, LaunchMode::kEachTask);
  ASSERT_EQ(got->spec.groups.size(), 1u);
  EXPECT_EQ(got->spec.groups[0].tasks, 1);
  EXPECT_EQ(got->spec.groups[0].per_task.cores, 1);
  EXPECT_EQ(got->exec.command, std::vector<std::string>{"true"});
}

TEST(Submission, AGroupMayBeWrittenAtTheTop) {
  auto flat = submit(R"({"command": ["a"], "nodes": 2, "tasks_per_node": 4, "cores": "8",
                         "gpus": 2, "memory": "64Gi", "gpu_model": "H200",
                         "countables": {"rdma": 1}, "per_node": {"memory": "1Gi"}})");
  auto nested = submit(R"({"command": ["a"], "groups": [{"name": "main", "nodes_min": 2,
      "nodes_max": 2, "tasks": 8, "tasks_per_node": 4, "per_task": {"cores": 8, "gpus": "2",
      "memory_bytes": 68719476736, "gpu_model": "H200", "countables": {"rdma": 1}},
      "per_node": {"memory_bytes": 1073741824, "cores": 0}}]})");
  ASSERT_TRUE(flat.ok()) << flat.error().field << ": " << flat.error().message;
  ASSERT_TRUE(nested.ok()) << nested.error().field << ": " << nested.error().message;
  EXPECT_EQ(flat->spec, nested->spec);
  EXPECT_EQ(flat->spec.groups[0].tasks, 8);
}

TEST(Submission, AmountsAndTimesAreReadAsPeopleWriteThem) {
  auto got = submit(R"({"script": "#!/bin/sh\n", "gpus": "500m", "cores": "1500m",
      "time_limit": "1-02:00:00", "kill_grace_s": 5, "begin_at": "2026-01-02T03:04:05+01:00",
      "nodes": "2-4", "tasks": 4, "array": "1,3-9:3%2", "stop_signal": "SIGUSR1",
      "dependencies": [{"kind": "afterok", "job": 7}, {"kind": "singleton"}],
      "output_rotate": "10M"})");
  ASSERT_TRUE(got.ok()) << got.error().field << ": " << got.error().message;
  EXPECT_EQ(got->spec.launch, LaunchMode::kBatch);
  EXPECT_EQ(got->spec.groups[0].per_task.share_milli, 500);
  EXPECT_EQ(got->spec.groups[0].per_task.cores, 2) << "a part of a core is a core";
  EXPECT_EQ(got->spec.groups[0].nodes_min, 2);
  EXPECT_EQ(got->spec.groups[0].nodes_max, 4);
  EXPECT_EQ(got->spec.time_limit, seconds(93'600));
  EXPECT_EQ(got->spec.kill_grace, seconds(5));
  EXPECT_EQ(got->spec.begin_at.us, 1'767'319'445'000'000);
  EXPECT_EQ(got->spec.array.indices, (std::vector<std::int32_t>{1, 3, 6, 9}));
  EXPECT_EQ(got->spec.array.running_max, 2);
  EXPECT_EQ(got->spec.dependencies.size(), 2u);
  EXPECT_EQ(got->exec.stop_signal, 10);
  EXPECT_EQ(got->exec.output.rotate_bytes, 10'000'000);
}

TEST(Submission, AnAppSaysWhereItServes) {
  auto got = submit(R"({"command": ["true"], "app": {"name": "files", "port": 8000}})");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->exec.app.name, "files");
  EXPECT_EQ(got->exec.app.port, 8000);
  for (const auto& [app, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({})", "app.name"},
           {R"({"name": "x"})", "app.port"},
           {R"({"name": "x", "port": 80, "socket": "y"})", "app.port"},
           {R"({"name": "x", "port": 65536})", "app.port"},
           {R"({"name": "x", "port": 80, "path": "lab"})", "app.path"},
           {R"({"name": "x", "port": 80, "path": "//elsewhere.example"})", "app.path"},
           {R"({"name": "x", "port": 80, "path": "/a\r\nb"})", "app.path"},
           {R"({"name": "x", "port": 80, "health": "/a b"})", "app.health"},
           {R"({"name": "x", "port": 80, "token": "s"})", "app.token"}}) {
    got = submit(R"({"command": ["true"], "app": )" + app + "}");
    ASSERT_FALSE(got.ok()) << app;
    EXPECT_EQ(got.error().field, field) << app;
  }
}

TEST(Submission, WhatIsWrittenIsReadBack) {
  Submission full;
  full.spec = sample_spec();
  full.spec.user.clear();
  full.spec.exec_digest.clear();
  full.spec.groups[0].per_node.share_milli = 250;
  full.spec.groups[0].per_task.cores = 0;
  full.spec.time_limit = milliseconds(1500);
  full.exec.script = "#!/bin/sh\necho 'ü'\n";
  full.exec.script_arguments = {"a", ""};
  full.exec.environment = {{"A", "1"}, {"B", "x\ny"}, {"BASH_FUNC_module%%", "() { :\n}"}};
  full.exec.workdir = "/home/ada";
  full.exec.output = {"out/%j.log", "err.log", true, "in.txt", 4096};
  full.exec.container = {"torch:24.10",
                         {{"/data", "/d", false}, {"/out", "", true}},
                         true,
                         1 << 20,
                         "/w",
                         ContainerNetwork::kGang,
                         {{80, 18'080}},
                         "kept",
                         ContainerNaming::kCreate,
                         "/data/saved.sqsh",
                         true,
                         true};
  full.exec.app = {"notebook", 0, "app", "/api", "/lab", "jupyter"};
  full.exec.umask = "077";
  full.exec.stop_signal = 2;
  full.exec.warn_signal = 10;
  full.exec.warn_before_s = 60;
  full.exec.source_name = "job.sh";
  full.exec.labels = {{"comment", "x"}};
  full.spec.foreign_job.clear();  // its executor's to say
  const auto json = write_submission(full);
  auto got = submit(dump_json(json));
  ASSERT_TRUE(got.ok()) << got.error().field << ": " << got.error().message;
  full.spec.parent = {};  // the server's to say
  EXPECT_EQ(got->spec, full.spec);
  EXPECT_EQ(encode_exec(got->exec), encode_exec(full.exec));
  auto exec = decode_exec(nlohmann::json::parse(encode_exec(full.exec)));
  ASSERT_TRUE(exec.ok()) << exec.error().message;
  EXPECT_EQ(encode_exec(*exec), encode_exec(full.exec));
}

TEST(Submission, AContainerNeedsAnImageAndAbsolutePaths) {
  const auto refused = [](const char* container) {
    const auto got = submit(std::string(R"({"command": ["a"], "container": )") + container + "}");
    return got.ok() ? "" : got.error().field;
  };
  EXPECT_EQ(refused(R"({"image": "a"})"), "");
  EXPECT_EQ(refused(R"({"read_only": true})"), "container.image");
  EXPECT_EQ(refused(R"({"image": "a", "volumes": [{"source": "data"}]})"),
            "container.volumes[0].source");
  EXPECT_EQ(refused(R"({"image": "a", "volumes": [{"source": "/data", "target": "d"}]})"),
            "container.volumes[0].target");
  EXPECT_EQ(refused(R"({"image": "a", "network": "mine"})"), "container.network");
  EXPECT_EQ(refused(R"({"image": "a", "network": "gang", "ports": [{"port": 8080}]})"), "");
  EXPECT_EQ(refused(R"({"image": "a", "network": "host", "ports": [{"port": 8080}]})"),
            "container.ports");
  EXPECT_EQ(refused(R"({"image": "a", "network": "gang", "ports": [{"port": 80}]})"),
            "container.ports[0].node_port")
      << "of the node's lower ports only root disposes";
}

TEST(Submission, AnUnknownFieldNamesTheNearest) {
  auto got = submit(R"({"command": ["a"], "time_limt": "2h"})");
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, "unknown_field");
  EXPECT_EQ(got.error().field, "time_limt");
  EXPECT_NE(got.error().message.find("time_limit"), std::string::npos);
  got = submit(R"({"command": ["a"], "groups": [{"per_task": {"gpu": 2}}]})");
  EXPECT_EQ(got.error().field, "groups[0].per_task.gpu");
  EXPECT_NE(got.error().message.find("gpus"), std::string::npos);
}

// -- a hundred hostile or broken bodies -----------------------------------------------------------

struct Hostile {
  const char* body;
  const char* code;
  const char* field;
};

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

const Hostile kSubmissions[] = {
    {"", "malformed_json", "line 1, column 1"},
    {"{", "malformed_json", "line 1, column 1"},
    {"{\"command\": [\"a\"]\n  x}", "malformed_json", "line 2, column 3"},
    {"nul", "malformed_json", "line 1, column 3"},
    {"{} {}", "malformed_json", "line 1, column 4"},
    {"\xff\xfe", "invalid_utf8", "line 1, column 1"},
    {"{\"name\": \"\xc3\x28\"}", "invalid_utf8", "line 1, column 11"},
    {"{\"name\": \"\xed\xa0\x80\"}", "invalid_utf8", "line 1, column 11"},
    {"{\"name\": \"\xc0\xaf\"}", "invalid_utf8", "line 1, column 11"},
    {R"({"name": "\ud800"})", "malformed_json", "line 1, column 17"},
    {R"({"command": ["a"], "command": ["b"]})", "duplicate_field", "command"},
    {R"({"command": ["a"], "command": ["b"]})", "duplicate_field", "command"},
    {"[]", "wrong_type", ""},
    {"null", "wrong_type", ""},
    {"7", "wrong_type", ""},
    {R"("text")", "wrong_type", ""},
    {"{}", "missing_field", "command"},
    {R"({"command": []})", "missing_field", "command"},
    {R"({"command": "python3 train.py"})", "wrong_type", "command"},
    {R"({"command": [""]})", "bad_value", "command[0]"},
    {R"({"command": ["a", 7]})", "wrong_type", "command[1]"},
    {R"({"command": ["a", null]})", "wrong_type", "command[1]"},
    {R"({"command": ["a\u0000b"]})", "bad_value", "command[0]"},
    {R"({"command": {"0": "a"}})", "wrong_type", "command"},
    {R"({"command": ["a"], "script": "#!/bin/sh"})", "given_twice", "command"},
    {R"({"script": 7})", "wrong_type", "script"},
    {R"({"script": "a\u0000"})", "bad_value", "script"},
    {R"({"script": "x", "launch": "each_task"})", "bad_value", "launch"},
    {R"({"command": ["a"], "launch": "batch"})", "bad_value", "launch"},
    {R"({"command": ["a"], "launch": "rocket"})", "bad_value", "launch"},
    {R"({"command": ["a"], "launch": 1})", "wrong_type", "launch"},
    {R"({"command": ["a"], "name": ""})", "bad_value", "name"},
    {R"({"command": ["a"], "name": "a\nb"})", "bad_value", "name"},
    {R"({"command": ["a"], "name": "\u001b[31m"})", "bad_value", "name"},
    {R"({"command": ["a"], "name": " a"})", "bad_value", "name"},
    {R"({"command": ["a"], "name": ["a"]})", "wrong_type", "name"},
    {R"({"command": ["a"], "name": true})", "wrong_type", "name"},
    {R"({"command": ["a"], "user": "root"})", "unknown_field", "user"},
    {R"({"command": ["a"], "exec_digest": "00"})", "unknown_field", "exec_digest"},
    {R"({"command": ["a"], "": 1})", "unknown_field", ""},
    {R"({"command": ["a"], "slice": "half"})", "bad_value", "slice"},
    {R"({"command": ["a"], "slices": 2})", "bad_value", "slices"},
    {R"({"command": ["a"], "slice": "1g.10gb", "slices": 0})", "out_of_range", "slices"},
    {R"({"command": ["a"], "slice": "1g.10gb", "gpus": 1})", "bad_value", "slice"},
    {R"({"command": ["a"], "slice": "1g.10gb", "countables": {"nvidia.com/mig-2g.20gb": 1}})",
     "given_twice", "countables"},
    {R"({"command": ["a"], "countables": {"nvidia.com/mig-half": 1}})", "bad_value", "countables"},
    {R"({"command": ["a"], "__proto__": {}})", "unknown_field", "__proto__"},
    {R"({"command": ["a"], "queue": ""})", "bad_value", "queue"},
    {R"({"command": ["a"], "pool": 7})", "wrong_type", "pool"},
    {R"({"command": ["a"], "priority": "high"})", "wrong_type", "priority"},
    {R"({"command": ["a"], "priority": 1.5})", "wrong_type", "priority"},
    {R"({"command": ["a"], "priority": 99999999999})", "out_of_range", "priority"},
    {R"({"command": ["a"], "priority": -99999999999})", "out_of_range", "priority"},
    {R"({"command": ["a"], "tasks": 0})", "out_of_range", "tasks"},
    {R"({"command": ["a"], "tasks": -1})", "out_of_range", "tasks"},
    {R"({"command": ["a"], "tasks": 100001})", "out_of_range", "tasks"},
    {R"({"command": ["a"], "tasks": 18446744073709551615})", "out_of_range", "tasks"},
    {R"({"command": ["a"], "tasks": 18446744073709551616})", "wrong_type", "tasks"},
    {R"({"command": ["a"], "tasks": 1.5})", "wrong_type", "tasks"},
    {R"({"command": ["a"], "tasks": "4"})", "wrong_type", "tasks"},
    {R"({"command": ["a"], "nodes": -2})", "out_of_range", "nodes"},
    {R"({"command": ["a"], "nodes": "4-2"})", "bad_value", "nodes"},
    {R"({"command": ["a"], "nodes": "2-"})", "bad_value", "nodes"},
    {R"({"command": ["a"], "nodes": "all"})", "bad_value", "nodes"},
    {R"({"command": ["a"], "nodes_min": 4, "nodes_max": 2})", "bad_value", "nodes_max"},
    {R"({"command": ["a"], "nodes": 4, "tasks": 2})", "bad_value", "tasks"},
    {R"({"command": ["a"], "nodes": 100000, "tasks_per_node": 100000})", "out_of_range", "tasks"},
    {R"({"command": ["a"], "tasks": 5, "tasks_per_node": 2})", "bad_value", "tasks_per_node"},
    {R"({"command": ["a"], "cores": -1})", "out_of_range", "cores"},
    {R"({"command": ["a"], "cores": "1e9"})", "bad_value", "cores"},
    {R"({"command": ["a"], "cores": "999999999999999999"})", "bad_value", "cores"},
    {R"({"command": ["a"], "cores": "9999999"})", "out_of_range", "cores"},
    {R"({"command": ["a"], "cores": 4294967297})", "out_of_range", "cores"},
    {R"({"command": ["a"], "gpus": -1})", "out_of_range", "gpus"},
    {R"({"command": ["a"], "gpus": "1.5"})", "bad_value", "gpus"},
    {R"({"command": ["a"], "gpus": "two"})", "bad_value", "gpus"},
    {R"({"command": ["a"], "gpus": 1, "share_milli": 500})", "bad_value", "share_milli"},
    {R"({"command": ["a"], "share_milli": 1000})", "out_of_range", "share_milli"},
    {R"({"command": ["a"], "memory": "-4Gi"})", "bad_value", "memory"},
    {R"({"command": ["a"], "memory": -4})", "out_of_range", "memory"},
    {R"({"command": ["a"], "memory": "4 Gi"})", "bad_value", "memory"},
    {R"({"command": ["a"], "memory": "4Xi"})", "bad_value", "memory"},
    {R"({"command": ["a"], "memory": "99999999Ei"})", "bad_value", "memory"},
    {R"({"command": ["a"], "memory": "7Ei"})", "out_of_range", "memory"},
    {R"({"command": ["a"], "memory": 9223372036854775808})", "out_of_range", "memory"},
    {R"({"command": ["a"], "memory": "1Gi", "memory_bytes": 7})", "given_twice", "memory_bytes"},
    {R"({"command": ["a"], "countables": {"RDMA": 1}})", "bad_value", "countables.RDMA"},
    {R"({"command": ["a"], "countables": {"rdma": -1}})", "out_of_range", "countables.rdma"},
    {R"({"command": ["a"], "countables": {"rdma": "1Gi"}})", "wrong_type", "countables.rdma"},
    {R"({"command": ["a"], "countables": {"hugepages-2MB": "2Mi"}})", "bad_value",
     "countables.hugepages-2MB"},
    {R"({"command": ["a"], "countables": {"hugepages-2Mi": "2Xi"}})", "bad_value",
     "countables.hugepages-2Mi"},
    {R"({"command": ["a"], "countables": {"hugepages-2Mi": "1Ei"}})", "out_of_range",
     "countables.hugepages-2Mi"},
    {R"({"command": ["a"], "countables": ["rdma"]})", "wrong_type", "countables"},
    {R"({"command": ["a"], "cluster_requests": {"../x": 1}})", "bad_value",
     "cluster_requests.../x"},
    {R"({"command": ["a"], "groups": []})", "missing_field", "groups"},
    {R"({"command": ["a"], "groups": {}})", "wrong_type", "groups"},
    {R"({"command": ["a"], "groups": [[]]})", "wrong_type", "groups[0]"},
    {R"({"command": ["a"], "groups": [{}], "tasks": 2})", "given_twice", "groups"},
    {R"({"command": ["a"], "groups": [{"name": "x"}, {"name": "x"}]})", "given_twice",
     "groups[1].name"},
    {R"({"command": ["a"], "groups": [{"tasks": 60000}, {"tasks": 60000}]})", "too_many", "groups"},
    {R"({"command": ["a"], "groups": [{"per_task": {}, "cores": 2}]})", "given_twice",
     "groups[0].per_task"},
    {R"({"command": ["a"], "time_limit": "-5"})", "bad_value", "time_limit"},
    {R"({"command": ["a"], "time_limit": "soon"})", "bad_value", "time_limit"},
    {R"({"command": ["a"], "time_limit_s": -5})", "out_of_range", "time_limit_s"},
    {R"({"command": ["a"], "time_limit_s": 9223372036854775807})", "out_of_range", "time_limit_s"},
    {R"({"command": ["a"], "time_limit": "99999999999999999d"})", "bad_value", "time_limit"},
    {R"({"command": ["a"], "time_limit": "1h", "time_limit_s": 5})", "given_twice", "time_limit_s"},
    {R"({"command": ["a"], "begin_at": "2026-13-01T00:00:00Z"})", "bad_value", "begin_at"},
    {R"({"command": ["a"], "begin_at": "tomorrow"})", "bad_value", "begin_at"},
    {R"({"command": ["a"], "begin_at": "2430-01-02T03:04:05Z"})", "out_of_range", "begin_at"},
    {R"({"command": ["a"], "begin_at": "1969-12-31T23:59:59Z"})", "out_of_range", "begin_at"},
    {R"({"command": ["a"], "begin_at_us": -1})", "out_of_range", "begin_at_us"},
    {R"({"command": ["a"], "dependencies": [{"kind": "afterok"}]})", "missing_field",
     "dependencies[0].job"},
    {R"({"command": ["a"], "dependencies": [{"kind": "aftr", "job": 1}]})", "bad_value",
     "dependencies[0].kind"},
    {R"({"command": ["a"], "dependencies": [{"kind": "afterok", "job": -1}]})", "out_of_range",
     "dependencies[0].job"},
    {R"({"command": ["a"], "dependencies": "afterok:7"})", "wrong_type", "dependencies"},
    {R"({"command": ["a"], "array": "0-99999999"})", "bad_value", "array"},
    {R"({"command": ["a"], "array": "5-1"})", "bad_value", "array"},
    {R"({"command": ["a"], "array": "0-9:0"})", "bad_value", "array"},
    {R"({"command": ["a"], "array": "0-4000000"})", "bad_value", "array"},
    {R"({"command": ["a"], "array": ""})", "bad_value", "array"},
    {R"({"command": ["a"], "array": {"indices": [1, 1]}})", "given_twice", "array.indices"},
    {R"({"command": ["a"], "array": {"indices": [-1]}})", "out_of_range", "array.indices[0]"},
    {R"({"command": ["a"], "retries_max": -1})", "out_of_range", "retries_max"},
    {R"({"command": ["a"], "hold": "yes"})", "wrong_type", "hold"},
    {R"({"command": ["a"], "environment": ["A=1"]})", "wrong_type", "environment"},
    {R"({"command": ["a"], "environment": {"A=B": "1"}})", "bad_value", "environment.A=B"},
    {R"({"command": ["a"], "environment": {"A B": "1"}})", "bad_value", "environment.A B"},
    {R"({"command": ["a"], "environment": {"": "1"}})", "bad_value", "environment."},
    {R"({"command": ["a"], "environment": {"A": 1}})", "wrong_type", "environment.A"},
    {R"({"command": ["a"], "environment": {"A": "\u0000"}})", "bad_value", "environment.A"},
    {R"({"command": ["a"], "workdir": "../../etc"})", "bad_value", "workdir"},
    {R"({"command": ["a"], "workdir": "/a/../../etc"})", "bad_value", "workdir"},
    {R"({"command": ["a"], "stdout_path": "../out"})", "bad_value", "stdout_path"},
    {R"({"command": ["a"], "stdout_path": "a/./../../out"})", "bad_value", "stdout_path"},
    {R"({"command": ["a"], "stdout_path": "a\u0000b"})", "bad_value", "stdout_path"},
    {R"({"command": ["a"], "stderr_path": "a\nb"})", "bad_value", "stderr_path"},
    {R"({"command": ["a"], "stdin_path": 0})", "wrong_type", "stdin_path"},
    {R"({"command": ["a"], "umask": "999"})", "bad_value", "umask"},
    {R"({"command": ["a"], "umask": ""})", "bad_value", "umask"},
    {R"({"command": ["a"], "stop_signal": 0})", "out_of_range", "stop_signal"},
    {R"({"command": ["a"], "stop_signal": "SIGNOPE"})", "bad_value", "stop_signal"},
    {R"({"command": ["a"], "stop_signal": 1000})", "out_of_range", "stop_signal"},
    {R"({"command": ["a"], "labels": {"a\nb": "c"}})", "bad_value", "labels.a?b"},
    {R"({"command": ["a"], "features": ["ib", ""]})", "bad_value", "features[1]"},
    {R"({"command": ["a"], "nodes_wanted": "n1"})", "wrong_type", "nodes_wanted"},
    {R"({"command": ["a"], "spread": "thin"})", "bad_value", "spread"},
    {R"({"command": ["a"], "domain_required": true})", "missing_field", "domain_required"},
    {R"({"command": ["a"], "near_labels": "x"})", "wrong_type", "near_labels"},
    {R"({"command": ["a"], "apart_labels": ["x", 1]})", "wrong_type", "apart_labels[1]"},
};

TEST(Hostile, SubmissionsAreRefusedWithTheirPlace) {
  ASSERT_GE(std::size(kSubmissions), 100u);
  for (const Hostile& hostile : kSubmissions) {
    auto got = submit(hostile.body);
    ASSERT_FALSE(got.ok()) << hostile.body;
    EXPECT_EQ(got.error().code, hostile.code) << hostile.body << "\n" << got.error().message;
    EXPECT_EQ(got.error().field, hostile.field) << hostile.body << "\n" << got.error().message;
    EXPECT_FALSE(got.error().message.empty());
    EXPECT_LT(got.error().message.size(), 600u) << hostile.body;
  }
}

TEST(Submission, SlicesAsWeAndAsKubernetesWriteThem) {
  for (const char* body : {R"({"command": ["a"], "slice": "1g.10gb", "slices": 2})",
                           R"({"command": ["a"], "slice": "nvidia.com/mig-1g.10gb", "slices": 2})",
                           R"({"command": ["a"], "countables": {"nvidia.com/mig-1g.10gb": 2}})"}) {
    const auto got = submit(body);
    ASSERT_TRUE(got.ok()) << body << "\n" << got.error().message;
    const Request& request = got->spec.groups[0].per_task;
    EXPECT_EQ(request.slice, "1g.10gb") << body;
    EXPECT_EQ(request.slices, 2) << body;
    EXPECT_TRUE(request.countables.empty()) << body;
  }
  EXPECT_EQ(submit(R"({"command": ["a"], "slice": "7g.80gb"})")->spec.groups[0].per_task.slices, 1);
}

TEST(Submission, HugePagesAreBytesOfACountable) {
  const std::vector<Countable> wanted{{"hugepages-1Gi", std::int64_t{1} << 30},
                                      {"hugepages-2Mi", 64 << 20}};
  for (const char* body :
       {R"({"command": ["a"], "countables": {"hugepages-2Mi": "64Mi", "hugepages-1Gi": "1Gi"}})",
        R"({"command": ["a"], "countables": {"hugepages-2Mi": 67108864,
            "hugepages-1Gi": 1073741824}})"}) {
    const auto got = submit(body);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->spec.groups[0].per_task.countables, wanted) << body;
  }
}

TEST(Hostile, DeclaredObjectsAreRefusedWithTheirPlace) {
  const Hostile kBodies[] = {
      {"[]", "wrong_type", ""},
      {"{}", "missing_field", "kind"},
      {R"({"kind": "Pol", "name": "a"})", "bad_value", "kind"},
      {R"({"kind": ["Pool"], "name": "a"})", "wrong_type", "kind"},
      {R"({"kind": "Pool"})", "missing_field", "name"},
      {R"({"kind": "Pool", "name": "a\u0000b"})", "bad_value", "name"},
      {R"({"kind": "Pool", "name": 7})", "wrong_type", "name"},
      {R"({"kind": "Pool", "name": "a", "nodes": "*"})", "wrong_type", "nodes"},
      {R"({"kind": "Pool", "name": "a", "node": ["*"]})", "unknown_field", "node"},
      {R"({"kind": "Pool", "name": "a", "time_limit_max": "-1h"})", "bad_value", "time_limit_max"},
      {R"({"kind": "Pool", "name": "a", "time_limit_max": 1, "time_limit_default": 2})",
       "out_of_range", "time_limit_default"},
      {R"({"kind": "Queue", "name": "a", "limits": {"cores": -2}})", "out_of_range",
       "limits.cores"},
      {R"({"kind": "Queue", "name": "a", "limits": {"core": 2}})", "unknown_field", "limits.core"},
      {R"({"kind": "Queue", "name": "a", "limits": {"gpus": 99999999999}})", "out_of_range",
       "limits.gpus"},
      {R"({"kind": "Queue", "name": "a", "limits": []})", "wrong_type", "limits"},
      {R"({"kind": "Node", "name": "a", "cores_reserved": -1})", "out_of_range", "cores_reserved"},
      {R"({"kind": "Node", "name": "a", "memory_reserved": "lots"})", "bad_value",
       "memory_reserved"},
      {R"({"kind": "User", "name": "a", "token_sha256": "secret"})", "bad_value", "token_sha256"},
      {R"({"kind": "User", "name": "a", "admin": "true"})", "wrong_type", "admin"},
      {R"({"kind": "Cluster", "fence": 0})", "out_of_range", "fence"},
      {R"({"kind": "Cluster", "jobs_max": 0})", "out_of_range", "jobs_max"},
      {R"({"kind": "Cluster", "countables": {"watts": 1e30}})", "wrong_type", "countables.watts"},
  };
  for (const Hostile& hostile : kBodies) {
    auto body = parse_json(hostile.body, 1 << 20);
    ASSERT_TRUE(body.ok()) << hostile.body;
    auto got = read_declared(*body);
    ASSERT_FALSE(got.ok()) << hostile.body;
    EXPECT_EQ(got.error().code, hostile.code) << hostile.body << "\n" << got.error().message;
    EXPECT_EQ(got.error().field, hostile.field) << hostile.body << "\n" << got.error().message;
  }
}

TEST(Hostile, LargeBodiesNameTheirLimit) {
  struct Large {
    std::string body;
    const char* code;
    const char* field;
    const char* limit;
  };
  std::string ten_mb;
  ten_mb.resize(10'000'000, 'a');
  const std::string many_a(1'000'000, 'a');
  std::string environment = R"({"command": ["a"], "environment": {)";
  for (int i = 0; i < 1025; ++i) environment += "\"E" + std::to_string(i) + "\": \"\",";
  environment.back() = '}';
  const Large kBodies[] = {
      {R"({"command": ["a"], "name": ")" + ten_mb + "\"}", "too_long", "name", "256"},
      {R"({"script": ")" + ten_mb + "\"}", "too_long", "script", "4194304"},
      {R"({"command": [")" + many_a + "\"]}", "too_long", "command[0]", "131071"},
      {R"({"command": ["a"], "workdir": "/)" + many_a + "\"}", "too_long", "workdir", "4096"},
      {R"({"command": ["a"], ")" + many_a + "\": 1}", "unknown_field",
       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", ""},
      {R"({"command": ["a"], "cores": ")" + many_a + "\"}", "bad_value", "cores", ""},
      {R"({"command": ["a"], "time_limit": ")" + std::string(1'000'000, '9') + "\"}", "bad_value",
       "time_limit", ""},
      {R"({"command": ["a"], "array": ")" + repeated("1,", 200'000) + "\"}", "", "", ""},
      {R"({"command": ["a")" + repeated(",\"a\"", 5000) + "]}", "too_many", "command", "4096"},
      {environment + "}", "too_many", "environment", "1024"},
      {R"({"command": ["a"], "groups": [{})" + repeated(",{}", 64) + "]}", "too_many", "groups",
       "64"},
      {R"({"command": ["a")" + repeated(",\"" + std::string(100'000, 'x') + "\"", 12) + "]}",
       "too_long", "environment", "1048576"},
      {repeated("[", 100'000), "too_deep", "line 1, column 65", "64"},
      {repeated("{\"a\":", 70) + "1" + repeated("}", 70), "too_deep", "line 1, column 321", "64"},
      {std::string((10 << 20) + 1, ' '), "too_large", "", "10485760"},
  };
  for (const Large& large : kBodies) {
    auto got = submit(large.body);
    const std::string shown = large.body.substr(0, 60);
    if (*large.code == '\0') {
      EXPECT_TRUE(got.ok()) << shown;
      continue;
    }
    ASSERT_FALSE(got.ok()) << shown;
    EXPECT_EQ(got.error().code, large.code) << shown << got.error().message.substr(0, 300);
    EXPECT_EQ(got.error().field, large.field) << shown;
    EXPECT_NE(got.error().message.find(large.limit), std::string::npos)
        << got.error().message.substr(0, 300);
    EXPECT_LT(got.error().message.size(), 600u);
  }
}

TEST(Hostile, ValuesThatDidNotComeFromTextAreCheckedToo) {
  auto got = read_submission({{"command", {"a\xff"}}});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().code, "invalid_utf8");
  EXPECT_EQ(got.error().field, "command[0]");
}

}  // namespace
}  // namespace dove::codec
