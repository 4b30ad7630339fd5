#include "wire/web_socket/web_socket.h"

#include <fmt/format.h>

#include <utility>

#include "wire/secret.h"
#include "wire/web_socket/web_socket_state.h"

namespace dove::wire {
namespace {

constexpr int kQuietLooksMax = 3;
constexpr std::chrono::seconds kLinger{2};
constexpr std::uint16_t kNormal = 1000;
constexpr std::uint16_t kProtocolError = 1002;

// "a, Upgrade" lists "upgrade".
bool lists(std::string_view header, std::string_view word) {
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    std::string_view part = header.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (same_header(part, word)) return true;
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
  }
  return false;
}

}  // namespace

std::string accept_of(std::string_view key) {
  return sha1_base64(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
}

bool WebSocket::State::send(Opcode opcode, std::string_view payload) {
  if (over || closing) return false;
  const std::string mask = is_client ? random_token(3) : "";
  const std::string frame = frame_bytes(opcode, payload, mask);
  if (out.size() + sending.size() - sent + waiting.size() + frame.size() > kUnsentMax_bytes) {
    loop.post([self = shared_from_this()] {
      self->fail(ErrorKind::kUnavailable, "too_slow", "the peer does not take what is sent to it");
    });
    return false;
  }
  (open ? out : waiting) += frame;
  if (open && !writing) write_more();
  return true;
}

void WebSocket::State::opened(std::string_view early) {
  open = true;
  heard = true;
  out += waiting;
  waiting.clear();
  watch();
  if (const auto on_open = callbacks.on_open) on_open();  // which may end us, with last words
  if (over) return;
  if (!writing) write_more();
  if (!early.empty() && !closing) take(early);
}

void WebSocket::State::write_more() {
  if (over || !stream) return;
  if (sent == sending.size()) {
    sending.clear();
    sending.swap(out);
    sent = 0;
  }
  if (sending.empty()) return on_written();
  writing = true;
  stream->write_some(std::string_view(sending).substr(sent),
                     [self = shared_from_this(), mine = generation](int error, std::size_t bytes) {
                       if (mine != self->generation) return;
                       self->writing = false;
                       if (error != 0) return;  // the read tells
                       self->sent += bytes;
                       self->write_more();
                     });
}

void WebSocket::State::on_written() {
  if (closing && stream) stream->end_writing();
}

void WebSocket::State::read_more() {
  stream->read_some(scratch.data(), scratch.size(),
                    [self = shared_from_this(), mine = generation](int error, std::size_t bytes) {
                      if (!self->over && mine == self->generation) self->on_read(error, bytes);
                    });
}

void WebSocket::State::on_read(int error, std::size_t bytes) {
  if (error != 0) {
    return fail(ErrorKind::kUnavailable, "connection_broken", "the connection broke");
  }
  heard = true;
  const std::uint64_t mine = generation;
  const std::string_view got(scratch.data(), bytes);
  if (!open) {
    read_answer(got);
  } else if (!closing) {
    take(got);
  }
  if (over || mine != generation) return;
  scratch.came(bytes);
  read_more();
}

void WebSocket::State::take(std::string_view bytes) {
  const auto self = shared_from_this();
  const Result<void> fed = reader.feed(
      bytes, [this](Opcode opcode, std::string_view payload) { return hear(opcode, payload); });
  if (fed.ok() || over || closing) return;
  const Error error = fed.error();
  send(Opcode::kClose, close_payload(kProtocolError, error.message));
  fail(error.kind, "bad_frame", error.message);
}

bool WebSocket::State::hear(Opcode opcode, std::string_view payload) {
  switch (opcode) {
    case Opcode::kText:
      if (const auto on_text = callbacks.on_text) on_text(payload);  // which may end us
      break;
    case Opcode::kBytes:
      if (const auto on_bytes = callbacks.on_bytes) on_bytes(payload);
      break;
    case Opcode::kPing:
      send(Opcode::kPong, payload);
      break;
    case Opcode::kClose:
      send(Opcode::kClose, close_payload(kNormal, ""));
      fail(ErrorKind::kUnavailable, "closed", std::string(close_reason(payload)));
      break;
    case Opcode::kPong:
    case Opcode::kContinuation:
      break;
  }
  return !over && !closing;
}

// Both ends ping, so either hears something in every round.
void WebSocket::State::watch() {
  const std::weak_ptr<State> weak = weak_from_this();
  timer = loop.after(limits.ping_every, [weak] {
    const auto self = weak.lock();
    if (!self || self->over || self->closing) return;
    self->quiet_looks = self->heard ? 0 : self->quiet_looks + 1;
    self->heard = false;
    if (self->quiet_looks >= kQuietLooksMax) {
      return self->fail(ErrorKind::kTimeout, "timeout", "nothing came from the peer for too long");
    }
    self->send(Opcode::kPing, "");
    if (!self->over) self->watch();
  });
}

void WebSocket::State::begin_closing(std::string_view reason) {
  if (over || closing) return;
  callbacks = {};
  if (!open) return drop();
  send(Opcode::kClose, close_payload(kNormal, reason));
  if (over) return;
  closing = true;
  if (!writing) write_more();
  // The pending read keeps this alive meanwhile.
  timer = loop.after(kLinger, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->drop();
  });
}

void WebSocket::State::fail(ErrorKind kind, const char* code, const std::string& message) {
  if (over) return;
  const auto self = shared_from_this();
  if (go_elsewhere(Error{kind, code, message, ""})) return;
  const auto on_closed = std::move(callbacks.on_closed);
  drop();
  if (on_closed) on_closed(Error{kind, code, message, ""});
}

void WebSocket::State::drop() {
  if (over) return;
  over = true;
  callbacks = {};
  elsewhere = {};
  timer.cancel();
  connecting.reset();
  if (stream) stream->close();
}

WebSocket::WebSocket(std::shared_ptr<State> state) : state_(std::move(state)) {}

WebSocket::~WebSocket() {
  if (!state_->closing) state_->drop();
}

bool WebSocket::send_text(std::string_view text) { return state_->send(Opcode::kText, text); }
bool WebSocket::send_bytes(std::string_view bytes) { return state_->send(Opcode::kBytes, bytes); }
void WebSocket::close(std::string_view reason) { state_->begin_closing(reason); }

Result<std::unique_ptr<WebSocket>> accept_web_socket(Loop& loop, const Request& request,
                                                     Responder& responder,
                                                     WebSocketCallbacks callbacks,
                                                     WebSocketLimits limits) {
  const std::string_view key = request.header("Sec-WebSocket-Key");
  if (!lists(request.header("Upgrade"), "websocket") ||
      !lists(request.header("Connection"), "upgrade") ||
      request.header("Sec-WebSocket-Version") != "13" || key.empty()) {
    return Error{ErrorKind::kInvalid, "upgrade_required",
                 "this path speaks WebSocket, version 13; use `dove exec`, or a client that does",
                 "Upgrade"};
  }
  TakenOver taken = responder.take_over();
  if (!taken.stream) {
    return Error{ErrorKind::kUnavailable, "peer_gone", "the connection is gone", ""};
  }
  auto state =
      std::make_shared<WebSocket::State>(loop, /*client=*/false, std::move(callbacks), limits);
  state->stream = std::move(taken.stream);
  state->out = fmt::format(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: {}\r\n\r\n",
      accept_of(key));
  loop.post([state, early = std::move(taken.early)] {
    if (!state->over) state->opened(early);
    if (!state->over) state->read_more();
  });
  return std::make_unique<WebSocket>(std::move(state));
}

}  // namespace dove::wire
