// Fuzzes the parsing of requests, answers, lines and events: bytes from outside, no sockets.
//
// Besides not crashing: a request parsed in pieces equals the one parsed whole.
//
// seeds: tests/seeds/http
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/lines.h"
#include "wire/request_parser.h"
#include "wire/response_parser.h"
#include "wire/sse.h"

namespace dove::wire {
namespace {

struct Parsed {
  std::vector<Request> requests;
  int refusal_status = 0;
};

Parsed parse_in_steps(std::string_view text, std::size_t step) {
  RequestParser parser(
      {512, [](const Request&) -> Result<std::size_t> { return std::size_t{256}; }});
  Parsed parsed;
  std::string held;
  for (;;) {
    std::size_t consumed = 0;
    const RequestParser::Status status = parser.feed(held, consumed);
    CHECK(consumed <= held.size(), "no more is consumed than there is");
    held.erase(0, consumed);
    switch (status) {
      case RequestParser::Status::kHead:
        break;
      case RequestParser::Status::kDone:
        parsed.requests.push_back(parser.take());
        break;
      case RequestParser::Status::kRefused:
        parsed.refusal_status = parser.refusal_status();
        return parsed;
      case RequestParser::Status::kNeedMore:
        if (text.empty()) return parsed;
        held += text.substr(0, step);
        text.remove_prefix(std::min(step, text.size()));
        break;
    }
  }
}

void check_requests(std::string_view text, std::size_t step) {
  const Parsed whole = parse_in_steps(text, text.size() + 1);
  const Parsed pieces = parse_in_steps(text, step);
  CHECK(whole.requests.size() == pieces.requests.size(), "as many requests in pieces as whole");
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    const Request& a = whole.requests[i];
    const Request& b = pieces.requests[i];
    CHECK(a.target == b.target && a.headers == b.headers && a.body == b.body,
          "the same requests in pieces as whole");
    CHECK(a.body.size() <= 256, "the limit of the body holds");
    CHECK(a.path.starts_with('/'), "a path begins with a slash");
  }
  // In pieces a broken head may still be waited for, but never the other way round.
  CHECK(whole.refusal_status != 0 || pieces.refusal_status == 0,
        "what is refused in pieces is refused whole");
}

void check_response(std::string_view text, std::size_t step) {
  ResponseParser parser(false);
  std::size_t body_bytes = 0;
  parser.on_body = [&](std::string_view bytes) { return (body_bytes += bytes.size()) < 4096; };
  std::string held;
  while (!text.empty()) {
    held += text.substr(0, step);
    text.remove_prefix(std::min(step, text.size()));
    std::size_t consumed = 0;
    if (parser.feed(held, consumed) != ResponseParser::Status::kNeedMore) return;
    held.erase(0, consumed);
  }
  parser.end();
}

void check_events(std::string_view text, std::size_t step) {
  LineSplitter lines(1024);
  SseParser parser;
  const auto take = [&](std::string_view line) {
    if (const auto event = parser.feed_line(line)) {
      SseParser again;
      std::optional<SseEvent> copy;
      LineSplitter(8192).feed(format_sse(*event), [&](std::string_view one) {
        if (auto parsed = again.feed_line(one)) copy = std::move(parsed);
        return true;
      });
      CHECK(copy.has_value(), "an event that was received can be sent on");
    }
    return true;
  };
  while (!text.empty()) {
    if (lines.feed(text.substr(0, step), take) != LineSplitter::Outcome::kGoOn) return;
    text.remove_prefix(std::min(step, text.size()));
  }
}

}  // namespace
}  // namespace dove::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = 1 + data[0] % 37;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  dove::wire::check_requests(text, step);
  dove::wire::check_response(text, step);
  dove::wire::check_events(text, step);
  return 0;
}
