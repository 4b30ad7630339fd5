#include "wire/web_socket/web_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/async_client.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

// A server and its clients on one loop, one thread. What the server hears it says again.
class WebSocketTest : public testing::Test {
 protected:
  void serve(WebSocketLimits limits = {}) {
    server.emplace(loop, ServerLimits{}, [this, limits](const Request& request, auto responder) {
      WebSocketCallbacks callbacks;
      callbacks.on_text = [this](std::string_view text) {
        asked_to_close = asked_to_close || text == "bye";
        if (text == "bye") return accepted->close("as asked");
        accepted->send_text(text);
      };
      callbacks.on_bytes = [this](std::string_view piece) { accepted->send_bytes(piece); };
      callbacks.on_closed = [this](Error error) { server_end = std::move(error); };
      auto socket = accept_web_socket(loop, request, *responder, std::move(callbacks), limits);
      if (socket.ok()) {
        accepted = std::move(socket).value();
      } else if (socket.error().code == "upgrade_required") {
        responder->send(problem(426, socket.error()));
      }
    });
    ASSERT_TRUE(server->listen("127.0.0.1", 0).ok());
  }
  std::unique_ptr<WebSocket> connect(WebSocketLimits limits = {}) {
    Request request;
    request.target = "/socket";
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this] { opened = true; };
    callbacks.on_text = [this](std::string_view text) { texts.emplace_back(text); };
    callbacks.on_bytes = [this](std::string_view piece) { bytes += piece; };
    callbacks.on_closed = [this](Error error) { client_end = std::move(error); };
    const Address to =
        unix_path.empty() ? Address{"127.0.0.1", server->port()} : Address{.unix_path = unix_path};
    return connect_web_socket(loop, to, request, std::move(callbacks), limits);
  }
  bool until(const std::function<bool()>& done) { return loop.run_until(done, 10s); }

  Loop loop;
  std::optional<Server> server;
  std::unique_ptr<WebSocket> accepted;
  std::optional<Error> server_end;
  std::optional<Error> client_end;
  std::string unix_path;  // clients connect there; "": by TCP
  bool opened = false;
  bool asked_to_close = false;
  std::vector<std::string> texts;
  std::string bytes;
};

TEST_F(WebSocketTest, carries_messages_both_ways_even_those_sent_before_it_was_open) {
  serve();
  const auto socket = connect();
  EXPECT_TRUE(socket->send_text("early"));
  std::string sent;
  for (int i = 0; i < 200'000; ++i) sent += static_cast<char>(i * 7);
  EXPECT_TRUE(socket->send_bytes(sent));
  ASSERT_TRUE(until([&] { return bytes.size() == sent.size(); }));
  EXPECT_TRUE(opened);
  EXPECT_EQ(texts, std::vector<std::string>{"early"});
  EXPECT_EQ(bytes, sent);
  EXPECT_EQ(server->connections(), 0u);  // it is none of HTTP's any more
}

TEST_F(WebSocketTest, goes_through_a_socket_of_the_machine_too) {
  serve();
  unix_path = testing::TempDir() + "web_socket_test_" + std::to_string(::getpid());
  ASSERT_TRUE(server->listen_unix(unix_path).ok());
  const auto socket = connect();
  EXPECT_TRUE(socket->send_text("early"));
  ASSERT_TRUE(until([&] { return !texts.empty(); }));
  accepted.reset();
  ASSERT_TRUE(until([&] { return client_end.has_value(); }));
  client_end.reset();
  server.reset();
  const auto late = connect();
  ASSERT_TRUE(until([&] { return client_end.has_value(); }));
  EXPECT_EQ(client_end->kind, ErrorKind::kUnavailable);
}

TEST_F(WebSocketTest, that_is_closed_says_why) {
  serve();
  const auto socket = connect();
  socket->send_text("last words");
  socket->send_text("bye");
  ASSERT_TRUE(until([&] { return client_end.has_value(); }));
  EXPECT_EQ(client_end->code, "closed");
  EXPECT_EQ(client_end->message, "as asked");
  EXPECT_EQ(texts, std::vector<std::string>{"last words"});
  EXPECT_FALSE(server_end.has_value());
  EXPECT_FALSE(socket->send_text("too late"));
}

TEST_F(WebSocketTest, that_is_closed_as_soon_as_it_is_open_says_its_last_words) {
  serve();
  Request request;
  request.target = "/socket";
  std::unique_ptr<WebSocket> socket;
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&] {
    socket->send_text("bye");  // which the server answers by closing
    socket->close("refused");
    socket.reset();
  };
  socket = connect_web_socket(loop, {"127.0.0.1", server->port()}, request, std::move(callbacks));
  ASSERT_TRUE(until([&] { return asked_to_close || server_end.has_value(); }));
  EXPECT_TRUE(asked_to_close);
}

