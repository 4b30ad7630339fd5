// AsyncClient speaks HTTP to one server from a Loop, without threads: the agent's way out.
//
// Calls wait in line for one keep-alive connection, made on demand; each stream has a connection of
// its own. A thousand of them fit in a process. Loop thread only. Callbacks come in a later turn
// than the call that they answer, may call anything here, and may destroy the client or stream.
//
// Errors: kUnavailable connection_refused (nobody listens), unreachable (no route),
// connection_broken (ended or reset before the whole answer), host_unknown · kTimeout timeout ·
// kTooLarge response_too_large, line_too_long · kInvalid malformed_response. A call is repeated by
// the client only when its reused connection turned out dead before any byte of an answer, and then
// once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"
#include "wire/loop.h"

namespace dove::wire {

struct AsyncClientOptions {
  std::chrono::microseconds connect_timeout = std::chrono::seconds(5);
  std::chrono::microseconds open_timeout =
      std::chrono::seconds(10);  // to the head of a stream's answer
  std::chrono::microseconds silence_timeout{
      0};  // a stream without a byte for this long ends; 0: never
  std::size_t response_bytes_max = 64 * 1024 * 1024;
  std::size_t line_bytes_max = 16 * 1024 * 1024;
};

struct StreamCallbacks {
  // The head has arrived. With a status other than 200 the lines are those of the error's body.
  std::function<void(int status)> on_open;
  // Each '\n'-ended line, without "\n" or "\r\n".
  std::function<void(std::string_view line)> on_line;
  // The stream is over; last callback, once. The server's regular end is connection_broken too,
  // with code "stream_ended".
  std::function<void(Error)> on_closed;
};

// A stream being received. Destroying it closes the connection, and no callback follows.
class InStream {
 public:
  virtual ~InStream() = default;
};

class ClientLine;

class AsyncClient {
 public:
  // `host`: an address, or a name (resolved in one helper thread of the process at each connect).
  AsyncClient(Loop& loop, std::string host, std::uint16_t port, AsyncClientOptions options = {});
  // Open calls are dropped without callback.
  ~AsyncClient();
  AsyncClient(const AsyncClient&) = delete;
  AsyncClient& operator=(const AsyncClient&) = delete;

  // `done` is called once, with the answer of any status or an Error. `timeout` counts from now and
  // includes waiting in line and connecting; a call that times out takes its connection with it.
  void call(Request request, std::function<void(Result<Response>)> done,
            std::chrono::microseconds timeout = std::chrono::seconds(30));

  // Streams outlive the client if their owner wants.
  [[nodiscard]] std::unique_ptr<InStream> open_stream(Request request, StreamCallbacks callbacks);

  // Calls not yet answered.
  std::size_t pending() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::unique_ptr<ClientLine> line_;  // of the Loop's World, in place of connections
};

}  // namespace dove::wire
