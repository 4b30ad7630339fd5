#include <gtest/gtest.h>

#include <future>

#include "wire/server.h"
#include "wire/server_state.h"
#include "wire/stream.h"
#include "wire/streams/backlog.h"
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

// 40 MB, more than the system holds for a peer that does not read.
std::string much() {
  std::string text;
  while (text.size() < 40'000'000) text += std::string(63 * 1024, 'x') + "\n";
  return text;
}

TEST(Outflow, what_waits_for_one_party_has_a_limit_in_all) {
  const auto backlog = std::make_shared<Backlog>(1'000'000);
  std::shared_ptr<Outflow> out;
  std::promise<void> first;
  TestServer at([&](const Request& request, const std::shared_ptr<Responder>& responder) {
    if (request.path != "/other") responder->counts_at(backlog);
    if (request.path == "/stream") {
      out = responder->stream(200, {});
      return;
    }
    responder->send({200, {}, request.path == "/much" ? much() : std::string("few")});
    if (request.path == "/much") first.set_value();
  });
  const auto ask = [&](const std::string& method, const std::string& path) {
    RawPeer peer(at.port);
    peer.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    return peer.read_until("\r\n").substr(0, 12);
  };
  RawPeer stream(at.port);
  stream.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  stream.read_until("\r\n\r\n");
  EXPECT_EQ(ask("GET", "/few"), "HTTP/1.1 200");
  {
    RawPeer lazy(at.port);
    lazy.send("GET /much HTTP/1.1\r\nHost: x\r\n\r\n");
    first.get_future().wait();
    EXPECT_EQ(ask("GET", "/few"), "HTTP/1.1 429");
    EXPECT_EQ(ask("POST", "/few"), "HTTP/1.1 200") << "what was done is told";
    EXPECT_EQ(ask("GET", "/other"), "HTTP/1.1 200") << "of another party";
    std::promise<bool> written;
    at.loop.post([&] { written.set_value(out->write("more")); });
    EXPECT_FALSE(written.get_future().get());
    EXPECT_EQ(stream.read_all(), "");
  }
  while (ask("GET", "/few") != "HTTP/1.1 200") {
  }
  const auto left = [&] {
    std::promise<std::size_t> bytes;
    at.loop.post([&] { bytes.set_value(backlog->bytes()); });
    return bytes.get_future().get();
  };
  while (left() > 0) {
  }
}

// Asks once, and takes a piece of the answer each 20 ms.
class SlowPeer : public Stream {
 public:
  SlowPeer(Loop& loop, std::size_t piece, std::size_t& taken)
      : loop_(loop), piece_(piece), taken_(taken) {}

  void read_some(char* data, std::size_t, Done done) override {
    if (asked_) {
      reading_ = std::move(done);  // nothing more comes
      return;
    }
    asked_ = true;
    const std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    std::copy(request.begin(), request.end(), data);
    loop_.post([done = std::move(done), size = request.size()] { done(0, size); });
  }
  void write_some(std::string_view data, Done done) override {
    timer_ =
        loop_.after(20ms, [this, size = std::min(piece_, data.size()), done = std::move(done)] {
          taken_ += size;
          done(0, size);
        });
  }
  void end_writing() override {}
  void close() override {  // what is pending holds whom it is told to
    timer_.cancel();
    reading_ = nullptr;
  }
  bool peer_ended() override { return false; }
  std::string peer_address() const override { return "127.0.0.1:9"; }

 private:
  Loop& loop_;
  const std::size_t piece_;
  std::size_t& taken_;
  bool asked_ = false;
  Done reading_;
  Timer timer_;
};

// Otherwise each byte that it takes keeps all of the answer.
TEST(Outflow, a_peer_that_takes_an_answer_too_slowly_is_dropped) {
  constexpr std::size_t kAnswer = 40 << 20;
  ServerLimits limits;
  limits.write_timeout = 500ms;
  Loop loop;
  const auto server = std::make_shared<ServerState>(
      loop, limits, [](const Request&, const std::shared_ptr<Responder>& to) {
        to->send({200, {}, std::string(kAnswer, 'x')});
      });
  std::size_t of_slow = 0;
  server->accept(std::make_unique<SlowPeer>(loop, 10'000, of_slow));
  EXPECT_TRUE(loop.run_until([&] { return server->connections.empty(); }, 10s));
  EXPECT_GT(of_slow, 0u);
  std::size_t of_brisk = 0;
  server->accept(std::make_unique<SlowPeer>(loop, 1 << 20, of_brisk));
  EXPECT_TRUE(loop.run_until([&] { return of_brisk >= kAnswer; }, 20s)) << "for 800 ms and more";
  server->drop_all();
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
