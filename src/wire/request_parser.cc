#include "wire/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <optional>

#include "wire/server_limits.h"

namespace dove::wire {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Text = boost::beast::string_view;

// "0\r\n\r\n". Beast (1.81) asserts when the end of an empty body comes in parts smaller than that.
constexpr std::size_t kLeastChunkedBytes = 5;

std::string copy_of(Text text) { return {text.data(), text.size()}; }

}  // namespace

Error head_too_large(std::size_t bytes_max) {
  return {
      ErrorKind::kTooLarge,
      "headers_too_large",
      fmt::format("the head of a request may have {} bytes; send fewer or shorter headers, or a "
                  "shorter target",
                  bytes_max),
      {}};
}

Error body_too_large(std::size_t bytes_max) {
  return {ErrorKind::kTooLarge,
          "body_too_large",
          fmt::format("the body of this request may have {} bytes; split it, or upload large data "
                      "as a file",
                      bytes_max),
          {}};
}

Error request_late() {
  return {ErrorKind::kTimeout,
          "request_timeout",
          "the request did not arrive in time; send it without pauses",
          {}};
}

// Receives what Beast's parser finds. An ErrorCode set here stops it.
class RequestParser::Impl final : public http::basic_parser<true> {
 public:
  explicit Impl(const ParserLimits& limits) : limits_(limits) {
    request.peer_address = limits.peer_address;
    request.peer_identity = limits.peer_identity;
    // Beast asks for more until its limit of a head is reached; feed() holds the total of ours.
    header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.header_bytes, std::numeric_limits<std::uint32_t>::max() / 2)));
    body_limit(boost::none);
  }

  Request request;
  std::optional<Error> problem;  // why on_header_impl refused, with its status
  int problem_status = 400;
  int version = 11;
  std::size_t body_bytes_max = 0;
  std::size_t head_bytes = 0;

  bool awaits_first_chunk() const { return chunked() && !chunk_seen_; }

 private:
  void on_request_impl(http::verb, Text method, Text target, int number, ErrorCode& ec) override {
    request.method = copy_of(method);
    request.target = copy_of(target);
    version = number;
    if (const Result<void> split = split_target(request); !split.ok()) {
      problem = split.error();
      ec = http::error::bad_target;
    }
  }

  void on_field_impl(http::field, Text name, Text value, ErrorCode&) override {
    if (!head_done_) request.headers.emplace_back(copy_of(name), copy_of(value));
  }

  void on_header_impl(ErrorCode& ec) override {
    head_done_ = true;
    const auto hosts = std::count_if(
        request.headers.begin(), request.headers.end(),
        [](const auto& header) { return boost::beast::iequals(header.first, "host"); });
    if (hosts > 1 || (hosts == 0 && version == 11)) {  // RFC 9112, 3.2
      problem = Error{ErrorKind::kInvalid, "malformed_request",
                      "a request of HTTP/1.1 has one Host header, its URL's host and port", "Host"};
      ec = http::error::bad_field;
      return;
    }
    // A coding that we do not undo would leave the end of the body in doubt.
    for (const auto& [name, value] : request.headers) {
      if (boost::beast::iequals(name, "transfer-encoding") &&
          !boost::beast::iequals(value, "chunked")) {
        problem = Error{ErrorKind::kInvalid, "malformed_request",
                        "Transfer-Encoding must be 'chunked' or absent", "Transfer-Encoding"};
        problem_status = 501;
        ec = http::error::bad_transfer_encoding;
        return;
      }
    }
    const bool has_body = chunked() || content_length().value_or(0) > 0;
    if (!has_body || !limits_.admit) return;
    const Result<std::size_t> admitted = limits_.admit(request);
    if (!admitted.ok()) {
      problem = admitted.error();
      problem_status = status_of(*problem);
      ec = http::error::bad_value;
      return;
    }
    body_bytes_max = *admitted;
    body_limit(body_bytes_max);
    if (content_length().value_or(0) > body_bytes_max) ec = http::error::body_limit;
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode&) override {
    // Not the whole of a large claim: memory is given for bytes, not for promises.
    constexpr std::uint64_t kTrusted = 64 * 1024;
    if (length) request.body.reserve(static_cast<std::size_t>(std::min(*length, kTrusted)));
  }

  std::size_t on_body_impl(Text bytes, ErrorCode&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t, Text, ErrorCode&) override { chunk_seen_ = true; }

  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode&) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(ErrorCode&) override {}
  void on_response_impl(int, Text, int, ErrorCode&) override {}

  const ParserLimits& limits_;
  bool head_done_ = false;
  bool chunk_seen_ = false;
};

RequestParser::RequestParser(ParserLimits limits) : limits_(std::move(limits)) {}
RequestParser::~RequestParser() = default;

RequestParser::Status RequestParser::refuse(int status, Error error) {
  refusal_status_ = status;
  refusal_ = std::move(error);
  return Status::kRefused;
}

RequestParser::Status RequestParser::refuse(const Impl& impl, const std::string& reason) {
  if (impl.problem) {
    return refuse(impl.problem_status, *impl.problem);
  }
  return refuse(400, Error{ErrorKind::kInvalid,
                           "malformed_request",
                           fmt::format("this is not a request of HTTP/1.1: {}", reason),
                           {}});
}

RequestParser::Status RequestParser::feed(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  if (!impl_) {
    // Empty lines before a request are skipped, as RFC 9112 asks.
    while (consumed < bytes.size() && (bytes[consumed] == '\r' || bytes[consumed] == '\n')) {
      ++consumed;
    }
    if (consumed == bytes.size()) return Status::kNeedMore;
    impl_ = std::make_unique<Impl>(limits_);
  }
  Impl& impl = *impl_;
  while (!impl.is_done()) {
    const bool in_head = !impl.is_header_done();
    const std::string_view rest = bytes.substr(consumed);
    if (rest.empty()) return Status::kNeedMore;
    if (!in_head && impl.awaits_first_chunk() && rest.size() < kLeastChunkedBytes) {
      return Status::kNeedMore;
    }
    ErrorCode ec;
    const std::size_t used = impl.put(boost::asio::const_buffer(rest.data(), rest.size()), ec);
    consumed += used;
    if (in_head) impl.head_bytes += used;
    const std::size_t held = rest.size() - used;
    if (ec == http::error::header_limit ||
        (in_head &&
         impl.head_bytes + (ec == http::error::need_more ? held : 0) > limits_.header_bytes)) {
      return refuse(431, head_too_large(limits_.header_bytes));
    }
    if (ec == http::error::need_more) {
      // Only a chunk's header or trailer leaves bytes behind once the head is done.
      if (!in_head && held > limits_.header_bytes)
        return refuse(impl, "a chunk's header is too long");
      return Status::kNeedMore;
    }
    if (ec == http::error::body_limit) {
      return refuse(413, body_too_large(impl.body_bytes_max));
    }
    if (ec) return refuse(impl, ec.message());
    if (in_head && impl.is_header_done()) {
      keep_alive_ = impl.keep_alive();
      http_1_0_ = impl.version == 10;
      is_head_ = impl.request.method == "HEAD";
      expects_continue_ =
          !http_1_0_ && boost::beast::iequals(impl.request.header("expect"), "100-continue");
      if (!impl.is_done()) return Status::kHead;
    }
  }
  return Status::kDone;
}

Request RequestParser::take() {
  CHECK(impl_ && impl_->is_done(), "take() follows kDone");
  Request request = std::move(impl_->request);
  impl_.reset();
  return request;
}

}  // namespace dove::wire
