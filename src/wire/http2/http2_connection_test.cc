#include "wire/http2/http2_connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "wire/http2/http2_test_bed.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  const std::string& payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift & 0xff);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xff);
  return bytes + payload;
}

std::string many(int count, const std::string& one) {
  std::string all;
  for (int i = 0; i < count; ++i) all += one;
  return all;
}

class Http2ConnectionTest : public Http2Bed {
 protected:
  // Whether what is answered to those frames has that in it.
  bool is_told(const std::string& frames, const std::string& what) {
    return said_to(frames, what).find(what) != std::string::npos;
  }
  // What is answered to them, until it has that in it.
  std::string said_to(const std::string& frames, const std::string& what) {
    const auto stream = raw();
    const std::string bytes = std::string(kPreface) + frame(4, 0, 0, "") + frames;
    std::string seen;
    std::string room(4'096, '\0');
    stream->write_some(bytes, [](int, std::size_t) {});
    std::function<void()> read = [&] {
      stream->read_some(room.data(), room.size(), [&](int error, std::size_t n) {
        seen.append(room.data(), n);
        if (error == 0) read();
      });
    };
    read();
    EXPECT_TRUE(until([&] { return seen.find(what) != std::string::npos; }));
    stream->close();
    loop_.run_until([] { return false; }, 1ms);  // what was pending
    EXPECT_TRUE(until([&] { return server_->connections() == 0; }));
    return seen;
  }
};

void echo(const Request& request, const std::shared_ptr<Responder>& responder) {
  responder->send({200,
                   {{"X-Peer", request.peer_identity},
                    {"X-Host", std::string(request.header("Host"))},
                    {"X-Path", request.path},
                    {"Connection", "close"}},
                   request.method + request.body});
}

TEST_F(Http2ConnectionTest, AnswersWithAllThatARequestHas) {
  serve(echo);
  const auto by = client();
  const auto answer = call(*by, post("/a%20b?c=d", "body"));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "POSTbody");
  EXPECT_EQ(answer->header("x-peer"), kNodeUri);
  EXPECT_EQ(answer->header("x-host"), address().text());
  EXPECT_EQ(answer->header("x-path"), "/a b");
  EXPECT_EQ(answer->header("content-length"), "8");
  EXPECT_NE(answer->header("date"), "");
  EXPECT_EQ(answer->header("connection"), "") << "of HTTP/1";
  Request head = get("/");
  head.method = "HEAD";
  const auto headed = call(*by, std::move(head));
  ASSERT_TRUE(headed.ok());
  EXPECT_EQ(headed->header("content-length"), "4");
  EXPECT_EQ(headed->body, "");
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Http2ConnectionTest, IsAgreedOnByAPskToo) {
  client_tls_ =
      Tls::for_client({.authorities_pem = authority_.credentials().chain_pem}).value();  // no own
  client_tls_->show_psk(PskIssuer(authority_).issue(kNodeUri, std::time(nullptr) + 60));
  serve(echo);
  EXPECT_TRUE(raw()->speaks_http2());
  EXPECT_EQ(call(*client(), get("/"))->header("x-peer"), kNodeUri);
}

