#include "wire/async_client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "wire/server.h"
#include "wire/tcp.h"
#include "wire/test_peer.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

Request get(std::string target) {
  Request request;
  request.method = "GET";
  request.target = std::move(target);
  return request;
}

// Server and clients on one loop, one thread.
class AsyncClientTest : public testing::Test {
 protected:
  void serve(Handler handler, ServerLimits limits = {}) {
    server.emplace(loop, std::move(limits), std::move(handler));
    ASSERT_TRUE(server->listen("127.0.0.1", port).ok());
    port = server->port();
  }
  bool until(const std::function<bool()>& done) { return loop.run_until(done, 10s); }

  Loop loop;
  std::optional<Server> server;
  std::uint16_t port = 0;
};

void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
  responder->send({200, {}, request.path + request.body});
}

TEST_F(AsyncClientTest, calls_are_answered_in_order_on_one_connection) {
  serve(echo);
  AsyncClient client(loop, "127.0.0.1", port);
  std::string order;
  for (const char* path : {"/a", "/b", "/c"}) {
    Request request = get(path);
    request.method = "POST";
    request.body = "!";
    client.call(std::move(request), [&](Result<Response> result) {
      ASSERT_TRUE(result.ok());
      order += result.value().body;
    });
  }
  EXPECT_EQ(client.pending(), 3u);
  EXPECT_TRUE(order.empty());
  ASSERT_TRUE(until([&] { return client.pending() == 0 && order.size() == 9; }));
  EXPECT_EQ(order, "/a!/b!/c!");
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(AsyncClientTest, refused_is_told_to_every_call) {
  serve(echo);
  server.reset();
  AsyncClient client(loop, "127.0.0.1", port);
  int refused = 0;
  for (int i = 0; i < 3; ++i) {
    client.call(get("/"), [&](const Result<Response>& result) {
      refused += !result.ok() && result.error().code == "connection_refused";
    });
  }
  EXPECT_EQ(refused, 0);
  EXPECT_TRUE(until([&] { return refused == 3; }));
}

TEST_F(AsyncClientTest, reconnects_when_the_idle_connection_died) {
  serve(echo);
  AsyncClient client(loop, "127.0.0.1", port);
  int answered = 0;
  const auto count = [&](const Result<Response>& result) { answered += result.ok(); };
  client.call(get("/"), count);
  ASSERT_TRUE(until([&] { return answered == 1; }));
  server.reset();
  serve(echo);
  client.call(get("/"), count);
  EXPECT_TRUE(until([&] { return answered == 2; }));
}

TEST_F(AsyncClientTest, a_connection_that_breaks_before_the_answer_is_told_and_not_repeated) {
  int asked = 0;
  serve([&](const Request&, std::shared_ptr<Responder>) {
    ++asked;
    loop.post([&] { server.reset(); });
  });
  AsyncClient client(loop, "127.0.0.1", port);
  std::string code;
  client.call(get("/"), [&](const Result<Response>& result) {
    code = result.ok() ? "answered" : result.error().code;
  });
  ASSERT_TRUE(until([&] { return !code.empty(); }));
  EXPECT_EQ(asked, 1);
  // The dropped responder's 500 may overtake the server's end.
  EXPECT_TRUE(code == "connection_broken" || code == "answered") << code;
}

TEST_F(AsyncClientTest, broken_in_the_middle) {
  std::vector<std::shared_ptr<Responder>> held;
  serve([&](const Request&, const std::shared_ptr<Responder>& responder) {
    held.push_back(responder);
    loop.post([&] { server.reset(); });
  });
  AsyncClient client(loop, "127.0.0.1", port);
  std::optional<Error> error;
  client.call(get("/"), [&](const Result<Response>& result) { error = result.error(); });
  ASSERT_TRUE(until([&] { return error.has_value(); }));
  EXPECT_EQ(error->code, "connection_broken");
  EXPECT_EQ(error->kind, ErrorKind::kUnavailable);
}

TEST_F(AsyncClientTest, a_call_that_times_out_does_not_hold_up_the_next) {
  std::vector<std::shared_ptr<Responder>> held;
  serve([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.path == "/stuck") {
      held.push_back(responder);
    } else {
      echo(request, responder);
    }
  });
  AsyncClient client(loop, "127.0.0.1", port);
  std::string order;
  client.call(
      get("/stuck"), [&](const Result<Response>& result) { order += result.error().code + " "; },
      10ms);
  client.call(get("/next"), [&](const Result<Response>& result) { order += result->body; });
  EXPECT_TRUE(until([&] { return order == "timeout /next"; })) << order;
}

