// The receiving side of a client: the limits of its connections, and streams of lines from a
// server.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace dove::wire {

struct AsyncClientOptions {
  // Offers HTTP/2 to servers with TLS. Where one takes it, all calls and streams have one
  // connection; as many as the server allows (ours: 32) are under way at once, the others wait.
  bool http2 = false;
  std::chrono::microseconds connect_timeout = std::chrono::seconds(5);
  // Until a machine has answered (TCP) once its name is looked up, of a client that knows others;
  // 0: connect_timeout.
  std::chrono::microseconds reach_timeout{0};
  std::chrono::microseconds open_timeout =
      std::chrono::seconds(10);  // to the head of a stream's answer; 0: any time
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

// A stream being received. Destroying it ends it, and its connection unless that is shared; no
// callback follows.
class InStream {
 public:
  virtual ~InStream() = default;
};

}  // namespace dove::wire
