// Streams of the API: events, logs and steps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/api_fixture.h"
#include "wire/sse.h"

namespace dove::server {
namespace {

class Streams : public WithApi {
 protected:
  struct Reading {
    std::unique_ptr<wire::InStream> stream;
    int status = 0;
    std::vector<std::string> lines;
    bool closed = false;
    std::string why;
  };
  std::unique_ptr<Reading> open(const std::string& method, const std::string& target,
                                const std::string& body = "", wire::Pairs headers = {},
                                const std::string& token = "") {
    auto reading = std::make_unique<Reading>();
    wire::Request request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    request.headers.emplace_back("Authorization",
                                 "Bearer " + (token.empty() ? live.admin_token : token));
    request.body = body;
    wire::StreamCallbacks callbacks;
    Reading* into = reading.get();
    callbacks.on_open = [into](int status) { into->status = status; };
    callbacks.on_line = [into](std::string_view line) { into->lines.emplace_back(line); };
    callbacks.on_closed = [into](const Error& why) {
      into->closed = true;
      into->why = why.code;
    };
    reading->stream = live.client->open_stream(std::move(request), std::move(callbacks));
    EXPECT_TRUE(live.until([into] { return into->status != 0 || into->closed; }));
    return reading;
  }
  static std::vector<Json> events(const Reading& reading) {
    std::vector<Json> found;
    wire::SseParser parser;
    for (const std::string& line : reading.lines) {
      if (auto event = parser.feed_line(line)) found.push_back(Json::parse(event->data));
    }
    return found;
  }
  // A running job on n1.
  std::uint64_t run_job(FakeAgent& agent, int tasks = 1) {
    Json body = small_job_body();
    body["tasks"] = tasks;
    const std::uint64_t job = live.submit(body);
    job_token = agent.wait_line("launch").at("job_token");
    agent.tell("started", job, 1);
    return job;
  }

