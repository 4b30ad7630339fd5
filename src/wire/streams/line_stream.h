// LineStream: the lines of a continuing answer, its time-outs and its end, whatever the transport.
//
// For in_stream.cc and async_client.cc alone; loop thread only. Its callbacks may end it, and
// destroy the transport.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wire/incoming.h"
#include "wire/lines.h"
#include "wire/loop.h"

namespace dove::wire {

class LineStream : public std::enable_shared_from_this<LineStream> {
 public:
  // `where` is for messages.
  LineStream(Loop& loop, std::string where, StreamCallbacks callbacks,
             const AsyncClientOptions& options);

  // What its user is given: destroying it closes the stream.
  std::unique_ptr<InStream> handle();
  // Ends what carries it, and is dropped; called once, when it is over. In place of the former one.
  void on_over(std::function<void()> hang_up) { hang_up_ = std::move(hang_up); }
  // The request is being sent: the head of its answer has open_timeout.
  void begin() { watch(options_.open_timeout); }
  void opened(int status);
  // Bytes have come, of whatever kind.
  void came();
  // Takes bytes of the answer's body. False: it is over.
  bool take(std::string_view bytes);
  // The answer is whole.
  void end();
  void broken();
  void fail(Error error);
  void fail(ErrorKind kind, const char* code, const std::string& what);
  // No callback follows.
  void close();
  bool is_over() const { return over_; }

 private:
  void watch(std::chrono::microseconds limit);
  bool give(std::string_view line);

  Loop& loop_;
  const std::string where_;
  StreamCallbacks callbacks_;
  const AsyncClientOptions options_;
  LineSplitter lines_;
  std::function<void()> hang_up_;
  bool over_ = false;
  std::chrono::steady_clock::time_point quiet_until_;
  Timer timer_;
};

}  // namespace dove::wire
