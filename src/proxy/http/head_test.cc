#include "proxy/http/head.h"

#include <gtest/gtest.h>

namespace dove::proxy {
namespace {

std::string code_of(const std::string& bytes) {
  const Result<Head> head = read_request_head(bytes);
  if (!head.ok()) return head.error().code;
  const Result<Framing> framing = framing_of_request(*head);
  return framing.ok() ? "" : framing.error().code;
}

TEST(HeadTest, ARequestIsReadInPlace) {
  const std::string bytes =
      "GET /lab?x=1 HTTP/1.1\r\nHost: j42.a.org\r\nConnection: keep-alive, Upgrade\r\n\r\n";
  EXPECT_EQ(head_end(bytes), bytes.size());
  EXPECT_EQ(head_end(bytes.substr(0, bytes.size() - 1)), std::string::npos);
  const Result<Head> head = read_request_head(bytes);
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->target, "/lab?x=1");
  EXPECT_EQ(head->find("host"), "j42.a.org");
  EXPECT_TRUE(head->lists("connection", "upgrade"));
  EXPECT_FALSE(head->lists("connection", "up"));
  EXPECT_EQ(framing_of_request(*head)->kind, Framing::Kind::kNone);
}

TEST(HeadTest, WhatTwoReadersCouldReadInTwoWaysIsRefused) {
  const std::string begin = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const char* rest :
       {"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n", "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Content-Length: +5\r\n\r\n", "Content-Length: 5 5\r\n\r\n", "Content-Length:\r\n\r\n",
        "Content-Length: 0x5\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
        "Content-Length : 5\r\n\r\n", " X: folded\r\n\r\n", "X\r\n\r\n", ": x\r\n\r\n",
        "X: a\nY: b\r\n\r\n", "X: a\rY\r\n\r\n", "Host: b\r\n\r\n"}) {
    EXPECT_EQ(code_of(begin + rest), "malformed_request") << rest;
  }
  EXPECT_EQ(code_of(begin + std::string("X: a\0b\r\n\r\n", 10)), "malformed_request");
}

TEST(HeadTest, TheRequestLineIsExact) {
  const std::string rest = "\r\nHost: a\r\n\r\n";
  for (const char* line : {"GET", "GET /", "GET  HTTP/1.1", "GET x HTTP/1.1", "G@T / HTTP/1.1",
                           "GET http://a/ HTTP/1.1", "CONNECT /a HTTP/1.1", "GET /a b HTTP/1.1",
                           "GET /a\tb HTTP/1.1", "GET * HTTP/1.1"}) {
    EXPECT_EQ(code_of(line + rest), "malformed_request") << line;
  }
  for (const char* line : {"GET / HTTP/1.0", "GET / HTTP/2.0", "GET / http/1.1"}) {
    EXPECT_EQ(code_of(line + rest), "http_version") << line;
  }
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\n\r\n"), "malformed_request");
  EXPECT_EQ(code_of("OPTIONS *" + std::string(" HTTP/1.1") + rest), "");
}

TEST(HeadTest, AnAnswersBodyEndsAsItsHeadSays) {
  const auto kind = [](const std::string& bytes, bool to_head = false) {
    const Result<Head> head = read_response_head(bytes);
    if (!head.ok()) return std::string("bad head");
    const Result<Framing> framing = framing_of_response(*head, to_head);
    if (!framing.ok()) return std::string("bad end");
    return std::to_string(static_cast<int>(framing->kind));
  };
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), "1");
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true), "0");
  EXPECT_EQ(kind("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n"), "2");
  EXPECT_EQ(kind("HTTP/1.0 200 OK\r\n\r\n"), "3");
  EXPECT_EQ(kind("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"), "0");
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "bad end");
  EXPECT_EQ(kind("ICY 200 OK\r\n\r\n"), "bad head");
  EXPECT_EQ(kind("HTTP/1.1 abc\r\n\r\n"), "bad head");
}

// However the bytes are cut, the same ones belong to the body.
void expect_chunks(const std::string& body, bool good) {
  for (std::size_t step = 1; step <= body.size(); ++step) {
    BodyEnd end(Framing{Framing::Kind::kChunked, 0});
    std::size_t taken = 0;
    const std::string bytes = body + (good ? "GET /" : "");
    for (std::size_t at = 0; at < bytes.size() && !end.done() && !end.broken(); at += step) {
      taken += end.feed(std::string_view(bytes).substr(at, step));
    }
    EXPECT_EQ(end.done(), good) << body << " by " << step;
    EXPECT_EQ(end.broken(), !good) << body;
    if (good) {
      EXPECT_EQ(taken, body.size());
    }
  }
}

TEST(BodyEndTest, ChunksAreFollowedToTheirEnd) {
  expect_chunks("5\r\nhello\r\n0\r\n\r\n", true);
  expect_chunks("A;x=y\r\n0123456789\r\n00\r\nTrailer: x\r\n\r\n", true);
  expect_chunks("0\r\n\r\n", true);
  for (const char* bad : {"\r\n", "x\r\n", "5\nhello", "5\r\nhelloX", "5\r\nhello\rX", "-1\r\n",
                          "1234567890123456\r\n", "0\r\n\n"}) {
    expect_chunks(bad, false);
  }
}

TEST(BodyEndTest, ALengthIsCounted) {
  BodyEnd end(Framing{Framing::Kind::kLength, 5});
  EXPECT_EQ(end.feed("abc"), 3U);
  EXPECT_FALSE(end.done());
  EXPECT_EQ(end.feed("defgh"), 2U);
  EXPECT_TRUE(end.done());
  EXPECT_TRUE(BodyEnd(Framing{Framing::Kind::kLength, 0}).done());
}

}  // namespace
}  // namespace dove::proxy
