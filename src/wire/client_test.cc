#include "wire/client.h"

#include <gtest/gtest.h>

#include <atomic>

#include "wire/test_peer.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

TEST(Client, calls_with_token_over_one_connection) {
  std::atomic<int> peers{0};
  std::string last_peer;
  TestServer at([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.peer_address != last_peer) ++peers;
    last_peer = request.peer_address;
    const std::string* x = request.find_query("x");
    responder->send({201,
                     {{"X-Token", std::string(request.header("authorization"))}},
                     request.method + request.path + (x ? *x : "") + request.body});
  });
  ClientOptions options;
  options.bearer_token = "secret";
  Client client(at.url(), options);
  for (const char* method : {"GET", "POST", "DELETE", "PUT", "PATCH"}) {
    const std::string body = method == std::string("POST") ? "{}" : "";
    const Result<Response> got = client.call(method, "/v1/x?x=1", body);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got.value().status, 201);
    EXPECT_EQ(got.value().body, method + ("/v1/x1" + body));
    EXPECT_EQ(got.value().header("x-token"), "Bearer secret");
  }
  const Result<Response> head = client.call("HEAD", "/v1/x");
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head.value().body, "");
  EXPECT_EQ(peers, 1);
}

TEST(Client, large_bodies_go_both_ways) {
  TestServer at([](const Request& request, const std::shared_ptr<Responder>& responder) {
    responder->send({200, {}, request.body});
  });
  Client client(at.url());
  const std::string body(5'000'000, 'x');
  const Result<Response> got = client.call("POST", "/", body);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got.value().body, body);
  ClientOptions small;
  small.response_bytes_max = 1000;
  EXPECT_EQ(Client(at.url(), small).call("POST", "/", body).error().code, "response_too_large");
}

TEST(Client, of_several_servers_the_one_that_leads_is_asked) {
  std::uint16_t gone = 0;
  {
    const TestServer at([](const Request&, const std::shared_ptr<Responder>&) {});
    gone = at.port;
  }
  std::atomic<int> standby_asked{0};
  TestServer standby([&](const Request&, const std::shared_ptr<Responder>& responder) {
    ++standby_asked;
    responder->send({503, {}, R"({"code":"not_leader"})"});
  });
  std::atomic<int> asked{0};
  TestServer leader([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    // Nobody leads for a moment.
    if (++asked == 1) return responder->send({503, {}, R"({"code":"lease_over"})"});
    responder->send({200, {}, request.body});
  });
  const std::string nobody = "http://127.0.0.1:" + std::to_string(gone);
  Client client(nobody + "," + standby.url() + "/," + leader.url());
  for (const char* body : {"one", "two"}) {
    const Result<Response> got = client.call("POST", "/", body);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_EQ(got->body, body);
  }
  EXPECT_EQ(client.base_url(), leader.url());
  EXPECT_EQ(standby_asked, 2);
  EXPECT_EQ(asked, 3);
}

TEST(Client, of_several_servers_one_whose_machine_is_gone_is_passed) {
  const SilentPort gone;
  TestServer leader([](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->send({201, {}, "{}"});
  });
  ClientOptions options;
  options.connect_timeout_ms = 100;
  const std::string silent = "http://127.0.0.1:" + std::to_string(gone.port);
  Client client(silent + "," + leader.url(), options);
  const Result<Response> got = client.call("POST", "/", "{}");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->status, 201);
  const Result<Response> alone = Client(silent, options).call("GET", "/");
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, "connect_timeout");
  EXPECT_EQ(alone.error().kind, ErrorKind::kTimeout);
}

TEST(Client, nobody_there_says_what_to_do) {
  std::uint16_t port = 0;
  {
    const TestServer at([](const Request&, const std::shared_ptr<Responder>&) {});
    port = at.port;
  }
  Client client("http://127.0.0.1:" + std::to_string(port) + "/");
  const Result<Response> got = client.call("GET", "/v1/jobs");
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(got.error().code, "connection_refused");
  EXPECT_NE(got.error().message.find("http://127.0.0.1:"), std::string::npos);
  EXPECT_NE(got.error().message.find("dove up"), std::string::npos);
  EXPECT_EQ(Client("ftp://x").call("GET", "/").error().code, "bad_url");
}

TEST(Client, waits_no_longer_than_told) {
  std::vector<std::shared_ptr<Responder>> held;
  TestServer at([&](const Request&, const std::shared_ptr<Responder>& responder) {
    held.push_back(responder);
  });
  ClientOptions options;
  options.timeout_ms = 30;
  EXPECT_EQ(Client(at.url(), options).call("GET", "/").error().kind, ErrorKind::kTimeout);
}

TEST(Client, streams_lines_until_the_end_or_no_more_wanted) {
  TestServer at([](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.path != "/lines") {
      return responder->send(problem({ErrorKind::kNotFound, "no_job", "job 7 is not there", ""}));
    }
    const auto out = responder->stream(200, {});
    out->write("one\r\ntw");
    out->write("o\n\nend");
    out->close();
  });
  Client client(at.url());
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) {
    lines.emplace_back(line);
    return line != "two";
  };
  const auto keep_all = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  ASSERT_TRUE(client.stream("GET", "/lines", {}, "", keep_all).ok());
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "", "end"}));
  lines.clear();
  ASSERT_TRUE(client.stream("GET", "/lines", {}, "", keep).ok());
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
  lines.clear();
  const Result<void> refused = client.stream("GET", "/other", {}, "", keep_all);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(refused.error().code, "http_404");
  EXPECT_NE(refused.error().message.find("no_job"), std::string::npos);
  EXPECT_TRUE(lines.empty());
}

TEST(Client, a_stream_cut_short_is_an_error) {
  TestServer at([](const Request&, const std::shared_ptr<Responder>& responder) {
    static std::shared_ptr<Outflow> out;
    out = responder->stream(200, {});
    out->write("one\n");
    while (out->write(std::string(1 << 20, 'x'))) {
    }
    out.reset();
  });
  Client client(at.url());
  const Result<void> cut = client.stream("GET", "/", {}, "", [](std::string_view) { return true; });
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, "connection_broken");
}

}  // namespace
}  // namespace dove::wire
