// RequestParser turns bytes into Requests, one at a time, within limits. No sockets, so that it can
// be fuzzed.
//
// For the files of wire/ alone. Bytes come from outside, so everything here may be hostile.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"

namespace dove::wire {

struct ParserLimits {
  std::size_t header_bytes = 16 * 1024;
  // The most bytes of this request's body, or why it is refused; asked when its head is complete
  // and a body follows.
  std::function<Result<std::size_t>(const Request& head)> admit;
  std::string peer_address = {};  // of every request
  std::string peer_identity = {};
};

// What the peer is told that goes beyond a limit, whatever the version of HTTP: 431, 413 and 408.
Error head_too_large(std::size_t bytes_max);
Error body_too_large(std::size_t bytes_max);
Error request_late();

class RequestParser {
 public:
  enum class Status {
    kNeedMore,  // feed again with the unconsumed bytes and more behind them
    kHead,      // the head is complete, a body follows; feed again
    kDone,      // take() has a request
    kRefused,   // refusal() says why; nothing can be parsed after it
  };

  explicit RequestParser(ParserLimits limits);
  ~RequestParser();

  // Parses from the front of `bytes`; `consumed` is how many of them are never needed again.
  Status feed(std::string_view bytes, std::size_t& consumed);

  // REQUIRES: the last feed() gave kDone. Ready for the next request afterwards.
  Request take();
  // Whether a byte of a request is in it.
  bool started() const { return impl_ != nullptr; }
  // About the request in the parser, once its head is complete (until the next feed after take()).
  bool keep_alive() const { return keep_alive_; }
  bool http_1_0() const { return http_1_0_; }
  bool expects_continue() const { return expects_continue_; }
  bool is_head() const { return is_head_; }

  // REQUIRES: kRefused.
  const Error& refusal() const { return refusal_; }
  int refusal_status() const { return refusal_status_; }

 private:
  class Impl;
  Status refuse(int status, Error error);
  Status refuse(const Impl& impl, const std::string& reason);

  ParserLimits limits_;
  std::unique_ptr<Impl> impl_;
  bool keep_alive_ = false;
  bool http_1_0_ = false;
  bool expects_continue_ = false;
  bool is_head_ = false;
  Error refusal_;
  int refusal_status_ = 0;
};

}  // namespace dove::wire
