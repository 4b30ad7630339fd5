#include "wire/http.h"

#include <gtest/gtest.h>

#include "wire/lines.h"
#include "wire/request_parser.h"
#include "wire/response_parser.h"
#include "wire/secret.h"
#include "wire/sse.h"

namespace dove::wire {
namespace {

using Status = RequestParser::Status;

ParserLimits limits_of(std::size_t header_bytes, std::size_t body_bytes) {
  return {header_bytes, [body_bytes](const Request&) { return body_bytes; }};
}

// Feeds `text` in pieces of `step` bytes until a request or a refusal.
Status feed_in_steps(RequestParser& parser, std::string_view text, std::size_t step) {
  std::string held;
  for (;;) {
    std::size_t consumed = 0;
    const Status status = parser.feed(held, consumed);
    held.erase(0, consumed);
    if (status == Status::kHead) continue;
    if (status != Status::kNeedMore || text.empty()) return status;
    held += text.substr(0, step);
    text.remove_prefix(std::min(step, text.size()));
  }
}

TEST(Target, is_split_and_decoded) {
  Request request;
  request.target = "/v1/jobs/a%20b?state=run%26ning&x=1+2&flag&state=done#part";
  ASSERT_TRUE(split_target(request).ok());
  EXPECT_EQ(request.path, "/v1/jobs/a b");
  EXPECT_EQ(*request.find_query("state"), "run&ning");
  EXPECT_EQ(*request.find_query("x"), "1 2");
  EXPECT_EQ(*request.find_query("flag"), "");
  EXPECT_EQ(request.find_query("absent"), nullptr);
  EXPECT_EQ(request.query.size(), 4u);
}

TEST(Target, broken_escapes_are_refused) {
  for (const char* target : {"/%", "/%2", "/%zz", "/a%00b", "/?q=%f", "x"}) {
    Request request;
    request.target = target;
    EXPECT_FALSE(split_target(request).ok()) << target;
  }
}

TEST(Target, an_escape_that_cannot_be_is_named) {
  EXPECT_EQ(percent_decode("a%C3%A9%00", false).error().message,
            "%00 stands for a zero byte, which no name here holds");
  EXPECT_EQ(percent_decode("%20b%zz%20", false).error().message,
            "'%zz' is no percent-escape: write % with two hex digits");
  EXPECT_NE(percent_decode("b%4", false).error().message.find("'%4'"), std::string::npos);
}

TEST(Target, encoding_round_trips) {
  const std::string text = "a/b c%é~";
  EXPECT_EQ(percent_decode(percent_encode(text), false).value(), text);
  EXPECT_EQ(percent_encode("a/b", true), "a/b");
}

TEST(Problem, names_code_detail_and_field) {
  const Response response = problem({ErrorKind::kConflict, "job_ended", "say \"x\"", "jobs[0]"});
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.header("content-TYPE"), "application/problem+json");
  EXPECT_EQ(response.body,
            R"({"status":409,"title":"Conflict","code":"job_ended","detail":"say \"x\"",)"
            "\"field\":\"jobs[0]\"}\n");
}

TEST(RequestParser, same_request_in_any_pieces) {
  const std::string text =
      "\r\nPOST /v1/jobs?x=1 HTTP/1.1\r\nHost: h\r\nX-Y: z\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    RequestParser parser(limits_of(1024, 1024));
    ASSERT_EQ(feed_in_steps(parser, text, step), Status::kDone) << step;
    EXPECT_TRUE(parser.keep_alive());
    const Request request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.body, "hello world");
    EXPECT_EQ(request.header("x-y"), "z");
    EXPECT_FALSE(request.has_header("trailer"));
  }
}

TEST(Parsers, an_empty_chunked_body_in_single_bytes) {
  const std::string rest = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  RequestParser parser(limits_of(1024, 1024));
  EXPECT_EQ(feed_in_steps(parser, "POST / HTTP/1.1\r\nHost: x\r\n" + rest, 1), Status::kDone);
  ResponseParser answers(false);
  std::string held;
  ResponseParser::Status status = ResponseParser::Status::kNeedMore;
  for (char c : "HTTP/1.1 200 OK\r\n" + rest) {
    ASSERT_EQ(status, ResponseParser::Status::kNeedMore);
    held += c;
    std::size_t consumed = 0;
    status = answers.feed(held, consumed);
    held.erase(0, consumed);
  }
  EXPECT_EQ(status, ResponseParser::Status::kDone);
}