TEST_F(Http2ConnectionTest, RefusesABodyThatIsTooLongBeforeItIsKept) {
  std::size_t asked = 0;
  std::size_t handled = 0;
  ServerLimits limits;
  limits.admit = [&](const Request& head) -> Result<std::size_t> {
    ++asked;
    EXPECT_TRUE(head.body.empty());
    EXPECT_EQ(head.peer_identity, kNodeUri);
    if (head.path == "/no") return Error{ErrorKind::kDenied, "not_you", "", ""};
    return 1'000;
  };
  serve(
      [&](const Request& request, const std::shared_ptr<Responder>& to) {
        ++handled;
        echo(request, to);
      },
      limits);
  const auto by = client();
  const auto too_long = call(*by, post("/", std::string(3'000'000, 'x')));
  ASSERT_TRUE(too_long.ok()) << too_long.error().message;
  EXPECT_EQ(too_long->status, 413);
  EXPECT_EQ(call(*by, post("/no", std::string(3'000'000, 'x')))->status, 403);
  EXPECT_EQ(handled, 0u);
  EXPECT_EQ(call(*by, post("/", std::string(1'000, 'x')))->status, 200);
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(server_->connections(), 1u) << "the connection goes on";
}

TEST_F(Http2ConnectionTest, RefusesAHeadThatIsTooLong) {
  ServerLimits limits;
  limits.header_bytes = 4'000;
  serve(echo, limits);
  const auto by = client();
  Request request = get("/");
  request.headers.emplace_back("x-long", std::string(4'000, 'x'));
  EXPECT_EQ(call(*by, request)->status, 431);
  request.headers.back().second.resize(3'000);
  EXPECT_EQ(call(*by, request)->status, 200);
  request.headers.back().second.resize(40'000, 'x');  // no end in sight
  EXPECT_FALSE(call(*by, request).ok());
}

TEST_F(Http2ConnectionTest, BodiesOfManyMegabytesComeWhole) {
  serve(echo);
  const auto by = client();
  std::string body(7'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 131 >> 3);
  std::vector<std::string> came;
  for (int i = 0; i < 3; ++i) {
    by->call(post("/", body), [&](Result<Response> got) { came.push_back(std::move(got)->body); });
  }
  ASSERT_TRUE(until([&] { return came.size() == 3; }));
  for (const std::string& one : came) EXPECT_TRUE(one == "POST" + body);
  EXPECT_EQ(server_->connections(), 1u);
}

// Each message of an agent would cost a write more.
TEST_F(Http2ConnectionTest, NoWindowIsOpenedForABodyThatFits) {
  serve(echo);
  // :method POST, :scheme https, :path /, :authority x, content-length 4.
  const std::string head(
      "\x83\x87\x84\x41\x01x\x5c\x01"
      "4",
      9);
  const std::string seen = said_to(frame(1, 4, 1, head) + frame(0, 1, 1, "body"), "POSTbody");
  EXPECT_NE(seen.find(frame(8, 0, 0, "").substr(3)), std::string::npos) << "the connection's";
  EXPECT_EQ(seen.find(frame(8, 0, 1, "").substr(3)), std::string::npos);
}

TEST_F(Http2ConnectionTest, ABodyThatDoesNotComeInTimeIsRefused) {
  ServerLimits limits;
  limits.body_timeout = 100ms;
  serve(echo, limits);
  // :method POST, :scheme https, :path /, :authority x; and no body.
  const std::string head("\x83\x87\x84\x41\x01x", 6);
  EXPECT_TRUE(is_told(frame(1, 4, 1, head), "request_timeout"));
}

// Its length is not the library's to check.
TEST_F(Http2ConnectionTest, AConnectBringsNoBodyThatWasNotAskedFor) {
  int asked = 0;
  ServerLimits limits;
  limits.admit = [&](const Request&) -> Result<std::size_t> {
    ++asked;
    return 4;
  };
  serve(echo, limits);
  // :method CONNECT, :authority x; the second one also says content-length 0.
  const std::string head(
      "\x42\x07"
      "CONNECT\x41\x01x",
      12);
  const std::string none(
      "\x5c\x01"
      "0",
      3);
  EXPECT_TRUE(is_told(frame(1, 4, 1, head) + frame(0, 0, 1, "12345678"), "body_too_large"));
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(is_told(frame(1, 4, 1, head + none) + frame(0, 0, 1, "12345678"), "body_too_large"));
  EXPECT_EQ(asked, 1);
}

TEST_F(Http2ConnectionTest, MoreRequestsThanItTakesAtOnceWait) {
  std::vector<std::shared_ptr<Responder>> held;
  serve([&](const Request&, const std::shared_ptr<Responder>& to) { held.push_back(to); });
  const auto by = client();
  int answered = 0;
  constexpr int kCalls = 2 * static_cast<int>(kHttp2StreamsMax);
  for (int i = 0; i < kCalls; ++i) {
    by->call(get("/"), [&](const Result<Response>& got) { answered += got.ok(); });
  }
  ASSERT_TRUE(until([&] { return held.size() == kHttp2StreamsMax; }));
  while (answered < kCalls) {
    ASSERT_TRUE(until([&] { return !held.empty(); }));
    EXPECT_LE(held.size(), kHttp2StreamsMax);
    held.back()->send({});
    held.pop_back();
    const int before = answered;
    ASSERT_TRUE(until([&] { return answered == before + 1; }));
  }
}

TEST_F(Http2ConnectionTest, AnOutflowThatOverflowsDropsThePeer) {
  ServerLimits limits;
  limits.stream_buffer_bytes = 64 * 1024;
  std::shared_ptr<Outflow> out;
  bool closed = false;
  serve(
      [&](const Request&, const std::shared_ptr<Responder>& to) {
        out = to->stream(200, {});
        out->on_closed([&] { closed = true; });
        const std::string block(10'000, 'x');
        int written = 0;
        while (written < 100 && out->write(block)) ++written;
        EXPECT_EQ(written, 6);
      },
      limits);
  const auto by = client();
  EXPECT_EQ(call(*by, get("/")).error().code, "connection_broken");
  EXPECT_TRUE(until([&] { return closed; }));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(Http2ConnectionTest, WhatWasCutIsNotWhole) {
  std::shared_ptr<Outflow> out;
  serve([&](const Request&, const std::shared_ptr<Responder>& to) {
    out = to->stream(200, {});
    out->write("half of it\n");
  });
  const auto by = client();
  std::string heard;
  std::string why;
  const auto stream =
      by->open_stream(get("/"), {.on_open = {},
                                 .on_line = [&](std::string_view line) { heard = line; },
                                 .on_closed = [&](const Error& error) { why = error.code; }});
  ASSERT_TRUE(until([&] { return heard == "half of it"; }));
  out->cut();
  EXPECT_FALSE(out->write("late"));
  EXPECT_TRUE(until([&] { return !why.empty(); }));
  EXPECT_EQ(why, "connection_broken") << "and not as one that has ended";
  EXPECT_EQ(server_->connections(), 1u) << "what else is on it goes on";
}

// An answer without chunks is whole when its connection ends in order.
TEST_F(Http2ConnectionTest, WhatWasCutOfAnAnswerOfHttp10OverTlsIsReset) {
  std::shared_ptr<Outflow> out;
  serve([&](const Request&, const std::shared_ptr<Responder>& to) {
    out = to->stream(200, {});
    out->write("half of it");
  });
  std::unique_ptr<Stream> stream;
  const auto connecting =
      connect_to(loop_, address(), 10s,
                 [&](Result<std::unique_ptr<Stream>> made) { stream = std::move(made).value(); });
  ASSERT_TRUE(until([&] { return stream != nullptr; }));
  std::string heard;
  std::string room(4'096, '\0');
  std::optional<int> end;
  std::function<void()> read = [&] {
    stream->read_some(room.data(), room.size(), [&](int error, std::size_t n) {
      heard.append(room.data(), n);
      error == 0 ? read() : void(end = error);
    });
  };
  stream->write_some("GET / HTTP/1.0\r\n\r\n", [](int, std::size_t) {});
  read();
  ASSERT_TRUE(until([&] { return heard.ends_with("half of it"); }));
  out->cut();
  ASSERT_TRUE(until([&] { return end.has_value(); }));
  EXPECT_EQ(*end, ECONNRESET);
}

TEST_F(Http2ConnectionTest, AnOutflowHearsThatItsPeerIsGone) {
  std::shared_ptr<Outflow> out;
  int closed = 0;
  serve([&](const Request&, const std::shared_ptr<Responder>& to) {
    out = to->stream(200, {});
    out->on_closed([&] { ++closed; });
    EXPECT_TRUE(out->write("hello\n"));
  });
  const auto by = client();
  bool heard = false;
  auto stream = by->open_stream(
      get("/"),
      {.on_open = {}, .on_line = [&](std::string_view) { heard = true; }, .on_closed = {}});
  ASSERT_TRUE(until([&] { return heard; }));
  stream.reset();
  EXPECT_TRUE(until([&] { return closed == 1; })) << "of the stream alone";
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_FALSE(out->write("x"));
  heard = false;
  stream = by->open_stream(
      get("/"),
      {.on_open = {}, .on_line = [&](std::string_view) { heard = true; }, .on_closed = {}});
  ASSERT_TRUE(until([&] { return heard; }));
  server_->drop("dove://c/node/other");
  EXPECT_EQ(server_->connections(), 1u);
  server_->drop(kNodeUri);
  EXPECT_TRUE(until([&] { return closed == 2; }));
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(Http2ConnectionTest, ShutdownAnswersWhatIsInProgressAndEndsStreams) {
  std::shared_ptr<Responder> held;
  std::shared_ptr<Outflow> out;
  serve([&](const Request& request, const std::shared_ptr<Responder>& to) {
    if (request.path == "/stream") {
      out = to->stream(200, {});
    } else {
      held = to;
    }
  });
  const auto by = client();
  std::string answer;
  by->call(get("/"),
           [&](Result<Response> got) { answer = got.ok() ? got->body : got.error().code; });
  std::string why;
  const auto stream = by->open_stream(
      get("/stream"),
      {.on_open = {}, .on_line = {}, .on_closed = [&](const Error& error) { why = error.code; }});
  ASSERT_TRUE(until([&] { return held && out; }));
  bool done = false;
  server_->shutdown(10s, [&] { done = true; });
  EXPECT_TRUE(until([&] { return why == "stream_ended"; }));
  EXPECT_FALSE(done);
  held->send({200, {}, "late"});
  EXPECT_TRUE(until([&] { return done && answer == "late"; }));
  EXPECT_FALSE(call(*by, get("/")).ok());
}

TEST_F(Http2ConnectionTest, AnIdleConnectionEndsAndIsMadeAnew) {
  ServerLimits limits;
  limits.idle_timeout = 50ms;
  serve(echo, limits);
  const auto by = client();
  ASSERT_TRUE(call(*by, get("/")).ok());
  EXPECT_TRUE(until([&] { return server_->connections() == 0; }));
  EXPECT_TRUE(call(*by, get("/")).ok());
}

TEST_F(Http2ConnectionTest, WhoHasAllItsConnectionsIsTold) {
  ServerLimits limits;
  limits.peer_max = 1;
  serve(echo, limits);
  const auto first = client();
  ASSERT_TRUE(call(*first, get("/")).ok());
  EXPECT_EQ(call(*client(), get("/"))->status, 429);
  EXPECT_TRUE(until([&] { return server_->connections() == 1; }));
}

TEST_F(Http2ConnectionTest, NobodyTakesAStreamOver) {
  int asked = 0;
  serve([&](const Request& request, const std::shared_ptr<Responder>& to) {
    if (request.path == "/answered") return to->send({});
    ++asked;
    EXPECT_EQ(to->take_over().stream, nullptr);
  });
  const auto by = client();
  ASSERT_TRUE(call(*by, get("/answered")).ok());
  EXPECT_EQ(call(*by, get("/")).error().code, "connection_broken");
  EXPECT_EQ(asked, 1) << "it was looked at, so it is not repeated";
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Http2ConnectionTest, DropsWhatIsNoHttp2) {
  serve(echo);
  EXPECT_TRUE(is_dropped_for(*raw(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(is_dropped_for(*raw(), std::string(kPreface) + std::string(1'000, '\x7f')));
}

TEST_F(Http2ConnectionTest, DropsAFloodOfFramesThatCarryNothing) {
  serve(echo);
  const std::string hello = std::string(kPreface) + frame(4, 0, 0, "");
  const std::string head("\x82\x87\x84\x41\x01x", 6);
  EXPECT_TRUE(is_dropped_for(*raw(), hello + many(20'000, frame(6, 0, 0, "12345678")))) << "PING";
  EXPECT_TRUE(is_dropped_for(*raw(), hello + many(20'000, frame(4, 0, 0, "")))) << "SETTINGS";
  EXPECT_TRUE(
      is_dropped_for(*raw(), hello + many(20'000, frame(8, 0, 0, std::string("\0\0\0\1", 4)))))
      << "WINDOW_UPDATE";
  std::string resets = hello;
  for (std::uint32_t id = 1; id < 10'000; id += 2) {
    resets += frame(1, 5, id, head) + frame(3, 0, id, std::string("\0\0\0\10", 4));
  }
  EXPECT_TRUE(is_dropped_for(*raw(), resets)) << "RST_STREAM";
}

TEST_F(Http2ConnectionTest, DropsAHeadThatDoesNotEndOrGrows) {
  serve(echo);
  const std::string hello = std::string(kPreface) + frame(4, 0, 0, "");
  const std::string head("\x82\x87\x84\x01\x01x", 6);
  const std::string begun = hello + frame(1, 1, 1, head);
  const std::string field = std::string("\0\1x\x64", 4) + std::string(100, 'y');
  const std::string large = std::string("\x40\1x\x7f\xa1\x1e", 6) + std::string(4'000, 'y');
  const std::string again = many(10'000, "\xbe");  // names it by one byte
  EXPECT_TRUE(is_dropped_for(*raw(), begun + many(20'000, frame(9, 0, 1, "")))) << "of nothing";
  EXPECT_TRUE(is_dropped_for(*raw(), begun + many(20'000, frame(9, 0, 1, field)))) << "of fields";
  EXPECT_TRUE(is_dropped_for(*raw(), hello + frame(1, 5, 1, head + large + again))) << "of a table";
}

// Before it has acknowledged our settings, it may not know how many requests we take.
TEST_F(Http2ConnectionTest, DropsWhoeverLeavesTooManyAnswersUntaken) {
  ServerLimits limits;
  limits.write_timeout = 1h;
  std::vector<std::shared_ptr<Responder>> held;
  serve([&](const Request&, const std::shared_ptr<Responder>& to) { held.push_back(to); }, limits);
  const std::string head("\x82\x87\x84\x41\x01x", 6);
  std::string bytes = std::string(kPreface) + frame(4, 0, 0, "");
  for (std::uint32_t id = 1; id < 2'000'000; id += 2) bytes += frame(1, 5, id, head);
  const auto stream = raw();
  std::size_t sent = 0;
  bool ended = false;
  std::function<void()> write = [&] {
    stream->write_some(std::string_view(bytes).substr(sent), [&](int error, std::size_t n) {
      sent += n;
      ended = error != 0 || sent == bytes.size();
      if (!ended) write();
    });
  };
  write();
  ASSERT_TRUE(until([&] { return ended; }));
  EXPECT_LT(sent, bytes.size());
  EXPECT_TRUE(until([&] { return server_->connections() == 0; }));
  EXPECT_EQ(held.size(), kHttp2StreamsMax);
  stream->close();
}

// Each MiB that the peer takes gives it the whole time again.
TEST_F(Http2ConnectionTest, WhoTakesNothingOfAnAnswerIsDropped) {
  ServerLimits limits;
  limits.write_timeout = 100ms;
  std::shared_ptr<Outflow> out;
  serve(
      [&](const Request& request, const std::shared_ptr<Responder>& to) {
        std::string much;
        much.resize(10'000'000, 'x');
        if (request.path == "/") return to->send({200, {}, std::move(much)});
        out = to->stream(200, {});
        out->write("hello\n");
      },
      limits);
  const std::string hello = std::string(kPreface) + frame(4, 0, 0, "");
  const std::string head("\x82\x87\x84\x41\x01x", 6);
  EXPECT_TRUE(is_dropped_for(*raw(), hello + frame(1, 5, 1, head))) << "its window stays shut";
  const auto stream = raw();
  const std::string wide("\0\x7f\0\0", 4);
  const std::string bytes =
      hello + frame(1, 5, 1, head) + frame(8, 0, 0, wide) + frame(8, 0, 1, wide);
  stream->write_some(bytes, [](int, std::size_t) {});
  ASSERT_TRUE(until([&] { return server_->connections() == 1; }));
  EXPECT_TRUE(until([&] { return server_->connections() == 0; })) << "nobody reads";
  stream->close();

  const auto by = client();
  int lines = 0;
  const auto hears = by->open_stream(
      get("/s"), {.on_open = {}, .on_line = [&](std::string_view) { ++lines; }, .on_closed = {}});
  ASSERT_TRUE(until([&] { return lines == 1; }));
  loop_.run_until([] { return false; }, 250ms);
  out->write("again\n");
  EXPECT_TRUE(until([&] { return lines == 2; })) << "there was nothing to take";
  loop_.run_until([] { return false; }, 150ms);
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Http2ConnectionTest, AHeadThatDoesNotEndInTimeEndsTheConnection) {
  ServerLimits limits;
  limits.header_timeout = 100ms;
  serve(echo, limits);
  const std::string hello = std::string(kPreface) + frame(4, 0, 0, "");
  EXPECT_TRUE(is_dropped_for(*raw(), hello)) << "no request";
  EXPECT_TRUE(is_dropped_for(*raw(), hello + frame(1, 0, 1, "\x83"))) << "half of one";
  // The library refuses the first one, and closes it while the second one comes.
  EXPECT_TRUE(is_dropped_for(*raw(), hello + frame(1, 5, 1, "\x82") + frame(1, 0, 3, "\x83")))
      << "behind one without a path";
}

}  // namespace
}  // namespace dove::wire
