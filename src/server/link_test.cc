// Connections to ports of tasks, as clients and agents see them (GET /v1/jobs/{id}/forward).
#include <gtest/gtest.h>

#include <algorithm>

#include "server/api_fixture.h"
#include "wire/web_socket/web_socket.h"

namespace dove::server {
namespace {

class Links : public WithApi {
 protected:
  struct End {
    std::unique_ptr<wire::WebSocket> socket;
    bool open = false;
    std::vector<std::string> texts;
    std::string bytes;
    std::optional<Error> closed;
  };

  void SetUp() override {
    agent_.connect();
    job_ = live.submit(small_job_body());
    agent_.wait_line("launch");
    ASSERT_EQ(agent_.tell("started", job_, 1).status, 200);
  }
  std::unique_ptr<End> dial(const std::string& target, const std::string& token) {
    auto end = std::make_unique<End>();
    End* const to = end.get();
    wire::Request request;
    request.target = target;
    request.headers = {{"Authorization", "Bearer " + token}};
    wire::WebSocketCallbacks callbacks;
    callbacks.on_open = [to] { to->open = true; };
    callbacks.on_text = [to](std::string_view text) { to->texts.emplace_back(text); };
    callbacks.on_bytes = [to](std::string_view bytes) { to->bytes += bytes; };
    callbacks.on_closed = [to](Error error) { to->closed = std::move(error); };
    end->socket = wire::connect_web_socket(live.loop, {"127.0.0.1", live.api->port()},
                                           std::move(request), std::move(callbacks));
    return end;
  }
  std::string forward_of(const std::string& query) {
    return "/v1/jobs/" + std::to_string(job_) + "/forward?" + query;
  }
  std::unique_ptr<End> client(const std::string& query) {
    return dial(forward_of(query), live.admin_token);
  }
  // The agent's end of what it was ordered last.
  std::unique_ptr<End> agents_end(const Json& order) {
    return dial("/v1/agents/n1/execs/" + order.at("id").get<std::string>(), agent_.token);
  }
  Json ordered() {
    Json found;
    EXPECT_TRUE(live.until([&] {
      for (const Json& line : agent_.lines) {
        if (line.contains("forward")) found = line.at("forward");
      }
      return !found.is_null();
    }));
    return found;
  }

