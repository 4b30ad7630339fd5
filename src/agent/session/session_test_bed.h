// SessionTestBed: an agent, a controller, and tasks, the latter two controlled by the test. For
// tests only.
//
// All on one loop, over loopback. Orders are lines that the test writes; the agent's messages are
// kept as they came.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/tasks/null_runner.h"
#include "codec/json.h"
#include "telemetry/clock.h"
#include "wire/server.h"

namespace dove::agent {

class ScriptedController {
 public:
  using Json = nlohmann::json;

  explicit ScriptedController(wire::Loop& loop) : loop_(loop) { revive(); }

  void revive() {
    server_ = std::make_unique<wire::Server>(
        loop_, wire::ServerLimits(),
        [this](wire::Request request, std::shared_ptr<wire::Responder> responder) {
          handle(request, responder);
        });
    EXPECT_TRUE(server_->listen("127.0.0.1", port_, tls).ok());
    port_ = server_->port();
  }
  std::uint16_t port() const { return port_; }
  std::size_t connections() const { return server_->connections(); }
  // The process is gone: connections are refused.
  void kill() { server_.reset(); }
  // Breaks all connections; new ones are taken.
  void drop() {
    server_.reset();
    revive();
  }
  void line(const std::string& text) {
    ASSERT_NE(orders_, nullptr);
    EXPECT_TRUE(orders_->write(text + "\n"));
  }
  // The stream's connection, and no other: more is written than a peer may leave.
  void break_orders() {
    while (orders_->write(std::string(1 << 20, ' '))) {
    }
  }
  void release_sync() {
    holds_sync = false;
    if (held_sync_) held_sync_->send(sync_answer());
    held_sync_.reset();
  }
  void release_orders() {
    holds_orders = false;
    open_orders(*std::exchange(held_orders_, nullptr));
  }
  void release_chunks() {
    holds_chunks = false;
    for (const auto& each : held_chunks_) each->send(wire::Response{204, {}, ""});
    held_chunks_.clear();
  }
  std::string session() const { return "s" + std::to_string(syncs.size()); }
  std::string relayed(const std::string& id) const {
    const auto found = relays_.find(id);
    return found == relays_.end() ? "" : found->second;
  }
  bool relay_ended(const std::string& id) const { return ended_.count(id) != 0; }

  std::shared_ptr<const wire::Tls> tls;  // of servers from now on
  int epoch = 5;
  std::int64_t fence_us = 100'000;
  std::int64_t grace_us = 60'000'000;
  std::int64_t outage_grace_us = 60'000'000;
  int sync_status = 200;
  int report_status = 200;
  std::string unavailable = "disk_full";  // the code of a 503
  bool answers_reports = true;
  std::string unanswered_event;  // a report that has one of this kind is not answered
  bool resync = false;
  bool gives_tickets = false;
  std::string ticket_answer = R"({"ticket":"ticket-1"})";
  bool holds_sync = false;
  bool holds_orders = false;
  bool mute = false;  // answers no sync at all
  bool holds_chunks = false;
  std::vector<Json> joins;
  std::vector<Json> syncs;
  std::vector<Json> reports;
  std::vector<Json> events;
  std::vector<std::string> relay_targets;
  std::vector<std::string> secrets_asked;  // and not answered
  std::string join_authorization;
  std::string last_authorization;
  std::string last_event_session;
  int streams = 0;
  int streams_closed = 0;  // by the agent