  std::string job_token;
};

const wire::Pairs kSse{{"Accept", "text/event-stream"}};

TEST_F(Streams, EventsComeAsTheyHappenAndResume) {
  const auto first = open("GET", "/v1/events", "", kSse);
  EXPECT_EQ(first->status, 200);
  live.submit(small_job_body());
  ASSERT_TRUE(live.until([&] { return events(*first).size() == 1; }));
  const Json submitted = events(*first)[0];
  EXPECT_EQ(submitted.at("kind"), "JobSubmitted");
  EXPECT_EQ(submitted.at("job"), 1);
  live.submit(small_job_body());
  live.submit(small_job_body());
  const std::string id = std::to_string(submitted.at("seq").get<std::uint64_t>());
  const auto resumed =
      open("GET", "/v1/events", "", {{"Accept", "text/event-stream"}, {"Last-Event-ID", id}});
  ASSERT_TRUE(live.until([&] { return events(*resumed).size() == 2; }));
  EXPECT_EQ(events(*resumed)[0].at("job"), 2);
}

TEST_F(Streams, EventsAreFilteredAndPaged) {
  for (int i = 0; i < 5; ++i) live.submit(small_job_body());
  live.call("POST", "/v1/jobs/3/hold");
  const auto of_job = open("GET", "/v1/events?after=0&job=3", "", kSse);
  ASSERT_TRUE(live.until([&] { return events(*of_job).size() == 2; }));
  EXPECT_EQ(events(*of_job)[1].at("kind"), "JobHeld");
  Json page = live.call("GET", "/v1/events?limit=2&kind=JobSubmitted").body;
  EXPECT_EQ(page.at("events").size(), 2u);
  page = live.call("GET", "/v1/events?kind=JobSubmitted&after=" + page.at("next").dump()).body;
  EXPECT_EQ(page.at("events").size(), 3u);
  EXPECT_TRUE(page.at("next").is_null());
}

TEST_F(Streams, EventsAreFilteredByTime) {
  for (int i = 0; i < 3; ++i) live.submit(small_job_body());
  const Json all = live.call("GET", "/v1/events").body.at("events");
  const std::int64_t second_us = live.call("GET", "/v1/jobs/2").body.at("submitted_at_us");
  const auto at_us = [](const Json& record) { return record.at("at_us").get<std::int64_t>(); };
  const auto at_or_later = std::count_if(
      all.begin(), all.end(), [&](const Json& record) { return at_us(record) >= second_us; });
  ASSERT_GT(at_or_later, 0);
  for (const char* order : {"", "&order=newest"}) {
    const Json later = live.call("GET", fmt::format("/v1/events?from={}{}", second_us, order)).body;
    EXPECT_EQ(later.at("events").size(), static_cast<std::size_t>(at_or_later)) << order;
    for (const Json& record : later.at("events")) EXPECT_GE(at_us(record), second_us);
    const Json before =
        live.call("GET", fmt::format("/v1/events?before={}{}", second_us, order)).body;
    EXPECT_EQ(before.at("events").size(), all.size() - later.at("events").size()) << order;
    EXPECT_TRUE(before.at("next").is_null()) << order;
  }
  const auto stream = open("GET", fmt::format("/v1/events?from={}", second_us), "", kSse);
  ASSERT_TRUE(
      live.until([&] { return events(*stream).size() == static_cast<std::size_t>(at_or_later); }));
  live.submit(small_job_body());
  EXPECT_TRUE(live.until([&] { return events(*stream).back().value("job", 0) == 4; }));
  const auto whole = open("GET", "/v1/events?from=0", "", kSse);
  EXPECT_TRUE(live.until([&] { return events(*whole).size() > all.size(); })) << "not from now";
  EXPECT_EQ(open("GET", "/v1/events?before=1", "", kSse)->status, 400) << "it has no end";
  EXPECT_EQ(live.call("GET", "/v1/events?from=yesterday").code(), "bad_parameter");
}

TEST_F(Streams, EachFollowerSeesWhatItAskedFor) {
  live.submit(small_job_body());
  const auto all = open("GET", "/v1/events", "", kSse);
  const auto of_first = open("GET", "/v1/events?job=1", "", kSse);
  const auto submitted = open("GET", "/v1/events?kind=JobSubmitted", "", kSse);
  live.submit(small_job_body());
  live.call("POST", "/v1/jobs/1/hold");
  live.submit(small_job_body());
  ASSERT_TRUE(live.until([&] { return events(*all).size() == 3; }));
  ASSERT_TRUE(live.until([&] { return events(*submitted).size() == 2; }));
  ASSERT_TRUE(live.until([&] { return events(*of_first).size() == 1; }));
  EXPECT_EQ(events(*of_first)[0].at("kind"), "JobHeld");
  EXPECT_EQ(events(*of_first)[0], events(*all)[1]);
  EXPECT_EQ(events(*submitted)[1], events(*all)[2]);
}

TEST_F(Streams, ALogIsReadThroughTheController) {
  FakeAgent agent(live, "n1");
  agent.connect();
  EXPECT_EQ(live.call("GET", "/v1/jobs/1/logs").code(), "no_such_job");
  const std::uint64_t job = run_job(agent);
  const std::string target = "/v1/jobs/" + std::to_string(job) + "/logs?follow=1";
  const auto log = open("GET", target);
  const Json relay = agent.wait_line("relay").at("relay");
  EXPECT_EQ(relay.at("job"), job);
  EXPECT_TRUE(relay.at("follow").get<bool>());
  EXPECT_EQ(agent.relay(relay.at("id"), "one\ntwo\n", false).status, 204);
  ASSERT_TRUE(live.until([&] { return log->lines.size() == 2; }));
  EXPECT_EQ(agent.relay(relay.at("id"), "three\n", true).status, 204);
  ASSERT_TRUE(live.until([&] { return log->closed; }));
  EXPECT_EQ(log->lines.back(), "three");
  EXPECT_EQ(agent.relay(relay.at("id"), "four\n", false).status, 404);
  EXPECT_EQ(live.call("GET", "/v1/jobs/1/logs?rank=5").code(), "no_such_task");
}

// A node that is cut off may have sent a part of a log, or nothing.
TEST_F(Streams, ALogWhoseNodeIsGoneIsNotWhole) {
  FakeAgent agent(live, "n1");
  agent.connect();
  run_job(agent);
  const auto log = open("GET", "/v1/jobs/1/logs");
  const Json relay = agent.wait_line("relay").at("relay");
  EXPECT_EQ(agent.relay(relay.at("id"), "one\n", false).status, 204);
  ASSERT_TRUE(live.until([&] { return log->lines.size() == 1; }));
  agent.stream.reset();
  ASSERT_TRUE(live.until([&] { return log->closed; }));
  EXPECT_EQ(log->why, "connection_broken");
}

// The relay of that log alone was lost: the node's session goes on.
TEST_F(Streams, ALogWhoseRelayBrokeIsNotWhole) {
  FakeAgent agent(live, "n1");
  agent.connect();
  run_job(agent);
  const auto log = open("GET", "/v1/jobs/1/logs");
  const Json relay = agent.wait_line("relay").at("relay");
  EXPECT_EQ(agent.relay(relay.at("id"), "one\n", false).status, 204);
  EXPECT_EQ(agent.relay(relay.at("id"), "", false, "&broken=1").status, 204);
  ASSERT_TRUE(live.until([&] { return log->closed; }));
  EXPECT_EQ(log->why, "connection_broken");
  EXPECT_EQ(agent.relay(relay.at("id"), "two\n", false).status, 404);
  EXPECT_FALSE(agent.closed);
}

TEST_F(Streams, AStepWhoseRelayBrokeIsTakenUpAgain) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = run_job(agent, 2);
  const std::string target = "/v1/jobs/" + std::to_string(job) + "/steps";
  const auto step = open("POST", target, R"({"command":["cat"]})", {}, job_token);
  const Json order = agent.wait_line("step").at("step");
  ASSERT_TRUE(live.until([&] { return !step->lines.empty(); }));
  const Json begun = Json::parse(step->lines[0]).at("begun");
  EXPECT_EQ(agent.relay(order.at("id"), "", false, "&broken=1&rank=0&stream=stdout").status, 204);
  ASSERT_TRUE(live.until([&] { return step->closed; }));
  EXPECT_EQ(step->why, "connection_broken");