TEST(RequestParser, limits_hold_in_any_pieces) {
  const std::string head = "GET /" + std::string(200, 'a') +
                           " HTTP/1.1\r\nHost: x\r\nX: " + std::string(100, 'b') + "\r\n\r\n";
  const std::string sized = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n01234567890";
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n6\r\n012345\r\n6\r\n012345\r\n0\r\n\r\n";
  const std::string endless_extension =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(1000, 'x');
  for (std::size_t step : {1, 7, 64, 1000}) {
    const auto refusal = [&](const std::string& text) {
      RequestParser parser(limits_of(256, 10));
      EXPECT_EQ(feed_in_steps(parser, text, step), Status::kRefused) << text << step;
      return parser.refusal_status();
    };
    EXPECT_EQ(refusal(head), 431);
    EXPECT_EQ(refusal(sized), 413);
    EXPECT_EQ(refusal(chunked), 413);
    EXPECT_EQ(refusal(endless_extension), 400);
  }
}

TEST(RequestParser, malformed_is_refused) {
  for (const char* text :
       {"hello\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n"}) {
    RequestParser parser(limits_of(1024, 1024));
    EXPECT_EQ(feed_in_steps(parser, text, 1000), Status::kRefused) << text;
    EXPECT_EQ(parser.refusal().code, "malformed_request") << text;
  }
}

TEST(ResponseParser, skips_continue_and_ends_with_the_connection) {
  std::string body;
  ResponseParser parser(false);
  parser.on_body = [&](std::string_view bytes) {
    body += bytes;
    return true;
  };
  std::size_t consumed = 0;
  const std::string text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 No\r\nA: b\r\n\r\nrest";
  EXPECT_EQ(parser.feed(text, consumed), ResponseParser::Status::kNeedMore);
  EXPECT_EQ(consumed, text.size());
  EXPECT_EQ(parser.end(), ResponseParser::Status::kDone);
  EXPECT_EQ(parser.head().status, 404);
  EXPECT_EQ(parser.head().header("a"), "b");
  EXPECT_EQ(body, "rest");
}

TEST(Lines, are_cut_whatever_the_pieces) {
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  LineSplitter splitter(8);
  for (const char* piece : {"a", "b\r", "\n\nc", "d\ne"}) {
    EXPECT_EQ(splitter.feed(piece, keep), LineSplitter::Outcome::kGoOn);
  }
  splitter.finish(keep);
  EXPECT_EQ(lines, (std::vector<std::string>{"ab", "", "cd", "e"}));
  EXPECT_EQ(splitter.feed("123456789", keep), LineSplitter::Outcome::kTooLong);
}

TEST(Sse, event_survives_the_wire) {
  const SseEvent sent{"41", "job", "{\"a\":1}\nsecond\n"};
  std::vector<SseEvent> got;
  SseParser parser;
  LineSplitter splitter(1000);
  splitter.feed(format_sse_comment("hello") + format_sse(sent) + format_sse({"", "", "x"}),
                [&](std::string_view line) {
                  if (auto event = parser.feed_line(line)) got.push_back(*event);
                  return true;
                });
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].id, "41");
  EXPECT_EQ(got[0].event, "job");
  EXPECT_EQ(got[0].data, sent.data);
  EXPECT_EQ(got[1].id, "41");  // the last one stays
  EXPECT_EQ(got[1].event, "");
}

TEST(Secret, known_digests) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hmac_sha256_hex("key", "The quick brown fox jumps over the lazy dog"),
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
  EXPECT_TRUE(equal_constant_time("same", "same"));
  EXPECT_FALSE(equal_constant_time("same", "sane"));
  EXPECT_FALSE(equal_constant_time("same", "sam"));
}

TEST(Secret, tokens_differ_and_are_url_safe) {
  const std::string token = random_token(32);
  EXPECT_EQ(token.size(), 43u);
  EXPECT_NE(token, random_token(32));
  EXPECT_EQ(percent_encode(token), token);
}

}  // namespace
}  // namespace dove::wire