 private:
  wire::Response sync_answer() const {
    const Json answer{{"session", session()},
                      {"epoch", epoch},
                      {"log_head", 10},
                      {"after", 10},
                      {"fence_us", fence_us},
                      {"disconnect_grace_us", grace_us},
                      {"heartbeat_us", 30'000},
                      {"orders", Json::array()},
                      {"forget", Json::array()},
                      {"proof", "proof-10"},
                      {"outage_grace_us", outage_grace_us}};
    return wire::Response{200, {}, answer.dump()};
  }
  void handle(const wire::Request& request, const std::shared_ptr<wire::Responder>& responder) {
    if (request.path == "/v1/agents/join") {
      join_authorization = request.header("Authorization");
      joins.push_back(Json::parse(request.body));
      const Json answer{{"node", 1}, {"agent_token", "secret-1"}, {"cluster", "dove"}};
      return responder->send(wire::Response{201, {}, answer.dump()});
    }
    last_authorization = request.header("Authorization");
    if (request.path == "/v1/agents/n1/sync") {
      syncs.push_back(Json::parse(request.body));
      if (mute) {
        unanswered_.push_back(responder);
        return;
      }
      if (gives_tickets && syncs.back()["ticket"] != "ticket-1") {
        return responder->send(wire::Response{200, {}, ticket_answer});
      }
      if (sync_status != 200) {
        return responder->send(wire::Response{
            sync_status,
            {},
            sync_status == 503 ? Json{{"code", unavailable}}.dump() : R"({"detail":"no"})"});
      }
      if (!holds_sync) return responder->send(sync_answer());
      held_sync_ = responder;
    } else if (request.path == "/v1/agents/n1/orders") {
      ++streams;
      if (!holds_orders) return open_orders(*responder);
      held_orders_ = responder;
    } else if (request.path.starts_with("/v1/agents/n1/secrets/")) {
      secrets_asked.push_back(request.path);
      unanswered_.push_back(responder);
    } else if (request.path == "/v1/agents/n1/report") {
      take_report(request, responder);
    } else if (request.path.rfind("/v1/agents/n1/relays/", 0) == 0) {
      const std::string id = request.path.substr(std::string("/v1/agents/n1/relays/").size());
      relay_targets.push_back(request.target);
      relays_[id] += request.body;
      if (*request.find_query("end") == "1") ended_[id] = true;
      if (!holds_chunks) return responder->send(wire::Response{204, {}, ""});
      held_chunks_.push_back(responder);
    }
  }
  void open_orders(wire::Responder& responder) {
    orders_ = responder.stream(200, {});
    orders_->on_closed([this] { ++streams_closed; });
    orders_->write("{\"ping\":10,\"epoch\":5,\"proof\":\"proof-10\"}\n");
  }
  void take_report(const wire::Request& request,
                   const std::shared_ptr<wire::Responder>& responder) {
    const Json body = Json::parse(request.body);
    reports.push_back(body);
    bool is_answered = answers_reports;
    for (const Json& each : body["events"]) {
      events.push_back(each);
      last_event_session = body["session"];
      is_answered = is_answered && each["kind"] != unanswered_event;
    }
    if (!is_answered) {
      unanswered_.push_back(responder);
      return;
    }
    Json answer{{"acked", body["report"]}, {"log_head", 10}, {"epoch", 5}, {"resync", resync}};
    if (report_status == 503) answer["code"] = unavailable;
    responder->send(wire::Response{report_status, {}, answer.dump()});
  }

  wire::Loop& loop_;
  std::uint16_t port_ = 0;
  std::unique_ptr<wire::Server> server_;
  std::shared_ptr<wire::Outflow> orders_;
  std::shared_ptr<wire::Responder> held_sync_;
  std::shared_ptr<wire::Responder> held_orders_;
  std::vector<std::shared_ptr<wire::Responder>> held_chunks_;
  std::vector<std::shared_ptr<wire::Responder>> unanswered_;
  std::map<std::string, std::string> relays_;
  std::map<std::string, bool> ended_;
};

// Tasks, by their names, that do what the test says.
class TaskScript : public Runner {
 public:
  class Task : public RunningTask {
   public:
    Task(TaskScript& script, std::string name) : script_(script), name_(std::move(name)) {}
    void stop() override { script_.stopped_[name_] = true; }
    void end_input() override { script_.inputs_ended_[name_] = true; }
    void signal(int number) override { script_.stopped_[name_] = number == 9; }

   private:
    TaskScript& script_;
    std::string name_;
  };

  Result<std::unique_ptr<RunningTask>> start(const TaskPlan& plan, TaskCallbacks calls) override {
    const std::string name = name_of(plan);
    std::ofstream(plan.path) << "";
    if (!plan.output_dir.empty()) std::filesystem::create_directories(plan.output_dir);
    calls_[name] = std::move(calls);
    plans_[name] = plan;
    return std::unique_ptr<RunningTask>(std::make_unique<Task>(*this, name));
  }
  Result<std::unique_ptr<RunningTask>> adopt(const TaskPlan& plan, TaskCallbacks calls) override {
    adopted_[name_of(plan)] = true;
    return start(plan, std::move(calls));
  }
  bool has(const std::string& name) const { return calls_.count(name) != 0; }
  bool adopted(const std::string& name) const { return adopted_.count(name) != 0; }
  bool stopped(const std::string& name) const {
    const auto found = stopped_.find(name);
    return found != stopped_.end() && found->second;
  }
  bool input_ended(const std::string& name) const { return inputs_ended_.count(name) != 0; }
  std::string input_path(const std::string& name) const { return plans_.at(name).stdin_path; }
  void start(const std::string& name) {
    const TaskCallbacks calls = calls_.at(name);
    calls.on_started();
  }
  void end(const std::string& name, int code) {
    TaskEnd end;
    end.exit.exit_code = code;
    const TaskCallbacks calls = calls_.at(name);
    calls.on_ended(end);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(plans_.at(name).stdout_path, std::ios::app) << text;
  }
  void rotate(const std::string& name) {
    const std::string path = plans_.at(name).stdout_path;
    std::filesystem::rename(path, path + ".1");
  }

 private:
  static std::string name_of(const TaskPlan& plan) {  // "r0" of the file "task.r0"
    return std::filesystem::path(plan.path).filename().string().substr(5);
  }