  const Json seen{{"rank", 0}, {"stream", "stdout"}, {"bytes", 3}};
  const Json rest{
      {"attempt", 1}, {"nodes", begun.at("nodes")}, {"seen", Json::array({seen})}, {"wait_s", 5}};
  const std::string at = "/" + std::to_string(order.at("step").get<int>()) + "/attach";
  const auto again = open("POST", target + at, rest.dump(), {}, job_token);
  const Json attach = agent.wait_line("step_attach").at("step_attach");
  EXPECT_EQ(attach.at("seen").at(0).at("bytes"), 3);
  EXPECT_EQ(attach.at("each_exit"), true);
  EXPECT_EQ(agent.relay(attach.at("id"), "more", false, "&rank=0&stream=stdout").status, 204);
  agent.tell("step_ended", job, 1,
             {{"step", order.at("step")},
              {"exits", {FakeAgent::exit_of(0, 0), FakeAgent::exit_of(1, 0)}}});
  ASSERT_TRUE(live.until([&] { return again->closed; }));
  EXPECT_EQ(Json::parse(again->lines.back()).at("ended").at("exit_code"), 0);
  EXPECT_EQ(again->why, "stream_ended");
}

TEST_F(Streams, TheTailOfALogThenWhatFollows) {
  FakeAgent agent(live, "n1");
  agent.connect();
  run_job(agent);
  const auto log = open("GET", "/v1/jobs/1/logs?tail=2&follow=1");
  const Json first = agent.wait_line("relay").at("relay");
  EXPECT_FALSE(first.at("follow").get<bool>());
  agent.lines.clear();
  agent.relay(first.at("id"), "a\nb\nc\nd", true);
  ASSERT_TRUE(live.until([&] { return log->lines.size() == 1; }));
  const Json second = agent.wait_line("relay").at("relay");
  EXPECT_EQ(second.at("offset"), 7);
  agent.relay(second.at("id"), "\n", true);
  ASSERT_TRUE(live.until([&] { return log->closed; }));
  EXPECT_EQ(log->lines, (std::vector<std::string>{"c", "d"}));
}

TEST_F(Streams, TheTailOfALineWithoutEndIsItsEnd) {
  FakeAgent agent(live, "n1");
  agent.connect();
  run_job(agent);
  const auto log = open("GET", "/v1/jobs/1/logs?tail=2");
  const Json relay = agent.wait_line("relay").at("relay");
  for (int i = 0; i < 160; ++i) agent.relay(relay.at("id"), std::string(64 << 10, '.'), false);
  agent.relay(relay.at("id"), "done\n", true);
  ASSERT_TRUE(live.until([&] { return log->closed; }));
  EXPECT_EQ(log->why, "stream_ended");
  ASSERT_EQ(log->lines.size(), 1u);
  EXPECT_LE(log->lines[0].size(), 8u << 20);
  EXPECT_GE(log->lines[0].size(), 4u << 20);
  EXPECT_TRUE(log->lines[0].ends_with(".done"));
}

TEST_F(Streams, ANewReaderGoneEndsTheRelay) {
  FakeAgent agent(live, "n1");
  agent.connect();
  run_job(agent);
  auto log = open("GET", "/v1/jobs/1/logs?follow=1");
  const Json relay = agent.wait_line("relay").at("relay");
  log->stream.reset();
  EXPECT_EQ(agent.wait_line("relay_end").at("relay_end").at("id"), relay.at("id"));
}

TEST_F(Streams, AStepRunsInsideItsJob) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = run_job(agent, 2);
  const std::string target = "/v1/jobs/" + std::to_string(job) + "/steps";
  const auto step =
      open("POST", target, R"({"command":["hostname"],"kill_on_bad_exit":true})", {}, job_token);
  ASSERT_EQ(step->status, 200);
  const Json order = agent.wait_line("step").at("step");
  EXPECT_EQ(order.at("tasks_total"), 2);
  EXPECT_EQ(order.at("command"), Json::array({"hostname"}));
  EXPECT_EQ(order.at("tasks").at(1).at("rank"), 1);
  agent.relay(order.at("id"), "n1\n", false, "&rank=1&stream=stdout");
  agent.relay(order.at("id"), "\xff\xfe", false, "&rank=0&stream=stderr");
  agent.tell("step_ended", job, 1,
             {{"step", order.at("step")},
              {"exits", {FakeAgent::exit_of(0, 0), FakeAgent::exit_of(1, 4)}}});
  ASSERT_TRUE(live.until([&] { return step->closed; }));
  ASSERT_EQ(step->lines.size(), 6u);
  EXPECT_EQ(Json::parse(step->lines[1]),
            Json::parse(R"({"rank":1,"stream":"stdout","data":"n1\n"})"));
  EXPECT_EQ(Json::parse(step->lines[2]).at("base64"), "//4=");
  EXPECT_EQ(Json::parse(step->lines[5]).at("ended").at("exit_code"), 4);
}

