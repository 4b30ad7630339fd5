#include "wire/response_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace dove::wire {
namespace {

namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Text = boost::beast::string_view;

// "0\r\n\r\n". Beast (1.81) asserts when the end of an empty body comes in parts smaller than that.
constexpr std::size_t kLeastChunkedBytes = 5;
constexpr std::uint32_t kHeaderBytesMax = 64 * 1024;

}  // namespace

class ResponseParser::Impl final : public http::basic_parser<false> {
 public:
  explicit Impl(ResponseParser& of) : owner_(of) {
    header_limit(kHeaderBytesMax);
    body_limit(boost::none);
    skip(of.is_head_);
  }

  Response response;

  bool awaits_first_chunk() const { return head_done_ && chunked() && !chunk_seen_; }

 private:
  void on_response_impl(int status, Text, int, ErrorCode&) override { response.status = status; }

  void on_field_impl(http::field, Text name, Text value, ErrorCode&) override {
    if (head_done_) return;  // a trailer
    response.headers.emplace_back(std::string(name.data(), name.size()),
                                  std::string(value.data(), value.size()));
  }

  void on_header_impl(ErrorCode&) override {
    head_done_ = true;
    if (response.status / 100 != 1 && owner_.on_head) owner_.on_head(response);
  }

  std::size_t give(Text bytes, ErrorCode& ec) {
    if (owner_.on_body && !owner_.on_body(std::string_view(bytes.data(), bytes.size()))) {
      ec = http::error::body_limit;
    }
    return bytes.size();
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(Text bytes, ErrorCode& ec) override { return give(bytes, ec); }
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode& ec) override {
    return give(bytes, ec);
  }
  void on_chunk_header_impl(std::uint64_t, Text, ErrorCode&) override { chunk_seen_ = true; }
  void on_finish_impl(ErrorCode&) override {}
  void on_request_impl(http::verb, Text, Text, int, ErrorCode&) override {}

  ResponseParser& owner_;
  bool head_done_ = false;
  bool chunk_seen_ = false;
};

ResponseParser::ResponseParser(bool is_head)
    : is_head_(is_head), impl_(std::make_unique<Impl>(*this)) {}
ResponseParser::~ResponseParser() = default;

ResponseParser::Status ResponseParser::feed(std::string_view bytes, std::size_t& consumed) {
  consumed = 0;
  if (!bytes.empty()) got_some_ = true;
  for (;;) {
    while (!impl_->is_done()) {
      const std::string_view rest = bytes.substr(consumed);
      if (rest.empty()) return Status::kNeedMore;
      if (impl_->awaits_first_chunk() && rest.size() < kLeastChunkedBytes) return Status::kNeedMore;
      ErrorCode ec;
      const std::size_t used = impl_->put(boost::asio::const_buffer(rest.data(), rest.size()), ec);
      consumed += used;
      if (ec == http::error::need_more) {
        if (rest.size() - used <= kHeaderBytesMax) return Status::kNeedMore;
        ec = http::error::header_limit;
      }
      if (ec) {
        reason_ = ec.message();
        return Status::kBroken;
      }
    }
    if (impl_->response.status / 100 != 1) return Status::kDone;
    impl_ = std::make_unique<Impl>(*this);
  }
}

ResponseParser::Status ResponseParser::end() {
  ErrorCode ec = http::error::partial_message;
  if (impl_->is_done()) return Status::kDone;
  if (impl_->got_some()) impl_->put_eof(ec);
  if (!ec && impl_->is_done()) return Status::kDone;
  reason_ = "the connection ended in the middle of the answer";
  return Status::kBroken;
}

const Response& ResponseParser::head() const { return impl_->response; }

bool ResponseParser::keep_alive() const { return impl_->is_header_done() && impl_->keep_alive(); }

}  // namespace dove::wire