  std::map<std::string, TaskCallbacks> calls_;
  std::map<std::string, TaskPlan> plans_;
  std::map<std::string, bool> stopped_;
  std::map<std::string, bool> inputs_ended_;
  std::map<std::string, bool> adopted_;
};

class SessionTestBed : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  SessionTestBed() : runner_(loop_), controller_(loop_) {
    std::string pattern = ::testing::TempDir() + "session.XXXXXX";
    data_ = mkdtemp(pattern.data());
    options_.name = "n1";
    options_.boot_id = "boot-1";
    options_.version = "9.9";
    options_.data_dir = data_;
    options_.port = controller_.port();
    options_.mapped_users = false;
    options_.renew_lease = [this](std::int64_t until_us) { renewals_.push_back(until_us); };
  }
  ~SessionTestBed() override {
    agent_.reset();
    std::filesystem::remove_all(data_);
  }

  void make_agent() {
    Runner& runner = scripted_ ? static_cast<Runner&>(script_) : runner_;
    agent_ = std::make_unique<Agent>(loop_, options_, Inventory(), runner);
    const Result<void> started = agent_->start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void stop_agent() { agent_.reset(); }
  void restart_agent() {
    stop_agent();
    make_agent();
  }
  void connect_agent() {
    make_agent();
    ASSERT_TRUE(until([&] { return controller_.streams == 1; }));
  }
  // At most 10 s.
  bool until(const std::function<bool()>& done) {
    // Something must happen for the loop to ask again.
    std::function<void()> tick = [&] {
      ticker_ = loop_.after(std::chrono::milliseconds(2), [&tick] { tick(); });
    };
    tick();
    const bool held = loop_.run_until(done, std::chrono::seconds(10));
    ticker_.cancel();
    return held;
  }

  std::string launch(std::uint64_t job, std::uint32_t attempt, int tasks, bool barrier,
                     std::map<std::string, std::string> environment = {}) {
    ExecSpec exec;
    exec.command = {"true"};
    exec.environment = std::move(environment);
    Placement placement;
    placement.node = NodeId(1);
    Json ranks = Json::array();
    for (int i = 0; i < tasks; ++i) {
      TaskGrant grant;
      grant.rank = static_cast<Rank>(i);
      grant.local_rank = i;
      placement.tasks.push_back(grant);
      ranks.push_back(i);
    }
    const Json peer{{"node", "n1"}, {"address", "127.0.0.1"}, {"node_rank", 0}, {"ranks", ranks}};
    return Json{{"seq", 11},
                {"epoch", 5},
                {"order", "launch"},
                {"job", job},
                {"attempt", attempt},
                {"barrier", barrier},
                {"placement", codec::placement_json(placement)},
                {"placements", Json::array({peer})},
                {"spec", {{"name", "j"}, {"launch", "each_task"}, {"tasks", tasks}}},
                {"exec", Json::parse(codec::encode_exec(exec))}}
        .dump();
  }
  static std::string step(int job, int number, int rank) {
    const Json task{{"rank", rank}, {"local_rank", 0}};
    const Json body{{"id", "step-" + std::to_string(number)},
                    {"job", job},
                    {"attempt", 1},
                    {"step", number},
                    {"tasks", Json::array({task})},
                    {"tasks_total", 1},
                    {"nodes", {"n1"}},
                    {"command", {"true"}}};
    return Json{{"step", body}}.dump();
  }
  static std::string relay(const std::string& id, int job, bool follow) {
    const Json body{{"id", id},        {"kind", "log"},      {"job", job},
                    {"attempt", 1},    {"rank", 0},          {"offset", 0},
                    {"step", nullptr}, {"stream", "stdout"}, {"follow", follow}};
    return Json{{"relay", body}}.dump();
  }

  int count(const std::string& kind, int job) const {
    int found = 0;
    for (const Json& each : controller_.events) {
      found += each["kind"] == kind && each["job"] == job ? 1 : 0;
    }
    return found;
  }
  bool reported_now(const std::string& kind, int job) const { return count(kind, job) > 0; }
  bool reported(const std::string& kind, int job) {
    return until([&] { return reported_now(kind, job); });
  }
  Json event(const std::string& kind, int job) const {
    for (const Json& each : controller_.events) {
      if (each["kind"] == kind && each["job"] == job) return each;
    }
    return Json::object();
  }
  bool exists(const std::string& path) const { return std::filesystem::exists(data_ + "/" + path); }
  std::string read(const std::string& path) const {
    std::ifstream file(data_ + "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string data_;
  wire::Loop loop_;
  wire::Timer ticker_;
  NullRunner runner_;
  TaskScript script_;
  ScriptedController controller_;
  bool scripted_ = false;
  AgentOptions options_;
  std::vector<std::int64_t> renewals_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace dove::agent