TEST_F(WebSocketTest, whose_client_is_gone_tells_the_server) {
  serve();
  auto socket = connect();
  ASSERT_TRUE(until([&] { return opened; }));
  socket.reset();
  ASSERT_TRUE(until([&] { return server_end.has_value(); }));
  EXPECT_EQ(server_end->code, "connection_broken");
}

TEST_F(WebSocketTest, refused_by_the_server_gives_its_answer) {
  server.emplace(loop, ServerLimits{}, [](const Request&, auto responder) {
    responder->send(problem(Error{ErrorKind::kDenied, "not_yours", "not your job", ""}));
  });
  ASSERT_TRUE(server->listen("127.0.0.1", 0).ok());
  const auto socket = connect();
  ASSERT_TRUE(until([&] { return client_end.has_value(); }));
  EXPECT_EQ(client_end->kind, ErrorKind::kDenied);
  EXPECT_EQ(client_end->code, "http_403");
  EXPECT_NE(client_end->message.find("not your job"), std::string::npos);
}

TEST_F(WebSocketTest, with_nobody_there_fails) {
  serve();
  const std::uint16_t port = server->port();
  server.reset();
  WebSocketCallbacks callbacks;
  callbacks.on_closed = [this](Error error) { client_end = std::move(error); };
  const auto socket =
      connect_web_socket(loop, {"127.0.0.1", port}, Request{}, std::move(callbacks));
  ASSERT_TRUE(until([&] { return client_end.has_value(); }));
  EXPECT_EQ(client_end->code, "connection_refused");
}

TEST_F(WebSocketTest, a_plain_request_is_told_what_is_spoken_here) {
  serve();
  AsyncClient client(loop, "127.0.0.1", server->port());
  Request request;
  request.method = "GET";
  request.target = "/socket";
  int status = 0;
  client.call(std::move(request), [&](Result<Response> got) { status = got->status; });
  ASSERT_TRUE(until([&] { return status != 0; }));
  EXPECT_EQ(status, 426);
}

TEST_F(WebSocketTest, a_silent_peer_is_taken_for_gone) {
  WebSocketLimits quick;
  quick.ping_every = 20ms;
  serve(quick);
  // A peer that shakes hands and then never says a word, not even to pings.
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(server->port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const std::string hello =
      "GET /socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  ASSERT_EQ(::write(fd, hello.data(), hello.size()), static_cast<ssize_t>(hello.size()));
  ASSERT_TRUE(until([&] { return server_end.has_value(); }));
  EXPECT_EQ(server_end->kind, ErrorKind::kTimeout);
  char got[256] = {};
  EXPECT_GT(::read(fd, got, sizeof got - 1), 0);
  // The example of RFC 6455, section 1.3.
  EXPECT_NE(std::string(got).find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  ::close(fd);
}

TEST_F(WebSocketTest, a_message_over_the_limit_ends_it) {
  WebSocketLimits small;
  small.message_bytes_max = 1000;
  serve(small);
  const auto socket = connect();
  socket->send_bytes(std::string(1001, 'x'));
  ASSERT_TRUE(until([&] { return server_end.has_value(); }));
  EXPECT_EQ(server_end->kind, ErrorKind::kTooLarge);
}

TEST_F(WebSocketTest, a_peer_that_takes_nothing_is_dropped_before_memory_grows) {
  serve();
  const auto socket = connect();
  ASSERT_TRUE(until([&] { return accepted != nullptr; }));
  const std::string piece(1 << 20, 'x');
  bool taken = true;
  int pieces = 0;  // without a turn of the loop nothing leaves
  while (taken && ++pieces < 100) taken = accepted->send_bytes(piece);
  EXPECT_FALSE(taken);
  EXPECT_LE(pieces, 5);
}

}  // namespace
}  // namespace dove::wire