TEST_F(AsyncClientTest, a_connection_may_take_as_long_as_was_said_last) {
  const SilentPort silent;
  AsyncClient client(loop, Address{"127.0.0.1", silent.port, nullptr}, {.connect_timeout = 1h});
  client.connect_within(10ms);
  std::string code;
  client.call(get("/"), [&](const Result<Response>& result) { code = result.error().code; });
  ASSERT_TRUE(until([&] { return !code.empty(); }));
  EXPECT_EQ(code, "connect_timeout");
}

TEST_F(AsyncClientTest, a_machine_that_does_not_answer_may_be_given_up_sooner) {
  const SilentPort silent;
  AsyncClient client(loop, Address{"127.0.0.1", silent.port, nullptr},
                     {.connect_timeout = 1h, .reach_timeout = 10ms});
  std::string code;
  client.call(get("/"), [&](const Result<Response>& result) { code = result.error().code; });
  ASSERT_TRUE(until([&] { return !code.empty(); }));
  EXPECT_EQ(code, "connect_timeout");
}

// The system alone would ask again after a second, and then later and later.
TEST_F(AsyncClientTest, a_machine_that_starts_is_reached_soon) {
  SilentPort machine;
  bool is_reached = false;
  const ConnectAttempt attempt =
      connect_tcp(loop, "127.0.0.1", machine.port, 10s,
                  [&](const Result<std::unique_ptr<Stream>>& result) { is_reached = result.ok(); },
                  {.address = 20ms});
  EXPECT_FALSE(loop.run_until([&] { return is_reached; }, 100ms));
  machine.start();
  EXPECT_TRUE(loop.run_until([&] { return is_reached; }, 700ms));
}

TEST_F(AsyncClientTest, streams_lines_while_calls_go_on) {
  std::shared_ptr<Outflow> out;
  serve([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.path == "/stream") {
      out = responder->stream(200, {});
    } else {
      echo(request, responder);
    }
  });
  AsyncClient client(loop, "127.0.0.1", port);
  int status = 0;
  std::vector<std::string> lines;
  std::optional<Error> end;
  const auto stream =
      client.open_stream(get("/stream"), {[&](int opened) { status = opened; },
                                          [&](std::string_view line) { lines.emplace_back(line); },
                                          [&](const Error& error) { end = error; }});
  ASSERT_TRUE(until([&] { return status == 200; }));
  bool called = false;
  client.call(get("/x"), [&](const Result<Response>& result) { called = result.ok(); });
  ASSERT_TRUE(until([&] { return called; }));
  out->write("{\"seq\":1}\n{\"se");
  ASSERT_TRUE(until([&] { return lines.size() == 1; }));
  out->write("q\":2}\n");
  ASSERT_TRUE(until([&] { return lines.size() == 2; }));
  EXPECT_EQ(lines[1], "{\"seq\":2}");
  out->close();
  ASSERT_TRUE(until([&] { return end.has_value(); }));
  EXPECT_EQ(end->code, "stream_ended");
}

TEST_F(AsyncClientTest, a_stream_tells_why_it_closed) {
  std::shared_ptr<Outflow> out;
  serve([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
  });
  AsyncClientOptions options;
  options.silence_timeout = 10ms;
  AsyncClient client(loop, "127.0.0.1", port, options);
  std::string code;
  const auto on_closed = [&](const Error& error) { code = error.code; };
  auto stream = client.open_stream(get("/"), {nullptr, nullptr, on_closed});
  ASSERT_TRUE(until([&] { return code == "timeout"; })) << code;
  stream = AsyncClient(loop, "127.0.0.1", port)
               .open_stream(get("/"), {[&](int) { server.reset(); }, nullptr, on_closed});
  ASSERT_TRUE(until([&] { return code == "connection_broken"; })) << code;
  stream = client.open_stream(get("/"), {nullptr, nullptr, on_closed});
  ASSERT_TRUE(until([&] { return code == "connection_refused"; })) << code;
}

