// Streams that come in: lines of an answer that goes on for as long as the server likes.
#include <fmt/format.h>

#include "wire/lines.h"
#include "wire/outgoing.h"
#include "wire/response_parser.h"
#include "wire/tcp.h"

namespace dove::wire {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

// The work of one stream; ends when `closed`, which its owner or a failure sets.
class Receiver : public std::enable_shared_from_this<Receiver> {
 public:
  Receiver(Loop& loop, const Address& to, const Request& request, StreamCallbacks callbacks,
           const AsyncClientOptions& options)
      : loop_(loop),
        where_(to.text() + request.target),
        bytes_(request_bytes(request, to, false)),
        callbacks_(std::move(callbacks)),
        options_(options),
        lines_(options.line_bytes_max),
        parser_(request.method == "HEAD"),
        scratch_(kReadBytes, '\0') {}

  void start(const Address& to);
  void close();

 private:
  void connected(std::unique_ptr<Stream> stream);
  void write_more();
  void read_more();
  void on_read(int error, std::size_t bytes);
  void opened(int status);
  void watch(std::chrono::microseconds limit);
  void fail(ErrorKind kind, const char* code, const std::string& what);
  bool give(std::string_view line) {
    if (callbacks_.on_line) callbacks_.on_line(line);
    return !closed_;
  }

  Loop& loop_;
  const std::string where_;
  const std::string bytes_;
  StreamCallbacks callbacks_;
  const AsyncClientOptions options_;
  LineSplitter lines_;
  LineSplitter::Outcome outcome_ = LineSplitter::Outcome::kGoOn;
  ResponseParser parser_;
  ConnectAttempt connecting_;
  std::unique_ptr<Stream> stream_;
  std::size_t sent_ = 0;
  std::string scratch_;
  std::string held_;
  bool closed_ = false;
  std::chrono::steady_clock::time_point quiet_until_;
  Timer timer_;
};

void Receiver::start(const Address& to) {
  parser_.on_head = [this](const Response& head) { opened(head.status); };
  parser_.on_body = [this](std::string_view bytes) {
    if (!closed_)
      outcome_ = lines_.feed(bytes, [this](std::string_view line) { return give(line); });
    return !closed_ && outcome_ == LineSplitter::Outcome::kGoOn;
  };
  connecting_ = connect_to(loop_, to, options_.connect_timeout,
                           [weak = weak_from_this()](Result<std::unique_ptr<Stream>> result) {
                             const auto self = weak.lock();
                             if (!self || self->closed_) return;
                             if (result.ok()) return self->connected(std::move(result).value());
                             self->close();
                             if (self->callbacks_.on_closed)
                               self->callbacks_.on_closed(result.error());
                           });
}

void Receiver::connected(std::unique_ptr<Stream> stream) {
  connecting_.reset();
  stream_ = std::move(stream);
  watch(options_.open_timeout);
  write_more();
  read_more();
}

void Receiver::write_more() {
  stream_->write_some(std::string_view(bytes_).substr(sent_),
                      [self = shared_from_this()](int error, std::size_t n) {
                        if (self->closed_ || error != 0) return;  // the read reports failures
                        self->sent_ += n;
                        if (self->sent_ < self->bytes_.size()) self->write_more();
                      });
}

void Receiver::read_more() {
  stream_->read_some(scratch_.data(), scratch_.size(),
                     [self = shared_from_this()](int error, std::size_t n) {
                       if (!self->closed_) self->on_read(error, n);
                     });
}

void Receiver::opened(int status) {
  watch(options_.silence_timeout);
  if (callbacks_.on_open) callbacks_.on_open(status);
}

void Receiver::on_read(int error, std::size_t bytes) {
  ResponseParser::Status status = ResponseParser::Status::kBroken;
  if (error == 0) {
    quiet_until_ = std::chrono::steady_clock::now() + options_.silence_timeout;
    held_.append(scratch_.data(), bytes);
    std::size_t consumed = 0;
    status = parser_.feed(held_, consumed);
    if (closed_) return;  // by its owner, in a callback
    held_.erase(0, consumed);
    if (outcome_ == LineSplitter::Outcome::kTooLong) {
      return fail(ErrorKind::kTooLarge, "line_too_long",
                  fmt::format("a line is longer than {} bytes", options_.line_bytes_max));
    }
    if (status == ResponseParser::Status::kBroken) {
      return fail(ErrorKind::kInvalid, "malformed_response",
                  fmt::format("not an answer of HTTP/1.1: {}", parser_.reason()));
    }
  } else if (error == Stream::kEnded) {
    status = parser_.end();
  }
  switch (status) {
    case ResponseParser::Status::kNeedMore:
      return read_more();
    case ResponseParser::Status::kDone:
      lines_.finish([this](std::string_view line) { return give(line); });
      if (closed_) return;
      return fail(ErrorKind::kUnavailable, "stream_ended", "the server ended the stream");
    case ResponseParser::Status::kBroken:
      return fail(ErrorKind::kUnavailable, "connection_broken",
                  "the connection broke in the middle of the stream; did the server end?");
  }
}

// Ends the stream when it stays silent for `limit`; 0: never. Reads only move the instant.
void Receiver::watch(std::chrono::microseconds limit) {
  timer_.cancel();
  if (limit.count() == 0) return;
  quiet_until_ = std::chrono::steady_clock::now() + limit;
  timer_ = loop_.after(limit, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    const auto left = self->quiet_until_ - std::chrono::steady_clock::now();
    if (left.count() > 0) {
      const auto until = self->quiet_until_;
      self->watch(std::chrono::ceil<std::chrono::microseconds>(left));
      self->quiet_until_ = until;
    } else {
      self->fail(ErrorKind::kTimeout, "timeout", "no byte came in time");
    }
  });
}

void Receiver::close() {
  closed_ = true;
  timer_.cancel();
  connecting_.reset();
  if (stream_) stream_->close();
}

void Receiver::fail(ErrorKind kind, const char* code, const std::string& what) {
  const auto self = shared_from_this();
  close();
  if (callbacks_.on_closed) {
    const auto on_closed = std::move(callbacks_.on_closed);
    on_closed(Error{kind, code, fmt::format("{}: {}", where_, what), {}});
  }
}

class Owner final : public InStream {
 public:
  explicit Owner(std::shared_ptr<Receiver> receiver) : receiver_(std::move(receiver)) {}
  ~Owner() override { receiver_->close(); }

 private:
  std::shared_ptr<Receiver> receiver_;
};

}  // namespace

std::unique_ptr<InStream> open_in_stream(Loop& loop, const Address& to, const Request& request,
                                         StreamCallbacks callbacks,
                                         const AsyncClientOptions& options) {
  auto receiver = std::make_shared<Receiver>(loop, to, request, std::move(callbacks), options);
  receiver->start(to);
  return std::make_unique<Owner>(std::move(receiver));
}

}  // namespace dove::wire
