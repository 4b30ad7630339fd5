#include "wire/server.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>

#include "telemetry/metrics.h"
#include "wire/address.h"
#include "wire/async_client.h"
#include "wire/test_peer.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
  responder->send({200,
                   {{"X-Method", request.method}},
                   request.path + "|" + std::string(request.header("x-in")) + "|" + request.body});
}

int status_in(const std::string& answer) {
  return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
}

TEST(Server, answers_and_keeps_the_connection) {
  TestServer at(echo);
  RawPeer peer(at.port);
  for (int i = 0; i < 3; ++i) {
    peer.send("POST /a%20b HTTP/1.1\r\nHost: x\r\nX-In: in\r\nContent-Length: 4\r\n\r\nbody");
    const std::string head = peer.read_until("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << head;
    EXPECT_NE(head.find("X-Method: POST\r\n"), std::string::npos);
    EXPECT_NE(head.find("Content-Length: 12\r\n"), std::string::npos);
    EXPECT_EQ(peer.read_until("body"), "/a b|in|body");
  }
}

TEST(Server, answers_pipelined_requests_in_order) {
  std::vector<std::shared_ptr<Responder>> waiting;
  TestServer* server = nullptr;
  TestServer at([&](const Request& request, std::shared_ptr<Responder> responder) {
    if (request.path == "/slow") {
      // Answered later, after the loop had a chance to read on.
      server->loop.post([responder] { responder->send({200, {}, "slow."}); });
    } else {
      responder->send({200, {}, "fast."});
    }
  });
  server = &at;
  RawPeer peer(at.port);
  peer.send(
      "GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /fast HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string all = peer.read_all();
  EXPECT_FALSE(peer.timed_out);
  const std::size_t first = all.find("slow.");
  const std::size_t second = all.find("fast.", first);
  EXPECT_NE(all.find("slow.", second), std::string::npos) << all;
}

TEST(Server, takes_an_answer_from_another_thread_later) {
  std::promise<std::shared_ptr<Responder>> asked;
  TestServer at([&](const Request&, std::shared_ptr<Responder> responder) {
    asked.set_value(std::move(responder));
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  asked.get_future().get()->send({202, {}, "later"});
  EXPECT_TRUE(peer.read_all().ends_with("later"));
}

TEST(Server, a_dropped_responder_is_500) {
  TestServer at([](const Request&, const std::shared_ptr<Responder>&) {});
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.0\r\n\r\n");
  const std::string answer = peer.read_all();
  EXPECT_EQ(status_in(answer), 500);
  EXPECT_NE(answer.find("\"code\":\"no_answer\""), std::string::npos);
}

TEST(Server, a_peer_that_went_before_its_answer_is_seen) {
  std::promise<std::shared_ptr<Responder>> asked;
  TestServer at([&](const Request&, std::shared_ptr<Responder> responder) {
    asked.set_value(std::move(responder));
  });
  auto peer = std::make_unique<RawPeer>(at.port);
  peer->send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\n");
  const std::shared_ptr<Responder> responder = asked.get_future().get();
  const auto is_alive = [&] {
    std::promise<bool> said;
    at.loop.post([&] { said.set_value(responder->peer_alive()); });
    return said.get_future().get();
  };
  EXPECT_TRUE(is_alive());
  peer.reset();
  const auto until = std::chrono::steady_clock::now() + 10s;
  bool alive = true;
  while (alive && std::chrono::steady_clock::now() < until) alive = is_alive();
  EXPECT_FALSE(alive);
}

TEST(Server, head_has_the_length_but_no_body) {
  TestServer at(echo);
  RawPeer peer(at.port);
  peer.send("HEAD /abc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = peer.read_all();
  EXPECT_NE(answer.find("Content-Length: 6\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Server, http_1_0_closes_unless_asked_not_to) {
  TestServer at(echo);
  RawPeer closing(at.port);
  closing.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(closing.read_all().ends_with("/||"));
  EXPECT_FALSE(closing.timed_out);
  RawPeer staying(at.port);
  for (int i = 0; i < 2; ++i) {
    staying.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(staying.read_until("/||").find("Connection: keep-alive\r\n"), std::string::npos);
  }
}

TEST(Server, says_continue_before_the_body) {
  TestServer at(echo);
  RawPeer peer(at.port);
  peer.send(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_EQ(peer.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("ok");
  EXPECT_TRUE(peer.read_all().ends_with("/||ok"));
}

TEST(Server, header_values_cannot_start_another_header) {
  TestServer at([](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->send({200, {{"X", "a\r\nEvil: 1"}}, ""});
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_NE(peer.read_all().find("X: a  Evil: 1\r\n"), std::string::npos);
}

// Nothing of a stranger's body is taken: neither memory nor time is theirs.
TEST(Server, refuses_a_head_before_its_body_has_come) {
  ServerLimits limits;
  limits.admit = [](const Request& head) -> Result<std::size_t> {
    if (head.header("Authorization") == "Bearer right") return std::size_t{1000};
    return Error{ErrorKind::kUnauthenticated, "token_invalid", "who are you?", ""};
  };
  TestServer at(echo, limits);
  for (const char* framing : {"Content-Length: 1000000000", "Transfer-Encoding: chunked"}) {
    RawPeer stranger(at.port);
    stranger.send(std::string("POST / HTTP/1.1\r\nHost: x\r\n") + framing + "\r\n\r\n");
    const std::string answer = stranger.read_all();
    EXPECT_FALSE(stranger.timed_out);
    EXPECT_EQ(status_in(answer), 401);
    EXPECT_NE(answer.find("token_invalid"), std::string::npos);
  }
  RawPeer known(at.port);
  known.send(
      "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer right\r\nContent-Length: 2\r\n"
      "Connection: close\r\n\r\nhi");
  EXPECT_EQ(status_in(known.read_all()), 200);
  RawPeer bodiless(at.port);  // its handler refuses it, and the connection goes on
  bodiless.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_in(bodiless.read_all()), 200);
}

TEST(Server, refuses_with_a_problem_and_closes) {
  ServerLimits limits;
  limits.header_bytes = 512;
  limits.body_bytes = 64;
  limits.admit = [](const Request& head) {
    return std::size_t{head.path == "/upload" ? 128u : 64u};
  };
  TestServer at(echo, limits);
  const auto answer_to = [&](const std::string& request) {
    RawPeer peer(at.port);
    peer.send(request);
    std::string answer = peer.read_all();
    EXPECT_FALSE(peer.timed_out) << request.substr(0, 60);
    return answer;
  };
  const std::string head =
      answer_to("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(600, 'x') + "\r\n\r\n");
  EXPECT_EQ(status_in(head), 431);
  EXPECT_NE(head.find("headers_too_large"), std::string::npos);
  const std::string hundred(100, 'b');
  const std::string body =
      answer_to("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + hundred);
  EXPECT_EQ(status_in(body), 413);
  EXPECT_NE(body.find("body_too_large"), std::string::npos);
  EXPECT_EQ(status_in(answer_to("POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
                                "Connection: close\r\n\r\n" +
                                hundred)),
            200);
  const std::string bad = answer_to("what is this\r\n\r\n");
  EXPECT_EQ(status_in(bad), 400);
  EXPECT_NE(bad.find("malformed_request"), std::string::npos);
}

TEST(Server, a_large_refused_body_still_sees_the_answer) {
  TestServer at(echo);
  RawPeer peer(at.port);
  peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n");
  const std::string block(1 << 20, 'z');
  for (int i = 0; i < 19; ++i) peer.send(block);
  EXPECT_EQ(status_in(peer.read_all()), 413);
}

TEST(Server, slow_heads_and_bodies_time_out) {
  ServerLimits limits;
  limits.header_timeout = 20ms;
  limits.body_timeout = 20ms;
  TestServer at(echo, limits);
  for (const char* part :
       {"GET / HT", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc"}) {
    RawPeer peer(at.port);
    peer.send(part);
    const std::string answer = peer.read_all();
    EXPECT_EQ(status_in(answer), 408) << part;
    EXPECT_NE(answer.find("request_timeout"), std::string::npos);
    EXPECT_FALSE(peer.timed_out);
  }
}

TEST(Server, idle_connections_are_closed) {
  ServerLimits limits;
  limits.idle_timeout = 20ms;
  TestServer at(echo, limits);
  RawPeer silent(at.port);
  EXPECT_EQ(silent.read_all(), "");
  RawPeer after_one(at.port);
  after_one.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(after_one.read_all().ends_with("/||"));
  EXPECT_FALSE(silent.timed_out || after_one.timed_out);
}

TEST(Server, too_many_connections_are_told) {
  ServerLimits limits;
  limits.connections_max = 1;
  TestServer at(echo, limits);
  RawPeer first(at.port);
  first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  first.read_until("/||");
  RawPeer second(at.port);
  EXPECT_EQ(status_in(second.read_all()), 503);
}

class UnixPeer {
 public:
  UnixPeer(TestServer& at, const std::string& path) {
    client_.emplace(loop_, Address{.unix_path = path});
    std::promise<Result<void>> listens;
    at.loop.post([&] { listens.set_value(at.server.listen_unix(path)); });
    EXPECT_TRUE(listens.get_future().get().ok());
  }
  int status() {
    std::optional<Result<Response>> answer;
    Request request;
    request.method = "GET";
    request.target = "/";
    client_->call(std::move(request), [&](Result<Response> got) { answer = std::move(got); });
    EXPECT_TRUE(loop_.run_until([&] { return answer.has_value(); }, 20s));
    return answer->ok() ? (*answer)->status : 0;
  }

 private:
  Loop loop_;
  std::optional<AsyncClient> client_;
};

std::string socket_path(const char* name) {
  return testing::TempDir() + "dove-" + std::to_string(getpid()) + "-" + name;
}

// The administrator gets in, whoever fills the port.
TEST(Server, the_unix_socket_has_room_of_its_own) {
  ServerLimits limits;
  limits.connections_max = 1;
  TestServer at(echo, limits);
  RawPeer first(at.port);
  first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  first.read_until("/||");
  UnixPeer local(at, socket_path("own-room"));
  EXPECT_EQ(local.status(), 200);
  first.close_now();
}

TEST(Server, a_user_of_the_unix_socket_has_a_share) {
  ServerLimits limits;
  limits.peer_max = 0;
  TestServer at(echo, limits);
  UnixPeer local(at, socket_path("share"));
  EXPECT_EQ(local.status(), 429);
  RawPeer loopback(at.port);
  loopback.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(status_in(loopback.read_all()), 200);
}

TEST(Server, a_used_port_names_itself_and_the_way_out) {
  TestServer at(echo);
  Loop loop;
  Server second(loop, {}, echo);
  const Result<void> result = second.listen("127.0.0.1", at.port);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(result.error().code, "address_in_use");
  EXPECT_NE(result.error().message.find("127.0.0.1:" + std::to_string(at.port)), std::string::npos);
  EXPECT_NE(result.error().message.find("--port"), std::string::npos);
  EXPECT_EQ(second.listen("192.0.2.1", 0).error().code, "bad_address");
}

TEST(Server, shutdown_lets_the_request_in_progress_finish) {
  std::promise<std::shared_ptr<Responder>> asked;
  TestServer at([&](const Request&, std::shared_ptr<Responder> responder) {
    asked.set_value(std::move(responder));
  });
  RawPeer idle(at.port);
  RawPeer busy(at.port);
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::shared_ptr<Responder> responder = asked.get_future().get();
  std::promise<void> drained;
  at.loop.post([&] { at.server.shutdown(5s, [&] { drained.set_value(); }); });
  EXPECT_EQ(idle.read_all(), "");
  responder->send({200, {}, "done"});
  EXPECT_TRUE(busy.read_all().ends_with("done"));
  busy.close_now();
  EXPECT_EQ(drained.get_future().wait_for(10s), std::future_status::ready);
}

TEST(Server, counts_what_it_refuses) {
  const auto refused = [](const char* status) {
    return telemetry::metrics()
        .counter("dove_http_refused_total", "", {{"status", status}})
        .value();
  };
  TestServer at([](const Request& request, const std::shared_ptr<Responder>& responder) {
    responder->send({std::stoi(request.path.substr(1)), {}, "{}"});
  });
  const auto before = std::array{refused("401"), refused("403"), refused("429")};
  RawPeer peer(at.port);
  for (const char* status : {"403", "200", "429", "404", "403"}) {
    peer.send(std::string("GET /") + status + " HTTP/1.1\r\nHost: x\r\n\r\n");
    peer.read_until("{}");
  }
  EXPECT_EQ(refused("401") - before[0], 0U);
  EXPECT_EQ(refused("403") - before[1], 2U);
  EXPECT_EQ(refused("429") - before[2], 1U);
}

TEST(Server, serves_two_hundred_connections_at_once) {
  TestServer at(echo);
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 200; ++i) peers.push_back(std::make_unique<RawPeer>(at.port));
  for (int round = 0; round < 3; ++round) {
    for (const auto& peer : peers) peer->send("GET /x HTTP/1.1\r\nHost: x\r\n\r\n");
    for (const auto& peer : peers) EXPECT_TRUE(peer->read_until("/x||").ends_with("/x||"));
  }
}

}  // namespace
}  // namespace dove::wire
