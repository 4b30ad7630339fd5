// For tests of the API: a server on loopback, a client, and an agent that declares itself a fake.
//
// Everything but the controller runs on the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/native/native_backend.h"
#include "base/check.h"
#include "codec/json.h"
#include "controller/controller_fixture.h"
#include "policies/standard.h"
#include "server/server.h"
#include "store/memory/memory_store.h"
#include "wire/async_client.h"
#include "wire/loop.h"

namespace dove::server {

using Json = nlohmann::json;

struct Answer {
  int status = 0;
  Json body;  // null when it is not JSON
  wire::Response response;
  std::string code() const { return body.is_object() ? body.value("code", "") : ""; }
};

inline std::string make_directory() {
  std::string name = std::filesystem::temp_directory_path() / "dove-api-XXXXXX";
  CHECK(mkdtemp(name.data()) != nullptr, "a temporary directory can be made");
  return name;
}

// What a LiveApi has other than most.
struct LiveOptions {
  std::string sessions_url = {};
  bool local_passwords = false;
  hook::Ask ask_hook = {};
  ControllerPeers controllers = {};
  std::shared_ptr<listener::RefusalTally> refused = {};
  std::int32_t first_level = kNewestLevel;
  bool reads_aside = false;
  listener::ThrottleLimits throttle = {};
  std::optional<ApiTls> tls = {};
  std::function<std::optional<Error>()> silence = {};
  std::function<std::int64_t()> clock = {};  // of the controller; any thread
  // What the controller is told when its log fails; unset: that must not happen.
  std::function<void(const Error&)> on_log_failure = {};
};

// A controller with its API, on a store that outlives it. `Store` is both LogStore and LogKeeper.
class LiveApi {
 public:
  template <class Store>
  LiveApi(Store& store, const core::Policies& policies, LiveOptions options = {})
      : directory_(make_directory()),
        options_(std::move(options)),
        controller(store, store, backend_, options_of_controller(policies)) {
    begin(store);
  }
  ~LiveApi() {
    controller.stop();
    api.reset();
    std::filesystem::remove_all(directory_);
  }

  template <class Store>
  void begin(Store& store) {
    const Result<void> opened = controller.open();
    CHECK(opened.ok(), "the controller opens");
    ApiOptions options;
    options.data_dir = directory_;
    options.heartbeat_us = 50'000;
    options.report_burst = 2'000;
    options.reads_aside = options_.reads_aside;
    options.tls = options_.tls;
    options.silence = options_.silence;
    options.sessions_url = options_.sessions_url;
    options.local_passwords = options_.local_passwords;
    options.ask_hook = options_.ask_hook;
    options.controllers = options_.controllers;
    options.refused = options_.refused;
    options.throttle = options_.throttle;
    options.on_fatal = [this](const Error& error) { fatal = error; };
    auto made = ApiServer::make(loop, options, controller, backend_, store);
    CHECK(made.ok(), "the server listens");
    api = std::move(made).value();
    controller.start();
    api->begin();
    std::ifstream(directory_ + "/token") >> admin_token;
    client = std::make_unique<wire::AsyncClient>(loop, "127.0.0.1", api->port());
  }

  bool until(const std::function<bool()>& done) {
    return loop.run_until(done, std::chrono::seconds(20));
  }

  Answer call(const std::string& method, const std::string& target, const Json& body = nullptr,
              wire::Pairs headers = {}, const std::string* token = nullptr) {
    wire::Request request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    const std::string& bearer = token == nullptr ? admin_token : *token;
    if (!bearer.empty()) request.headers.emplace_back("Authorization", "Bearer " + bearer);
    request.body = body.is_null() ? "" : body.is_string() ? body.get<std::string>() : body.dump();
    std::optional<Answer> answer;
    client->call(std::move(request), [&answer](Result<wire::Response> response) {
      answer.emplace();
      if (!response.ok()) return;
      answer->status = response->status;
      answer->body = Json::parse(response->body, nullptr, /*allow_exceptions=*/false);
      if (answer->body.is_discarded()) answer->body = nullptr;
      answer->response = std::move(response).value();
    });
    CHECK(until([&] { return answer.has_value(); }), "the server answers in time");
    return *answer;
  }

  std::uint64_t submit(const Json& body) {
    const Answer answer = call("POST", "/v1/jobs", body);
    CHECK(answer.status == 201, "the job is accepted");
    return answer.body.at("id").get<std::uint64_t>();
  }
  std::string state(std::uint64_t job) {
    return call("GET", "/v1/jobs/" + std::to_string(job)).body.value("state", "");
  }
  std::string node_contact(const std::string& name) {
    return call("GET", "/v1/nodes/" + name).body.value("contact", "");
  }

 private:
  controller::ControllerOptions options_of_controller(const core::Policies& policies) const {
    controller::ControllerOptions options = controller::test_options(policies);
    options.first_level = options_.first_level;
    options.clock = options_.clock;
    options.on_fatal = options_.on_log_failure;
    return options;
  }

