// A server with an executor; the test acts as its adapter. For tests.
#pragma once

#include <string>
#include <vector>

#include "server/api_fixture.h"

namespace dove::server {

// Slurm runs on n1, too, whose agent says that it has two GPUs.
class ExecutorsTest : public WithApi {
 protected:
  void SetUp() override {
    account = live.call("POST", "/v1/users/slurm-1/token?create=1").body.at("token");
    stranger = live.call("POST", "/v1/users/ada/token?create=1").body.at("token");
    const Answer declared = live.call("PUT", "/v1/objects/executor/slurm",
                                      {{"service_account", "slurm-1"}, {"nodes", {"n[1-2]"}}});
    ASSERT_LT(declared.status, 300) << declared.response.body;
    agent.also_said["inventory"] = codec::inventory_json(inventory());
    agent.connect();
    EXPECT_EQ(sync(said()).status, 200);
  }
  virtual Inventory inventory() const { return plain_inventory(); }
  static Inventory plain_inventory() {
    Inventory made = controller::small_inventory();
    made.devices.resize(2);
    return made;
  }
  static Inventory with_two_threads_each(Inventory made) {
    made.thread_order = {0, 2, 1, 3};
    made.threads_per_core = 2;
    return made;
  }
  Json said(Json more = Json::object()) {
    more.update(Json{{"incarnation", incarnation}, {"number", ++number}, {"seen", seen}});
    return more;
  }
  Answer sync(const Json& body) {
    Answer answer = live.call("POST", "/v1/executors/slurm/sync", body, {}, &account);
    if (answer.status == 200) seen = answer.body.at("version");
    return answer;
  }
  static Json running(const char* id) {
    return {{"id", id},        {"node", "n1"},     {"cores", {0, 1}},     {"devices", {1}},
            {"user", "grace"}, {"account", "lab"}, {"memory_bytes", 4096}};
  }
  Json holding(std::uint64_t job, const char* state) {
    return {{"placeholders",
             {{{"job", job}, {"attempt", 1}, {"node", "n1"}, {"id", "1300"}, {"state", state}}}}};
  }
  Json node() { return live.call("GET", "/v1/nodes/n1").body; }
  Json attempt_of(std::uint64_t job) {
    return live.call("GET", "/v1/jobs/" + std::to_string(job)).body.at("attempts").at(0);
  }
  // The kinds of the records after `seq`.
  std::vector<std::string> kinds_after(std::uint64_t seq) {
    std::vector<std::string> kinds;
    const Json page = live.call("GET", "/v1/events?after=" + std::to_string(seq)).body;
    for (const Json& record : page.at("events")) kinds.push_back(record.at("kind"));
    return kinds;
  }
  std::uint64_t head() { return live.call("GET", "/v1/nodes").body.at("log_head"); }

  FakeAgent agent{live, "n1"};
  std::string account;
  std::string stranger;
  std::string incarnation = "a1";
  std::uint64_t number = 0;
  std::uint64_t seen = 0;
};

}  // namespace dove::server