// What an agent says of single tasks of a step while others of them run.
Json exits_of(const Json& order, const std::vector<std::pair<int, int>>& codes) {
  Json exits = Json::array();
  for (const auto& [rank, code] : codes) {
    exits.push_back(Json{{"job", order.at("job")},
                         {"attempt", order.at("attempt")},
                         {"step", order.at("step")},
                         {"exit", FakeAgent::exit_of(rank, code)}});
  }
  return Json{{"step_exits", std::move(exits)}};
}

TEST_F(Streams, AFailedTaskEndsTheOthersOfItsNodeAndEachEndIsToldOnce) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = run_job(agent, 3);
  const std::string target = "/v1/jobs/" + std::to_string(job) + "/steps";
  const auto step =
      open("POST", target, R"({"command":["x"],"kill_on_bad_exit":true})", {}, job_token);
  const Json order = agent.wait_line("step").at("step");
  EXPECT_EQ(order.at("each_exit"), true);
  const Json none = Json::array();
  // One of them is not of the step.
  EXPECT_EQ(agent.report(none, 0, exits_of(order, {{0, 0}, {7, 1}})).status, 200);
  EXPECT_EQ(live.call("GET", "/v1/jobs/" + std::to_string(job)).status, 200);
  for (const Json& line : agent.lines) EXPECT_FALSE(line.contains("signal"));
  EXPECT_EQ(agent.report(none, 0, exits_of(order, {{0, 0}, {1, 3}})).status, 200);
  const Json signal = agent.wait_line("signal").at("signal");
  EXPECT_EQ(signal.at("step"), order.at("step"));
  EXPECT_EQ(signal.at("signal"), 15);
  agent.tell(
      "step_ended", job, 1,
      {{"step", order.at("step")},
       {"exits", {FakeAgent::exit_of(0, 0), FakeAgent::exit_of(1, 3), FakeAgent::exit_of(2, 1)}}});
  ASSERT_TRUE(live.until([&] { return step->closed; }));
  ASSERT_EQ(step->lines.size(), 5u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(Json::parse(step->lines[1 + rank]).at("exit").at("rank"), rank);
  }
  EXPECT_EQ(Json::parse(step->lines[4]).at("ended").at("exit_code"), 3);
}

TEST_F(Streams, TheFirstEndOfATaskEndsTheOthersAfterTheWait) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = run_job(agent, 2);
  const std::string target = "/v1/jobs/" + std::to_string(job) + "/steps";
  const auto plain = open("POST", target, R"({"command":["x"]})", {}, job_token);
  EXPECT_EQ(agent.wait_line("step").at("step").at("each_exit"), false);
  agent.lines.clear();
  const auto step = open("POST", target, R"({"command":["x"],"wait_s":1})", {}, job_token);
  const Json order = agent.wait_line("step").at("step");
  EXPECT_EQ(order.at("each_exit"), true);
  EXPECT_EQ(agent.report(Json::array(), 0, exits_of(order, {{1, 0}})).status, 200);
  ASSERT_TRUE(live.until([&] { return step->lines.size() >= 2; }));
  EXPECT_EQ(Json::parse(step->lines[1]).at("exit").at("rank"), 1);
  const Json signal = agent.wait_line("signal").at("signal");
  EXPECT_EQ(signal.at("step"), order.at("step"));
  EXPECT_EQ(signal.at("signal"), 9);
  ASSERT_TRUE(live.until([&] { return step->lines.size() >= 3; }));
  EXPECT_EQ(Json::parse(step->lines[2]).at("waited").at("step"), order.at("step"));
  const Json never{{"command", {"x"}}, {"wait_s", -1}};
  EXPECT_EQ(live.call("POST", target, never, {}, &job_token).body.at("field"), "wait_s");
}

