#include <gtest/gtest.h>

#include <future>

#include "wire/server.h"
#include "wire/test_peer.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

TEST(Outflow, writes_of_one_turn_are_one_chunk) {
  TestServer at([](const Request&, const std::shared_ptr<Responder>& responder) {
    const auto out = responder->stream(200, {{"Content-Type", "text/event-stream"}});
    EXPECT_TRUE(out->write("one,"));
    EXPECT_TRUE(out->write("two"));
    EXPECT_GE(out->buffered_bytes(), 7u);
    out->close();
    EXPECT_FALSE(out->write("late"));
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = peer.read_all();
  EXPECT_NE(all.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(all.ends_with("\r\n\r\n00000007\r\none,two\r\n0\r\n\r\n")) << all;
}

TEST(Outflow, dropping_it_ends_the_stream_and_http_1_0_has_no_chunks) {
  TestServer at([](const Request&, const std::shared_ptr<Responder>& responder) {
    responder->stream(200, {})->write("plain");
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(peer.read_all().ends_with("\r\n\r\nplain"));
  EXPECT_FALSE(peer.timed_out);
  EXPECT_FALSE(peer.was_reset);
}

TEST(Outflow, what_was_cut_is_not_whole) {
  TestServer at([](const Request&, const std::shared_ptr<Responder>& responder) {
    const auto out = responder->stream(200, {});
    out->write("half of it");
    out->cut();
    EXPECT_FALSE(out->write("late"));
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_FALSE(peer.read_all().ends_with("0\r\n\r\n"));
  EXPECT_FALSE(peer.timed_out);
}

TEST(Outflow, what_was_cut_without_chunks_does_not_end_in_order) {
  std::shared_ptr<Outflow> out;
  TestServer at([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
    out->write("half of it");
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(peer.read_until("half of it").ends_with("half of it"));
  at.loop.post([&] { out->cut(); });
  EXPECT_EQ(peer.read_all(), "");
  EXPECT_TRUE(peer.was_reset);
}

TEST(Outflow, goes_on_over_many_turns) {
  std::shared_ptr<Outflow> out;
  Timer timer;
  int left = 5;
  TestServer* server = nullptr;
  std::function<void()> tick = [&] {
    out->write("tick\n");
    if (--left > 0) {
      timer = server->loop.after(1ms, tick);
    } else {
      out->close();
    }
  };
  TestServer at([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
    tick();
  });
  server = &at;
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string all = peer.read_all();
  std::size_t ticks = 0;
  for (std::size_t i = all.find("tick\n"); i != std::string::npos; i = all.find("tick\n", i + 1)) {
    ++ticks;
  }
  EXPECT_EQ(ticks, 5u);
  out.reset();
  timer.cancel();
}

TEST(Outflow, tells_when_the_peer_is_gone) {
  std::promise<void> gone;
  std::shared_ptr<Outflow> out;
  TestServer at([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
    out->on_closed([&] {
      EXPECT_FALSE(out->write("x"));
      gone.set_value();
    });
    out->write("hello");
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.read_until("hello");
  peer.close_now();
  EXPECT_EQ(gone.get_future().wait_for(10s), std::future_status::ready);
}

TEST(Outflow, overflow_drops_the_peer_that_does_not_read) {
  ServerLimits limits;
  limits.stream_buffer_bytes = 64 * 1024;
  std::promise<bool> overflowed;
  std::shared_ptr<Outflow> out;
  TestServer at(
      [&](const Request&, const std::shared_ptr<Responder>& responder) {
        out = responder->stream(200, {});
        out->on_closed([&] { overflowed.set_value(true); });
        const std::string block(10'000, 'x');
        int written = 0;
        while (written < 100 && out->write(block)) ++written;
        EXPECT_EQ(written, 6);
      },
      limits);
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(overflowed.get_future().wait_for(10s), std::future_status::ready);
  peer.read_all();
  EXPECT_FALSE(peer.timed_out);
}

TEST(Outflow, shutdown_ends_streams_whole) {
  std::promise<void> closed;
  std::promise<void> drained;
  std::shared_ptr<Outflow> out;
  TestServer at([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
    out->on_closed([&] { closed.set_value(); });
    out->write("partial");
  });
  RawPeer peer(at.port);
  peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.read_until("partial");
  at.loop.post([&] { at.server.shutdown(5s, [&] { drained.set_value(); }); });
  EXPECT_EQ(peer.read_all(), "\r\n0\r\n\r\n");
  EXPECT_EQ(closed.get_future().wait_for(10s), std::future_status::ready);
  peer.close_now();
  EXPECT_EQ(drained.get_future().wait_for(10s), std::future_status::ready);
}

TEST(Outflow, to_a_head_request_is_closed_at_once) {
  std::promise<void> closed;
  std::shared_ptr<Outflow> out;
  TestServer at([&](const Request&, const std::shared_ptr<Responder>& responder) {
    out = responder->stream(200, {});
    out->on_closed([&] { closed.set_value(); });
    EXPECT_FALSE(out->write("x"));
  });
  RawPeer peer(at.port);
  peer.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(peer.read_all().ends_with("\r\n\r\n"));
  EXPECT_EQ(closed.get_future().wait_for(10s), std::future_status::ready);
}

}  // namespace
}  // namespace dove::wire
