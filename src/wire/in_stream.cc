// Streams that come in over connections of their own, in HTTP/1.1.
#include <fmt/format.h>

#include "wire/outgoing.h"
#include "wire/response_parser.h"
#include "wire/streams/line_stream.h"
#include "wire/tcp.h"

namespace dove::wire {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

// The connection of one stream, which keeps it alive until it is over.
class Receiver : public std::enable_shared_from_this<Receiver> {
 public:
  Receiver(Loop& loop, const Address& to, const Request& request, std::shared_ptr<LineStream> lines)
      : loop_(loop),
        bytes_(request_bytes(request, to, false)),
        lines_(std::move(lines)),
        parser_(request.method == "HEAD"),
        scratch_(kReadBytes, '\0') {}

  void start(const Address& to, std::chrono::microseconds connect_timeout);

 private:
  void connected(std::unique_ptr<Stream> stream);
  void write_more();
  void read_more();
  void on_read(int error, std::size_t bytes);
  void hang_up();

  Loop& loop_;
  const std::string bytes_;
  const std::shared_ptr<LineStream> lines_;
  ResponseParser parser_;
  ConnectAttempt connecting_;
  std::unique_ptr<Stream> stream_;
  std::size_t sent_ = 0;
  std::string scratch_;
  std::string held_;
};

void Receiver::start(const Address& to, std::chrono::microseconds connect_timeout) {
  parser_.on_head = [this](const Response& head) { lines_->opened(head.status); };
  parser_.on_body = [this](std::string_view bytes) { return lines_->take(bytes); };
  lines_->on_over([self = shared_from_this()] { self->hang_up(); });
  connecting_ = connect_to(loop_, to, connect_timeout,
                           [weak = weak_from_this()](Result<std::unique_ptr<Stream>> result) {
                             const auto self = weak.lock();
                             if (!self || self->lines_->is_over()) return;
                             if (result.ok()) return self->connected(std::move(result).value());
                             self->lines_->fail(result.error());
                           });
}

void Receiver::connected(std::unique_ptr<Stream> stream) {
  connecting_.reset();
  stream_ = std::move(stream);
  lines_->begin();
  write_more();
  read_more();
}

void Receiver::write_more() {
  stream_->write_some(std::string_view(bytes_).substr(sent_),
                      [self = shared_from_this()](int error, std::size_t n) {
                        if (self->lines_->is_over() || error != 0)
                          return;  // the read reports failures
                        self->sent_ += n;
                        if (self->sent_ < self->bytes_.size()) self->write_more();
                      });
}

void Receiver::read_more() {
  stream_->read_some(scratch_.data(), scratch_.size(),
                     [self = shared_from_this()](int error, std::size_t n) {
                       if (!self->lines_->is_over()) self->on_read(error, n);
                     });
}

void Receiver::on_read(int error, std::size_t bytes) {
  ResponseParser::Status status = ResponseParser::Status::kBroken;
  if (error == 0) {
    lines_->came();
    held_.append(scratch_.data(), bytes);
    std::size_t consumed = 0;
    status = parser_.feed(held_, consumed);
    if (lines_->is_over()) return;  // by its owner, in a callback, or by a line too long
    held_.erase(0, consumed);
    if (status == ResponseParser::Status::kBroken) {
      return lines_->fail(ErrorKind::kInvalid, "malformed_response",
                          fmt::format("not an answer of HTTP/1.1: {}", parser_.reason()));
    }
  } else if (error == Stream::kEnded) {
    status = parser_.end();
  }
  switch (status) {
    case ResponseParser::Status::kNeedMore:
      return read_more();
    case ResponseParser::Status::kDone:
      return lines_->end();
    case ResponseParser::Status::kBroken:
      return lines_->broken();
  }
}

void Receiver::hang_up() {
  connecting_.reset();
  if (stream_) stream_->close();
}

}  // namespace

void receive_alone(Loop& loop, const Address& to, const Request& request,
                   std::shared_ptr<LineStream> lines, std::chrono::microseconds connect_timeout) {
  std::make_shared<Receiver>(loop, to, request, std::move(lines))->start(to, connect_timeout);
}

}  // namespace dove::wire
