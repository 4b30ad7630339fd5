#include "wire/web_socket/splice.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "wire/server.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

// Two splices on one WebSocket, and the far ends of their sockets: `near` and `far`.
class SpliceTest : public testing::Test {
 protected:
  struct End {
    std::unique_ptr<WebSocket> socket;
    std::unique_ptr<Splice> splice;
    int fd = -1;  // the socket's other end
    bool over = false;
    bool broken = false;
    int told = 0;  // words that it heard
  };

  void SetUp() override {
    server.emplace(loop, ServerLimits{}, [this](const Request& request, auto responder) {
      auto socket = accept_web_socket(loop, request, *responder, callbacks_of(far));
      if (!socket.ok()) return;
      far.socket = std::move(socket).value();
      begin(far, Channel::kStdout);
    });
    ASSERT_TRUE(server->listen("127.0.0.1", 0).ok());
    Request request;
    request.target = "/";
    near.socket =
        connect_web_socket(loop, {"127.0.0.1", server->port()}, request, callbacks_of(near));
    begin(near, Channel::kStdin);
    ASSERT_TRUE(until([&] { return far.splice != nullptr; }));
  }
  void TearDown() override {
    for (End* end : {&near, &far}) {
      end->splice.reset();
      if (end->fd >= 0) ::close(end->fd);
    }
  }

  WebSocketCallbacks callbacks_of(End& end) {
    WebSocketCallbacks callbacks;
    callbacks.on_text = [&end](std::string_view text) {
      ++end.told;
      if (end.splice == nullptr) return;
      if (text == R"({"end":true})") return end.splice->hear_end();
      constexpr std::string_view kTook = R"({"took":)";
      ASSERT_TRUE(text.starts_with(kTook)) << text;
      const std::int64_t bytes = std::atoll(std::string(text.substr(kTook.size())).c_str());
      end.broken = !end.splice->hear_took(bytes) || end.broken;
    };
    callbacks.on_bytes = [&end](std::string_view bytes) {
      end.broken = end.splice == nullptr || !end.splice->hear_piece(bytes) || end.broken;
    };
    callbacks.on_closed = [](const Error&) {};
    return callbacks;
  }
  void begin(End& end, Channel channel) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    end.fd = pair[0];
    end.splice =
        std::make_unique<Splice>(loop, pair[1], channel, *end.socket, [&end] { end.over = true; });
  }
  bool until(const std::function<bool()>& done) { return loop.run_until(done, 10s); }
  static std::string read_some(int fd) {
    std::string bytes(256 << 10, '\0');
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  static bool is_at_end(int fd) {
    char byte = 0;
    return ::recv(fd, &byte, 1, MSG_PEEK) == 0;
  }

  Loop loop;
  std::optional<Server> server;
  End near;
  End far;
};

TEST_F(SpliceTest, one_direction_ends_before_the_other) {
  ASSERT_EQ(::write(near.fd, "ask", 3), 3);
  ::shutdown(near.fd, SHUT_WR);
  std::string heard;
  ASSERT_TRUE(until([&] { return (heard += read_some(far.fd)) == "ask" && is_at_end(far.fd); }));
  EXPECT_FALSE(near.over || far.over);
  ASSERT_EQ(::write(far.fd, "answer", 6), 6);
  ::shutdown(far.fd, SHUT_WR);
  heard.clear();
  ASSERT_TRUE(
      until([&] { return (heard += read_some(near.fd)) == "answer" && is_at_end(near.fd); }));
  EXPECT_TRUE(until([&] { return near.over && far.over; }));
  EXPECT_FALSE(near.broken || far.broken);
}

TEST_F(SpliceTest, small_pieces_are_not_acknowledged_one_by_one) {
  std::string heard;
  for (std::size_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(::write(near.fd, "x", 1), 1);
    ASSERT_TRUE(until([&] { return (heard += read_some(far.fd)).size() == i; }));
  }
  ::shutdown(near.fd, SHUT_WR);
  ::shutdown(far.fd, SHUT_WR);
  EXPECT_TRUE(until([&] { return near.over && far.over; }));
  EXPECT_EQ(near.told, 2);  // the end, and all 100 bytes at once
}

TEST_F(SpliceTest, who_is_not_read_holds_up_the_writer_and_loses_nothing) {
  std::string sent;
  const std::string block(64 << 10, 'x');
  for (int looks = 0; looks < 50; ++looks) {
    for (ssize_t count = 1; count > 0;) {
      count = ::write(near.fd, block.data(), block.size());
      if (count > 0) sent.append(block, 0, static_cast<std::size_t>(count));
      if (count > 0) looks = 0;
    }
    ASSERT_LT(sent.size(), std::size_t{8} << 20);
    loop.run_until([] { return false; }, 2ms);
  }
  EXPECT_GE(sent.size(), kWindow_bytes);
  std::size_t heard = 0;
  EXPECT_TRUE(until([&] { return (heard += read_some(far.fd).size()) == sent.size(); }));
  EXPECT_FALSE(near.broken || far.broken);
}

TEST_F(SpliceTest, a_socket_that_is_closed_takes_what_comes_and_ends) {
  ::close(std::exchange(far.fd, -1));
  ASSERT_EQ(::write(near.fd, "lost", 4), 4);
  ASSERT_TRUE(until([&] { return is_at_end(near.fd); }));
  ::close(std::exchange(near.fd, -1));
  EXPECT_TRUE(until([&] { return near.over && far.over; }));
  EXPECT_FALSE(near.broken || far.broken);
}

TEST_F(SpliceTest, what_came_is_written_though_the_peer_is_over) {
  ASSERT_TRUE(near.splice->hear_piece(piece_bytes(Channel::kStdout, "last words")));
  near.splice->peer_over();
  std::string heard;
  EXPECT_TRUE(until([&] { return (heard += read_some(near.fd)) == "last words" && near.over; }));
}

TEST_F(SpliceTest, a_peer_that_breaks_the_rules_is_found_out) {
  EXPECT_FALSE(near.splice->hear_took(1)) << "nothing was sent";
  EXPECT_FALSE(near.splice->hear_took(-1));
  EXPECT_FALSE(near.splice->hear_piece(""));
  EXPECT_FALSE(near.splice->hear_piece(piece_bytes(Channel::kStdin, "of the wrong channel")));
  const std::string piece = piece_bytes(Channel::kStdout, std::string(kPiece_bytes, 'x'));
  bool keeps_rules = true;
  for (int sent = 0; keeps_rules && sent < 100; ++sent)
    keeps_rules = near.splice->hear_piece(piece);
  EXPECT_FALSE(keeps_rules) << "more than the window";
}

}  // namespace
}  // namespace dove::wire