  FakeAgent agent_{live, "n1"};
  std::uint64_t job_ = 0;
};

TEST_F(Links, WhatComesOnOneEndLeavesOnTheOther) {
  const auto from = client("port=8080");
  const Json order = ordered();
  EXPECT_EQ(order.at("job"), job_);
  EXPECT_EQ(order.at("attempt"), 1);
  EXPECT_EQ(order.at("rank"), 0);
  EXPECT_EQ(order.at("port"), 8080);
  EXPECT_EQ(order.at("looks_only"), false);
  const auto to = agents_end(order);
  ASSERT_TRUE(live.until([&] { return to->open; }));
  to->socket->send_text(R"({"begun":{"rank":0}})");
  to->socket->send_bytes("answer");
  from->socket->send_bytes("ask");
  from->socket->send_text(R"({"end":true})");
  ASSERT_TRUE(live.until([&] { return to->texts.size() == 1 && from->bytes == "answer"; }));
  EXPECT_EQ(to->bytes, "ask");
  EXPECT_EQ(from->texts, std::vector<std::string>{R"({"begun":{"rank":0}})"});
  from->socket->close("over");
  EXPECT_TRUE(live.until([&] { return to->closed.has_value(); }));
}

TEST_F(Links, AnAgentThatIsGoneIsTold) {
  const auto from = client("socket=app&look=1");
  const Json order = ordered();
  EXPECT_EQ(order.at("socket"), "app");
  EXPECT_EQ(order.at("looks_only"), true);
  auto to = agents_end(order);
  ASSERT_TRUE(live.until([&] { return to->open; }));
  to->socket.reset();
  ASSERT_TRUE(live.until([&] { return from->closed.has_value(); }));
  ASSERT_EQ(from->texts.size(), 1u);
  EXPECT_EQ(Json::parse(from->texts[0]).at("error").at("code"), "agent_lost");
}

TEST_F(Links, AnExpelledNodeIsCutOff) {
  const auto from = client("port=8080");
  const auto to = agents_end(ordered());
  ASSERT_TRUE(live.until([&] { return to->open; }));
  const Answer answer = live.call("POST", "/v1/nodes/n1/action", Json{{"action", "expel"}});
  EXPECT_EQ(answer.status, 200) << answer.response.body;
  ASSERT_TRUE(live.until([&] { return from->closed.has_value() && to->closed.has_value(); }));
  ASSERT_EQ(from->texts.size(), 1u);
  EXPECT_EQ(Json::parse(from->texts[0]).at("error").at("code"), "node_expelled");
}

TEST_F(Links, OnlyTheAgentOfTheTasksNodeTakesUpAnEnd) {
  const auto from = client("port=8080");
  const Json order = ordered();
  FakeAgent other(live, "n2");
  other.connect();
  const std::string id = order.at("id");
  const Answer answer = live.call("GET", "/v1/agents/n2/execs/" + id, nullptr, {}, &other.token);
  EXPECT_EQ(answer.code(), "exec_over");
  EXPECT_EQ(live.call("GET", "/v1/agents/n1/execs/" + id, nullptr, {}, &other.token).status, 401);
}

TEST_F(Links, WhatCannotBeConnectedToIsRefusedBefore) {
  const auto code = [&](const std::string& query) {
    const Answer answer = live.call("GET", forward_of(query));
    return std::to_string(answer.status) + " " + answer.code();
  };
  for (const char* query : {"", "port=0", "port=65536", "port=x", "port=80&socket=a", "socket="}) {
    EXPECT_EQ(code(query).substr(0, 3), "400") << query;
  }
  EXPECT_EQ(code("port=80&task=7"), "404 no_such_task");
  EXPECT_EQ(code("port=80"), "426 upgrade_required");
  Json body = small_job_body();
  body["hold"] = true;
  const std::uint64_t waiting = live.submit(body);
  const Answer held = live.call("GET", "/v1/jobs/" + std::to_string(waiting) + "/forward?port=80");
  EXPECT_EQ(held.status, 409);
  EXPECT_EQ(held.code(), "not_running");
  EXPECT_NE(held.response.body.find("is not running, it is held: "), std::string::npos)
      << held.response.body;
  EXPECT_EQ(live.call("GET", "/v1/jobs/999/forward?port=80").status, 404);
}

TEST_F(Links, ATerminalHasASize) {
  const std::string exec = "/v1/jobs/" + std::to_string(job_) + "/exec";
  for (const Json& size : {Json{{"rows", 0}, {"columns", 0}}, Json{{"rows", 24}, {"columns", -1}},
                           Json{{"rows", 70'000}, {"columns", 80}}}) {
    Json asked{{"command", {"true"}}, {"terminal", true}};
    asked.update(size);
    const auto from = dial(exec, live.admin_token);
    from->socket->send_text(Json{{"exec", asked}}.dump());
    ASSERT_TRUE(live.until([&] { return !from->texts.empty(); }));
    const Json error = Json::parse(from->texts[0]).at("error");
    EXPECT_EQ(error.at("code"), "bad_terminal_size");
    EXPECT_EQ(error.at("status"), 400);
    EXPECT_NE(error.at("message").get<std::string>().find("24 x 80"), std::string::npos);
  }
}

TEST_F(Links, AJobHasSoManyConnectionsAndNoMore) {
  constexpr std::size_t kMost = 256;
  std::vector<std::unique_ptr<End>> ends;
  for (std::size_t i = 0; i < kMost; ++i) ends.push_back(client("port=8080"));
  ASSERT_TRUE(live.until([&] {
    return std::all_of(ends.begin(), ends.end(), [](const auto& end) { return end->open; });
  }));
  const auto one_more = client("port=8080");
  ASSERT_TRUE(live.until([&] { return one_more->closed.has_value(); }));
  EXPECT_EQ(one_more->closed->code, "http_429");
  EXPECT_NE(one_more->closed->message.find("too_many_connections"), std::string::npos);
  ends[0]->socket.reset();
  bool has_room = false;
  for (int tries = 0; tries < 100 && !has_room; ++tries) {
    const auto again = client("port=8080");
    ASSERT_TRUE(live.until([&] { return again->open || again->closed.has_value(); }));
    has_room = again->open;
  }
  EXPECT_TRUE(has_room);
}

}  // namespace
}  // namespace dove::server
