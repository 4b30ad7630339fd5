#include "wire/http2/http2_calls.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/http2/http2_test_bed.h"
#include "wire/streams/backlog.h"

namespace dove::wire {
namespace {

using namespace std::chrono_literals;

// A client and its server, which answers "/hold" never, and "/stream" with lines.
class Http2CallsTest : public Http2Bed {
 protected:
  Handler handler() {
    return [this](const Request& request, const std::shared_ptr<Responder>& to) {
      ++asked_;
      if (request.path == "/hold") {
        held_.push_back(to);
      } else if (request.path == "/stream") {
        out_ = to->stream(200, {});
        out_->write("first\n");
      } else {
        to->send({200, {}, request.path + request.body});
      }
    };
  }
  StreamCallbacks hears() {
    return {.on_open = [this](int status) { opened_ = status; },
            .on_line = [this](std::string_view line) { lines_ += std::string(line) + ","; },
            .on_closed = [this](const Error& error) { why_ = error.code; }};
  }

  int asked_ = 0;
  std::vector<std::shared_ptr<Responder>> held_;
  std::shared_ptr<Outflow> out_;
  int opened_ = 0;
  std::string lines_;
  std::string why_;
};

TEST_F(Http2CallsTest, CallsAndStreamsShareOneConnection) {
  serve(handler());
  const auto by = client();
  const auto stream = by->open_stream(get("/stream"), hears());
  bool held = false;
  by->call(get("/hold"), [&](const Result<Response>& got) { held = got.ok(); });
  const auto answer = call(*by, post("/a", "!"));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->body, "/a!") << "it waits for no other";
  ASSERT_TRUE(until([&] { return lines_ == "first,"; }));
  EXPECT_EQ(opened_, 200);
  EXPECT_EQ(by->pending(), 1u);
  EXPECT_EQ(server_->connections(), 1u);
  out_->write("a\nb");
  out_->write("\n");
  ASSERT_TRUE(until([&] { return lines_ == "first,a,b,"; }));
  held_.front()->send({});
  ASSERT_TRUE(until([&] { return held; }));
  out_->close();
  EXPECT_TRUE(until([&] { return why_ == "stream_ended"; }));
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Http2CallsTest, AFormerServerIsSpokenToInHttp11) {
  serve(handler(), {}, /*is_former=*/true);
  const auto by = client();
  const auto stream = by->open_stream(get("/stream"), hears());
  ASSERT_TRUE(until([&] { return lines_ == "first,"; }));
  EXPECT_EQ(call(*by, get("/a"))->body, "/a");
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(Http2CallsTest, AFormerClientIsAnsweredInHttp11) {
  serve(handler());
  AsyncClient former(loop_, address());
  const auto stream = former.open_stream(get("/stream"), hears());
  ASSERT_TRUE(until([&] { return lines_ == "first,"; }));
  EXPECT_EQ(call(former, get("/a"))->body, "/a");
  EXPECT_EQ(server_->connections(), 2u);
}

TEST_F(Http2CallsTest, ACallThatTimesOutLeavesTheConnectionToItsStreams) {
  serve(handler());
  const auto by = client();
  const auto stream = by->open_stream(get("/stream"), hears());
  ASSERT_TRUE(until([&] { return lines_ == "first,"; }));
  std::string code;
  by->call(
      get("/hold"), [&](const Result<Response>& got) { code = got.error().code; }, 50ms);
  ASSERT_TRUE(until([&] { return code == "timeout"; }));
  ASSERT_TRUE(until([&] { return !held_.empty() && !held_.front()->peer_alive(); }));
  EXPECT_EQ(call(*by, get("/a"))->body, "/a");
  EXPECT_EQ(server_->connections(), 2u) << "it may hang";
  out_->write("still\n");
  EXPECT_TRUE(until([&] { return lines_ == "first,still,"; }));
}

// A client whose calls are waited for, beside another one.
class BorrowedLine : public Http2CallsTest {
 protected:
  std::unique_ptr<AsyncClient> beside() {
    auto made = std::make_unique<AsyncClient>(loop_, address());
    made->borrow_from([this] { return by_.get(); });
    return made;
  }
  void begin() {
    serve(handler());
    by_ = client();
    ASSERT_TRUE(call(*by_, get("/a")).ok());
  }

  std::unique_ptr<AsyncClient> by_;
};

TEST_F(BorrowedLine, CallsThatAreWaitedForShareTheConnectionAsLongAsItHasRoom) {
  begin();
  constexpr std::size_t kRoom = kHttp2StreamsMax - kHttp2StreamsKept;
  std::vector<std::unique_ptr<AsyncClient>> waiting;
  std::size_t answered = 0;
  const auto wait = [&] {
    waiting.push_back(beside());
    waiting.back()->call(post("/hold", std::string(64 * 1024, 'x')),
                         [&](const Result<Response>& got) { answered += got.ok() ? 1 : 0; });
    return until([&] { return held_.size() == waiting.size(); });
  };
  for (std::size_t i = 0; i < kRoom; ++i) ASSERT_TRUE(wait());
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(call(*by_, post("/b", std::string(100'000, 'x')))->body.size(), 100'002u)
      << "it waits for none of them";
  ASSERT_TRUE(wait());
  EXPECT_EQ(server_->connections(), 2u) << "the rest is kept for those that are short";
  EXPECT_EQ(call(*by_, get("/c"))->body, "/c");
  for (const auto& to : held_) to->send({});
  EXPECT_TRUE(until([&] { return answered == kRoom + 1; }));
}

TEST_F(BorrowedLine, OneThatTimesOutOrGoesTakesNothingWithIt) {
  begin();
  const auto stream = by_->open_stream(get("/stream"), hears());
  ASSERT_TRUE(until([&] { return lines_ == "first,"; }));
  auto waits = beside();
  std::string code;
  waits->call(
      get("/hold"), [&](const Result<Response>& got) { code = got.error().code; }, 50ms);
  ASSERT_TRUE(until([&] { return code == "timeout"; }));
  bool heard = false;
  waits->call(get("/hold"), [&](const Result<Response>&) { heard = true; });
  ASSERT_TRUE(until([&] { return held_.size() == 2; }));
  waits.reset();
  ASSERT_TRUE(until([&] { return !held_[0]->peer_alive() && !held_[1]->peer_alive(); }));
  EXPECT_EQ(call(*by_, get("/a"))->body, "/a");
  out_->write("still\n");
  EXPECT_TRUE(until([&] { return lines_ == "first,still,"; }));
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_FALSE(heard);
}

TEST_F(BorrowedLine, ItKeepsNoConnectionOpen) {
  begin();
  const auto waits = beside();
  ASSERT_TRUE(call(*waits, get("/b")).ok());
  EXPECT_EQ(server_->connections(), 1u);
  by_.reset();
  ASSERT_TRUE(until([&] { return server_->connections() == 0; }));
  EXPECT_EQ(call(*waits, get("/c"))->body, "/c") << "by a connection of its own";
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(BorrowedLine, WhatIsWaitedForIsAskedAgainWhenTheConnectionBreaks) {
  begin();
  const auto waits = beside();
  std::optional<Result<Response>> answer;
  waits->call(get("/hold"), [&](Result<Response> got) { answer = std::move(got); });
  ASSERT_TRUE(until([&] { return held_.size() == 1; }));
  server_.reset();
  held_.clear();
  serve(handler());
  ASSERT_TRUE(until([&] { return held_.size() == 1; }));
  held_.front()->send({});
  ASSERT_TRUE(until([&] { return answer.has_value(); }));
  EXPECT_TRUE(answer->ok());
}

TEST_F(Http2CallsTest, AStreamOutlivesItsClientAndKeepsTheConnection) {
  serve(handler());
  auto by = client();
  auto stream = by->open_stream(get("/stream"), hears());
  by.reset();  // before there is a connection
  ASSERT_TRUE(until([&] { return lines_ == "first,"; }));
  by = client();
  ASSERT_TRUE(call(*by, get("/a")).ok());
  bool heard = false;
  by->call(get("/hold"), [&](const Result<Response>&) { heard = true; });
  ASSERT_TRUE(until([&] { return held_.size() == 1; }));
  by.reset();
  ASSERT_TRUE(until([&] { return server_->connections() == 1; }));
  out_->write("more\n");
  EXPECT_TRUE(until([&] { return lines_ == "first,more,"; }));
  EXPECT_FALSE(heard);
  stream.reset();
  EXPECT_TRUE(until([&] { return server_->connections() == 0; }));
}

TEST_F(Http2CallsTest, AStreamThatIsClosedBeforeItIsOpenAsksNothing) {
  serve(handler());
  const auto by = client();
  by->open_stream(get("/stream"), hears()).reset();
  ASSERT_TRUE(call(*by, get("/a")).ok());
  EXPECT_EQ(asked_, 1);
}

TEST_F(Http2CallsTest, RepeatsWhereTheIdleConnectionHadDied) {
  serve(handler());
  const auto by = client();
  ASSERT_TRUE(call(*by, get("/a")).ok());
  server_.reset();
  serve(handler());
  EXPECT_TRUE(call(*by, get("/a")).ok());
}

// A connection beyond those that a peer may have answers one request, and leaves the others.
TEST_F(Http2CallsTest, RepeatsWhatTheServerDidNotLookAt) {
  ServerLimits limits;
  limits.peer_max = 1;
  serve(handler(), limits);
  const auto first = client();
  ASSERT_TRUE(call(*first, get("/a")).ok());
  const auto second = client();
  std::vector<int> statuses;
  for (int i = 0; i < 2; ++i) {
    second->call(get("/a"), [&](const Result<Response>& got) {
      statuses.push_back(got.ok() ? got->status : 0);
    });
  }
  ASSERT_TRUE(until([&] { return statuses.size() == 2; }));
  EXPECT_EQ(statuses, (std::vector<int>{429, 429}));
  EXPECT_EQ(asked_, 1);
}

TEST_F(Http2CallsTest, ABreakIsToldAndNotRepeatedOnAFreshConnection) {
  serve(handler());
  const auto by = client();
  const auto stream = by->open_stream(get("/stream"), hears());
  std::string code;
  by->call(get("/hold"), [&](const Result<Response>& got) { code = got.error().code; });
  ASSERT_TRUE(until([&] { return held_.size() == 1 && opened_ == 200; }));
  const int asked = asked_;
  server_.reset();
  ASSERT_TRUE(until([&] { return code == "connection_broken" && why_ == "connection_broken"; }));
  EXPECT_EQ(asked_, asked);
  EXPECT_EQ(call(*by, get("/")).error().code, "connection_refused");
  opened_ = 0;
  const auto refused = by->open_stream(get("/stream"), hears());
  EXPECT_TRUE(until([&] { return why_ == "connection_refused"; }));
}

TEST_F(Http2CallsTest, LimitsOfAnswersAndLinesHold) {
  serve([&](const Request& request, const std::shared_ptr<Responder>& to) {
    if (request.path == "/stream") {
      out_ = to->stream(200, {});
      out_->write(std::string(5'000, 'x'));
    } else {
      to->send({200, {}, std::string(100'000, 'x')});
    }
  });
  const auto by = client({.response_bytes_max = 50'000, .line_bytes_max = 1'000});
  EXPECT_EQ(call(*by, get("/")).error().code, "response_too_large");
  const auto stream = by->open_stream(get("/stream"), hears());
  EXPECT_TRUE(until([&] { return why_ == "line_too_long"; }));
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Http2CallsTest, WhatWaitsForOnePartyHasALimitInAll) {
  const auto backlog = std::make_shared<Backlog>(1'000);
  BacklogPart elsewhere;
  elsewhere.enter(backlog);
  elsewhere.set(1'000);
  serve([&](const Request&, const std::shared_ptr<Responder>& to) {
    to->counts_at(backlog);
    to->send({200, {}, std::string(100'000, 'x')});
  });
  const auto by = client();
  EXPECT_EQ(call(*by, get("/"))->status, 429);
  elsewhere.leave();
  EXPECT_EQ(call(*by, get("/"))->status, 200);
  EXPECT_TRUE(until([&] { return backlog->bytes() == 0; }));
}

TEST_F(Http2CallsTest, AStreamThatIsNotAnsweredOrFallsSilentEnds) {
  serve(handler());
  const auto by = client({.open_timeout = 50ms, .silence_timeout = 50ms});
  const auto first = by->open_stream(get("/hold"), hears());
  EXPECT_TRUE(until([&] { return why_ == "timeout"; }));
  EXPECT_EQ(opened_, 0);
  why_.clear();
  const auto second = by->open_stream(get("/stream"), hears());
  EXPECT_TRUE(until([&] { return why_ == "timeout"; }));
  EXPECT_EQ(opened_, 200);
}

TEST_F(Http2CallsTest, ManyMegabytesOfLinesComeWhole) {
  constexpr int kLines = 30'000;
  ServerLimits limits;
  limits.stream_buffer_bytes = 64 << 20;
  serve(
      [&](const Request&, const std::shared_ptr<Responder>& to) {
        out_ = to->stream(200, {});
        for (int i = 0; i < kLines; ++i) out_->write(std::string(1'000, 'x') + "\n");
        out_->close();
      },
      limits);
  const auto by = client();
  int lines = 0;
  std::string why;
  const auto stream = by->open_stream(
      get("/"), {.on_open = {},
                 .on_line = [&](std::string_view line) { lines += line.size() == 1'000; },
                 .on_closed = [&](const Error& error) { why = error.code; }});
  ASSERT_TRUE(until([&] { return why == "stream_ended"; }));
  EXPECT_EQ(lines, kLines);
}

}  // namespace
}  // namespace dove::wire
