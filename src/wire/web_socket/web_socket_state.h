// The internals of both ends of a WebSocket. For web_socket.cc and web_socket_connect.cc alone;
// loop thread only. Kept alive by its WebSocket, by its pending operations, and while it closes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/stream.h"
#include "wire/streams/read_room.h"
#include "wire/tcp.h"
#include "wire/web_socket/frames.h"
#include "wire/web_socket/web_socket.h"

namespace dove::wire {

// Thousands are open that say little; one that is sent much soon reads in larger pieces.
inline constexpr std::size_t kScratchLeast_bytes = 1 << 10;
inline constexpr std::size_t kScratchMost_bytes = 64 << 10;

struct WebSocket::State : std::enable_shared_from_this<WebSocket::State> {
  State(Loop& of, bool client, WebSocketCallbacks with, WebSocketLimits given)
      : loop(of),
        is_client(client),
        callbacks(std::move(with)),
        limits(given),
        reader(/*masked=*/!client, given.message_bytes_max),
        scratch(kScratchLeast_bytes, kScratchLeast_bytes, kScratchMost_bytes) {}

  // -- web_socket_connect.cc: a client until the answer's head
  void connect(const Address& to);
  // Begins anew, if there is where to.
  bool go_elsewhere(const Error& refused);
  void read_answer(std::string_view bytes);
  void refused(int status, std::string body);

  // -- web_socket.cc
  bool send(Opcode opcode, std::string_view payload);
  void opened(std::string_view early);
  void write_more();
  void on_written();
  void read_more();
  void on_read(int error, std::size_t bytes);
  void take(std::string_view bytes);
  bool hear(Opcode opcode, std::string_view payload);
  void watch();
  void begin_closing(std::string_view reason);
  void fail(ErrorKind kind, const char* code, const std::string& message);
  void drop();

  Loop& loop;
  const bool is_client;
  WebSocketCallbacks callbacks;
  const WebSocketLimits limits;
  FrameReader reader;
  ReadRoom scratch;
  std::unique_ptr<Stream> stream;
  std::uint64_t generation = 0;  // what is pending on a former stream is not heard
  bool open = false;             // the handshake is over
  bool closing = false;          // a close frame is on its way, nothing is heard any more
  bool over = false;
  bool writing = false;
  std::string sending;
  std::size_t sent = 0;
  std::string out;
  bool heard = false;  // something came since the last look
  int quiet_looks = 0;
  Timer timer;
  // For the handshake.
  Request request;
  WebSocketElsewhere elsewhere;
  ConnectAttempt connecting;
  std::string where;
  std::string held;
  std::string waiting;  // frames to be sent once it is open
  std::string expected_accept;
};

// What a server answers to this key.
std::string accept_of(std::string_view key);

}  // namespace dove::wire