TEST_F(Streams, AStepTakesWhatItsClientSends) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = run_job(agent, 2);
  const std::string target = "/v1/jobs/" + std::to_string(job) + "/steps";
  const auto step = open("POST", target, R"({"command":["cat"],"stdin":"stream"})", {}, job_token);
  const Json order = agent.wait_line("step").at("step");
  EXPECT_EQ(order.at("stdin"), "stream");
  ASSERT_TRUE(live.until([&] { return !step->lines.empty(); }));
  EXPECT_EQ(Json::parse(step->lines[0]).at("begun").at("input"), true);

  const std::string input = target + "/" + std::to_string(order.at("step").get<int>()) + "/input";
  // An agent has a connection of its own: on one, an answer waits for the one before it.
  wire::AsyncClient asking(live.loop, "127.0.0.1", live.api->port());
  std::optional<wire::Response> asked;
  const auto ask = [&](int offset) {
    wire::Request request;
    request.method = "GET";
    request.target = "/v1/agents/n1/relays/" + order.at("id").get<std::string>() +
                     "/input?offset=" + std::to_string(offset);
    request.headers = {{"Authorization", "Bearer " + agent.token}};
    asked.reset();
    asking.call(std::move(request), [&](Result<wire::Response> answer) {
      if (answer.ok()) asked = std::move(answer).value();
    });
  };
  std::optional<Json> taken;
  const auto post = [&](const std::string& query, const std::string& bytes) {
    wire::Request request;
    request.method = "POST";
    request.target = input + query;
    request.headers = {{"Authorization", "Bearer " + job_token}};
    request.body = bytes;
    taken.reset();
    live.client->call(std::move(request), [&](Result<wire::Response> answer) {
      if (answer.ok()) taken = Json::parse(answer->body);
    });
  };
  post("?offset=0", "abc");
  ask(0);
  ASSERT_TRUE(live.until([&] { return asked.has_value(); }));
  EXPECT_EQ(asked->body, "abc");
  EXPECT_FALSE(taken.has_value()) << "not before it was passed on";
  ask(2);
  ASSERT_TRUE(live.until([&] { return asked.has_value(); }));
  EXPECT_EQ(asked->body, "c");
  ask(3);
  ASSERT_TRUE(live.until([&] { return taken.has_value(); }));
  EXPECT_EQ(taken->at("taken"), 3);
  post("?offset=7", "z");
  ASSERT_TRUE(live.until([&] { return taken.has_value(); }));
  EXPECT_EQ(taken->value("code", ""), "offset_too_large");
  post("?offset=3&end=1", "");
  ASSERT_TRUE(live.until([&] { return asked.has_value() && taken.has_value(); }));
  EXPECT_EQ(asked->status, 204);
  EXPECT_EQ(*wire::find_header(asked->headers, "Dove-End"), "1");
  EXPECT_EQ(taken->at("taken"), 3);
  EXPECT_EQ(live.call("POST", target + "/99/input?offset=0", "x", {}, &job_token).code(),
            "step_over");
}

TEST_F(Streams, AStepNeedsItsOwnJobRunning) {
  FakeAgent agent(live, "n1");
  agent.connect();
  const std::uint64_t job = run_job(agent);
  const std::uint64_t other = live.submit(small_job_body());
  const Json body{{"command", {"hostname"}}};
  const auto call = [&](std::uint64_t id, const Json& with) {
    return live.call("POST", "/v1/jobs/" + std::to_string(id) + "/steps", with, {}, &job_token);
  };
  EXPECT_EQ(call(other, body).status, 403);
  EXPECT_EQ(call(job, Json{{"command", Json::array()}}).body.at("field"), "command");
  EXPECT_EQ(call(job, Json{{"command", {"a"}}, {"tasks", 99}}).code(), "step_too_large");
  EXPECT_EQ(call(job, Json{{"command", {"a"}}, {"nodelist", {"n9"}}}).code(),
            "no_such_node_in_job");
}

}  // namespace
}  // namespace dove::server
