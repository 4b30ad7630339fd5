// The client's side of opening a WebSocket: the request, and the answer that it checks.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "wire/outgoing.h"
#include "wire/response_parser.h"
#include "wire/secret.h"
#include "wire/web_socket/web_socket_state.h"

namespace dove::wire {
namespace {

constexpr std::size_t kHeadBytesMax = 64 << 10;

// The value of a header in the bytes of a head; "" if it is not there.
std::string_view header_of(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && same_header(line.substr(0, colon), name)) {
      std::string_view value = line.substr(colon + 1);
      while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
      while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
      return value;
    }
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
  }
  return {};
}

int status_of_line(std::string_view head) {
  int status = 0;
  if (!head.starts_with("HTTP/1.1 ") || head.size() < 12) return 0;
  std::from_chars(head.data() + 9, head.data() + 12, status);
  return status;
}

}  // namespace

void WebSocket::State::connect(const Address& to) {
  where = to.text();
  const std::string key = sha1_base64(random_token(16)).substr(0, 21) + "A==";  // 16 bytes
  expected_accept = accept_of(key);
  out = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n",
      request.target, where, key);
  for (const auto& [name, value] : request.headers) {
    out += name + ": ";
    for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    out += "\r\n";
  }
  out += "\r\n";
  const std::weak_ptr<State> weak = weak_from_this();
  timer = loop.after(limits.connect_timeout, [weak] {
    if (const auto self = weak.lock()) {
      self->fail(ErrorKind::kTimeout, "timeout",
                 fmt::format("{} did not answer in time; is the server stuck?", self->where));
    }
  });
  connecting =
      connect_to(loop, to, limits.connect_timeout, [weak](Result<std::unique_ptr<Stream>> result) {
        const auto self = weak.lock();
        if (!self || self->over) return;
        self->connecting.reset();
        if (!result.ok()) {
          const Error error = result.error();
          return self->fail(error.kind, error.code.c_str(), error.message);
        }
        self->stream = std::move(result).value();
        self->write_more();
        self->read_more();
      });
}

// What waits to be sent goes with it.
bool WebSocket::State::go_elsewhere(const Error& refused) {
  if (open || closing || !elsewhere) return false;
  std::optional<WebSocketDetour> next = elsewhere(refused);
  if (!next) return false;
  ++generation;
  connecting.reset();
  if (stream) stream->close();
  stream.reset();
  writing = false;
  sent = 0;
  for (std::string* bytes : {&sending, &out, &held}) bytes->clear();
  request.target = std::move(next->target);
  timer = loop.after(next->pause, [weak = weak_from_this(), to = std::move(next->to)] {
    const auto self = weak.lock();
    if (self && !self->over) self->connect(to);
  });
  return true;
}

void WebSocket::State::read_answer(std::string_view bytes) {
  held += bytes;
  const std::size_t end = held.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (held.size() > kHeadBytesMax) {
      fail(ErrorKind::kInvalid, "malformed_response", where + " is no dove server");
    }
    return;
  }
  const int status = status_of_line(held);
  if (status == 101) {
    if (header_of(std::string_view(held).substr(0, end), "Sec-WebSocket-Accept") !=
        expected_accept) {
      return fail(ErrorKind::kInvalid, "malformed_response", where + " is no dove server");
    }
    const std::string early = held.substr(end + 4);
    held.clear();
    timer.cancel();
    return opened(early);
  }
  ResponseParser parser(/*is_head=*/false);
  std::string body;
  parser.on_body = [&body](std::string_view piece) {
    body += piece;
    return body.size() < kHeadBytesMax;
  };
  std::size_t consumed = 0;
  switch (parser.feed(held, consumed)) {
    case ResponseParser::Status::kNeedMore:
      if (held.size() < 2 * kHeadBytesMax) return;
      break;
    case ResponseParser::Status::kDone:
      return refused(parser.head().status, std::move(body));
    case ResponseParser::Status::kBroken:
      break;
  }
  fail(ErrorKind::kInvalid, "malformed_response", where + " is no dove server");
}

void WebSocket::State::refused(int status, std::string body) {
  fail(kind_of_status(status), fmt::format("http_{}", status).c_str(), body);
}

std::unique_ptr<WebSocket> connect_web_socket(Loop& loop, const Address& to, Request request,
                                              WebSocketCallbacks callbacks, WebSocketLimits limits,
                                              WebSocketElsewhere elsewhere) {
  auto state =
      std::make_shared<WebSocket::State>(loop, /*client=*/true, std::move(callbacks), limits);
  state->request = std::move(request);
  state->elsewhere = std::move(elsewhere);
  if (loop.world() == nullptr) {
    state->connect(to);
  } else {
    loop.post([state] {
      state->fail(ErrorKind::kUnavailable, "unreachable", "no WebSockets in this world");
    });
  }
  return std::make_unique<WebSocket>(std::move(state));
}

}  // namespace dove::wire
