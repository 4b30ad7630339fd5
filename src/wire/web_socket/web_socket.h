// WebSocket: messages both ways on one connection that began as an HTTP request (RFC 6455). It
// carries what a request and its answer cannot: a terminal, or input that continues while output
// arrives.
//
// Loop thread only. Either end pings, and considers a peer gone after three missed pings.
//
// Nothing is held back here: the sender counts what the peer has not taken (a window of its own),
// and a peer that lets more than kUnsentMax_bytes accumulate is dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/address.h"
#include "wire/http.h"
#include "wire/loop.h"
#include "wire/server.h"

namespace dove::wire {

// They come in a later turn than any call on the socket, and may destroy it.
struct WebSocketCallbacks {
  std::function<void()> on_open = {};  // connect_web_socket's alone
  std::function<void(std::string_view)> on_text = {};
  std::function<void(std::string_view)> on_bytes = {};
  // It is over; last callback, once, not after close(). kUnavailable "closed" when the peer said
  // so, with its reason as message; of an answer other than 101 as Client::stream has it.
  std::function<void(Error)> on_closed = {};
};

struct WebSocketLimits {
  std::size_t message_bytes_max = 1 << 20;
  std::chrono::microseconds ping_every = std::chrono::seconds(15);
  std::chrono::microseconds connect_timeout = std::chrono::seconds(10);  // to the answer's head
};

class WebSocket {
 public:
  static constexpr std::size_t kUnsentMax_bytes = 4 << 20;

  struct State;
  explicit WebSocket(std::shared_ptr<State> state);
  // Destroying it drops the connection without a word, and no callback follows.
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  // False: it is over.
  bool send_text(std::string_view text);
  bool send_bytes(std::string_view bytes);
  // Tells the peer why, once all that was sent has left; nothing is heard any more.
  void close(std::string_view reason);

 private:
  std::shared_ptr<State> state_;
};

// Answers a request that asks for it with 101. Error kInvalid "upgrade_required": it does not, and
// is still to be answered; kUnavailable: its peer is gone.
Result<std::unique_ptr<WebSocket>> accept_web_socket(Loop& loop, const Request& request,
                                                     Responder& responder,
                                                     WebSocketCallbacks callbacks,
                                                     WebSocketLimits limits = {});

// Where one that was not opened is asked for instead, after a pause.
struct WebSocketDetour {
  Address to;
  std::string target;
  std::chrono::microseconds pause{0};
};
// Told what on_closed would say before on_open; nothing: it says so.
using WebSocketElsewhere = std::function<std::optional<WebSocketDetour>(const Error& refused)>;

// Target and headers are the request's. What is sent before on_open waits for it.
[[nodiscard]] std::unique_ptr<WebSocket> connect_web_socket(Loop& loop, const Address& to,
                                                            Request request,
                                                            WebSocketCallbacks callbacks,
                                                            WebSocketLimits limits = {},
                                                            WebSocketElsewhere elsewhere = {});

}  // namespace dove::wire