TEST_F(AsyncClientTest, dropping_a_stream_is_noticed_by_the_server) {
  std::shared_ptr<Outflow> out;
  bool gone = false;
  serve([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
    out->on_closed([&] { gone = true; });
    out->write("one\ntwo\n");
  });
  AsyncClient client(loop, "127.0.0.1", port);
  std::unique_ptr<InStream> stream;
  int lines = 0;
  stream = client.open_stream(get("/"), {nullptr,
                                         [&](std::string_view) {
                                           ++lines;
                                           stream.reset();  // in the middle of its own callback
                                         },
                                         [](const Error&) { FAIL(); }});
  EXPECT_TRUE(until([&] { return gone; }));
  EXPECT_EQ(lines, 1);
}

TEST_F(AsyncClientTest, an_error_answer_opens_with_its_status) {
  serve([&](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->send(problem({ErrorKind::kDenied, "bad_token", "join again", ""}));
  });
  AsyncClient client(loop, "127.0.0.1", port);
  int status = 0;
  std::string body;
  bool closed = false;
  const auto stream = client.open_stream(
      get("/"), {[&](int s) { status = s; }, [&](std::string_view line) { body = line; },
                 [&](const Error&) { closed = true; }});
  ASSERT_TRUE(until([&] { return closed; }));
  EXPECT_EQ(status, 403);
  EXPECT_NE(body.find("bad_token"), std::string::npos);
}

TEST_F(AsyncClientTest, may_be_destroyed_in_its_callback) {
  serve(echo);
  auto client = std::make_unique<AsyncClient>(loop, "127.0.0.1", port);
  int calls = 0;
  client->call(get("/"), [&](const Result<Response>&) {
    ++calls;
    client.reset();
  });
  client->call(get("/"), [&](const Result<Response>&) { ++calls; });
  EXPECT_TRUE(until([&] { return !client; }));
  loop.run_until([] { return false; }, 5ms);
  EXPECT_EQ(calls, 1);
}

TEST_F(AsyncClientTest, names_are_resolved) {
  serve(echo);
  AsyncClient client(loop, "localhost", port);
  bool answered = false;
  client.call(get("/"), [&](const Result<Response>& result) { answered = result.ok(); });
  EXPECT_TRUE(until([&] { return answered; }));
}

TEST_F(AsyncClientTest, children_inherit_no_descriptor) {
  serve(echo);
  AsyncClient client(loop, "127.0.0.1", port);
  bool answered = false;
  client.call(get("/"), [&](const Result<Response>& result) { answered = result.ok(); });
  ASSERT_TRUE(until([&] { return answered; }));
  int sockets = 0;
  for (int fd = 3; fd < 256; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    char target[64] = {};
    if (flags >= 0 && readlink(path.c_str(), target, sizeof target - 1) > 0 &&
        std::string_view(target).starts_with("socket:")) {
      EXPECT_NE(flags & FD_CLOEXEC, 0) << path;
      ++sockets;
    }
  }
  EXPECT_GE(sockets, 3);  // the listener and both ends
}

TEST_F(AsyncClientTest, two_hundred_clients_share_a_thread) {
  serve(echo);
  std::vector<std::unique_ptr<AsyncClient>> clients;
  int answered = 0;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<AsyncClient>(loop, "127.0.0.1", port));
    for (int k = 0; k < 3; ++k) {
      clients.back()->call(get("/"),
                           [&](const Result<Response>& result) { answered += result.ok(); });
    }
  }
  EXPECT_TRUE(until([&] { return answered == 600; }));
}

}  // namespace
}  // namespace dove::wire