  std::string directory_;
  LiveOptions options_;
  backends::NativeBackend backend_;

 public:
  const std::string& directory() const { return directory_; }
  wire::Loop loop;
  controller::Controller controller;
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<wire::AsyncClient> client;
  std::string admin_token;
  std::optional<Error> fatal;
};

class WithApi : public testing::Test {
 protected:
  store::MemoryStore store;
  LiveApi live{store, policies::standard_policies()};
};

// Joins, syncs, and collects the lines it is sent. It does nothing by itself.
class FakeAgent {
 public:
  FakeAgent(LiveApi& live, std::string name) : live_(live), name_(std::move(name)) {}

  Json greeting() const {
    Json said{{"protocol", 1},
              {"name", name_},
              {"boot_id", boot_id},
              {"address", "127.0.0.1"},
              {"version", "test"},
              {"epoch_seen", epoch_seen},
              {"log_head_seen", log_head_seen},
              {"inventory", codec::inventory_json(controller::small_inventory())},
              {"placements", placements},
              {"steps", Json::array()},
              {"ticket", ticket}};
    said.update(also_said);
    return said;
  }
  Answer join() {
    const std::string join_token =
        live_.call("POST", "/v1/join-tokens", Json{{"node", name_}}).body.value("token", "");
    Answer answer = live_.call("POST", "/v1/agents/join", greeting(), {}, &join_token);
    if (answer.status == 201) token = answer.body.at("agent_token").get<std::string>();
    return answer;
  }
  Answer sync() {
    ticket.clear();
    Answer answer = sync_once();
    if (answer.status != 200) return answer;
    ticket = answer.body.at("ticket").get<std::string>();
    answer = sync_once();
    if (answer.status == 200) session = answer.body.at("session").get<std::string>();
    return answer;
  }
  Answer sync_once() {
    return live_.call("POST", "/v1/agents/" + name_ + "/sync", greeting(), {}, &token);
  }
  void open_stream() {
    wire::Request request;
    request.method = "GET";
    request.target = "/v1/agents/" + name_ + "/orders?after=0&session=" + session;
    request.headers = {{"Authorization", "Bearer " + token}};
    wire::StreamCallbacks callbacks;
    callbacks.on_open = [this](int status) { stream_status = status; };
    callbacks.on_line = [this](std::string_view line) { lines.push_back(Json::parse(line)); };
    callbacks.on_closed = [this](const Error&) { closed = true; };
    closed = false;
    stream = live_.client->open_stream(std::move(request), std::move(callbacks));
    CHECK(live_.until([this] { return stream_status != 0; }), "the stream opens");
  }
  void connect() {
    CHECK(token.empty() ? join().status == 201 : true, "the agent joins");
    CHECK(sync().status == 200, "the agent syncs");
    open_stream();
  }
  Answer report(const Json& events, std::uint64_t applied = 0, Json more = Json::object()) {
    more.update(Json{{"session", session},
                     {"report", ++reports_},
                     {"applied", applied},
                     {"epoch_seen", epoch_seen},
                     {"log_head_seen", log_head_seen},
                     {"placements_hash", placements_hash},
                     {"events", events}});
    return live_.call("POST", "/v1/agents/" + name_ + "/report", more, {}, &token);
  }
  Answer tell(const std::string& kind, std::uint64_t job, int attempt, Json more = Json::object()) {
    more["kind"] = kind;
    more["job"] = job;
    more["attempt"] = attempt;
    return report(Json::array({more}));
  }
  static Json exit_of(int rank, int code) {
    return Json{{"rank", rank}, {"exit_code", code}, {"signal", 0}, {"cause", ""}};
  }
  // The first line that has the member (or the order of that kind), waited for.
  Json wait_line(const std::string& what) {
    Json found;
    const auto look = [&] {
      for (const Json& line : lines) {
        if (line.contains(what) || line.value("order", "") == what) found = line;
        if (!found.is_null()) return true;
      }
      return false;
    };
    CHECK(live_.until(look), "the line comes");
    return found;
  }
  Answer relay(const std::string& id, const std::string& bytes, bool end,
               const std::string& more = "") {
    return live_.call("POST",
                      "/v1/agents/" + name_ + "/relays/" + id + "?end=" + (end ? "1" : "0") + more,
                      Json(bytes), {}, &token);
  }

  std::string boot_id = "boot-1";
  std::uint64_t epoch_seen = 0;
  std::uint64_t log_head_seen = 0;
  Json placements = Json::array();
  Json also_said = Json::object();  // in the greeting
  std::string token;
  std::string ticket;
  std::string session;
  std::string placements_hash;
  std::unique_ptr<wire::InStream> stream;
  std::vector<Json> lines;
  int stream_status = 0;
  bool closed = false;

 private:
  LiveApi& live_;
  std::string name_;
  std::uint64_t reports_ = 0;
};

inline Json small_job_body(const std::string& name = "job") {
  return Json{{"name", name}, {"command", {"true"}}, {"cores", 1}};
}

}  // namespace dove::server
