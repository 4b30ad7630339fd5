// ResponseParser turns bytes into the Response of one request; its body goes to a sink as it comes.
//
// For the files of wire/ alone. No sockets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "wire/http.h"

namespace dove::wire {

class ResponseParser {
 public:
  enum class Status { kNeedMore, kDone, kBroken };

  // `is_head`: the request was a HEAD. Answers 1xx are skipped.
  explicit ResponseParser(bool is_head);
  ~ResponseParser();

  // Called with each piece of the body; false stops the parser, which gives kBroken.
  std::function<bool(std::string_view)> on_body;
  // Called once, when the head is complete.
  std::function<void(const Response&)> on_head;

  // Parses all that it can; `consumed` bytes are never needed again.
  Status feed(std::string_view bytes, std::size_t& consumed);
  // The connection ended. kDone when that ends the body.
  Status end();

  // Status and headers. REQUIRES: the head is complete.
  const Response& head() const;
  // Whether a byte has been seen.
  bool got_some() const { return got_some_; }
  bool keep_alive() const;
  // REQUIRES: kBroken.
  const std::string& reason() const { return reason_; }

 private:
  class Impl;
  bool is_head_;
  bool got_some_ = false;
  std::string reason_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dove::wire
