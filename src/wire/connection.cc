#include "wire/connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "telemetry/clock.h"
#include "wire/exchange.h"

namespace dove::wire {
namespace {

constexpr std::size_t kFirstReadBytes = 1 * 1024;  // most strangers say little
constexpr std::size_t kReadBytes = 4 * 1024;
constexpr std::size_t kBodyReadBytes = 64 * 1024;
constexpr std::size_t kIgnoredBytesMax = 64 * 1024 * 1024;

// A header must not start another one.
void append_clean(std::string& out, std::string_view text) {
  for (char c : text) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
}

bool is_ours(std::string_view name) {
  return same_header(name, "content-length") || same_header(name, "connection") ||
         same_header(name, "transfer-encoding") || same_header(name, "date");
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerState> server, std::unique_ptr<Stream> stream,
                       std::string party)
    : server_(std::move(server)),
      stream_(std::move(stream)),
      party_(std::move(party)),
      parser_(server_->parser_limits(*stream_)) {}

void Connection::start() {
  // Whoever has asked nothing is nobody yet.
  set_deadline(std::min(server_->limits.header_timeout, server_->limits.idle_timeout));
  read();
}

void Connection::read() {
  if (reading_ || phase_ == Phase::kClosed) return;
  reading_ = true;
  const std::size_t wanted = phase_ == Phase::kBody ? kBodyReadBytes
                             : began_us_ == 0       ? kFirstReadBytes
                                                    : kReadBytes;
  if (scratch_.size() != wanted) {
    scratch_.resize(wanted);
    scratch_.shrink_to_fit();
  }
  stream_->read_some(scratch_.data(), scratch_.size(),
                     [self = shared_from_this()](int error, std::size_t bytes) {
                       self->reading_ = false;
                       self->on_read(error, bytes);
                     });
}

void Connection::on_read(int error, std::size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error != 0) return drop();
  if (phase_ == Phase::kAnswering) return;  // refused while this read was pending
  if (phase_ == Phase::kLingering || phase_ == Phase::kStreaming) {
    ignored_bytes_ += bytes;
    return ignored_bytes_ > kIgnoredBytesMax ? drop() : read();
  }
  held_.append(scratch_.data(), bytes);
  if (phase_ == Phase::kBody && (body_seen_ += bytes) >= kStepBytes) {
    body_seen_ = 0;
    set_deadline(server_->limits.body_timeout);
  }
  parse();
}

void Connection::parse() {
  for (;;) {
    std::size_t consumed = 0;
    const RequestParser::Status status = parser_.feed(held_, consumed);
    held_.erase(0, consumed);
    switch (status) {
      case RequestParser::Status::kNeedMore:
        if (phase_ == Phase::kIdle && parser_.started()) {
          phase_ = Phase::kHead;
          set_deadline(server_->limits.header_timeout);
        }
        return read();
      case RequestParser::Status::kHead:
        phase_ = Phase::kBody;
        body_seen_ = 0;
        set_deadline(server_->limits.body_timeout);
        if (parser_.expects_continue() && held_.empty()) {
          out_ += "HTTP/1.1 100 Continue\r\n\r\n";
          flush();
        }
        continue;
      case RequestParser::Status::kDone:
        return dispatch();
      case RequestParser::Status::kRefused:
        return refuse(parser_.refusal_status(), parser_.refusal());
    }
  }
}

void Connection::dispatch() {
  phase_ = Phase::kHandling;
  clear_deadline();
  close_after_ = !parser_.keep_alive() || server_->shutting_down;
  http_1_0_ = parser_.http_1_0();
  is_head_ = parser_.is_head();
  waits_.leave();
  began_us_ = telemetry::monotonic_us();
  Request request = parser_.take();
  only_reads_ = is_head_ || request.method == "GET";
  server_->handler(std::move(request), std::make_shared<Exchange>(server_->loop, weak_from_this()));
}

void Connection::write_head(int status, const Pairs& headers, std::string_view framing) {
  fmt::format_to(std::back_inserter(out_), "HTTP/1.1 {} {}\r\nDate: {}\r\n", status,
                 reason_phrase(status), server_->date());
  for (const auto& [name, value] : headers) {
    if (is_ours(name)) continue;
    append_clean(out_, name);
    out_ += ": ";
    append_clean(out_, value);
    out_ += "\r\n";
  }
  out_ += framing;
  if (close_after_) {
    out_ += "Connection: close\r\n";
  } else if (http_1_0_) {
    out_ += "Connection: keep-alive\r\n";
  }
  out_ += "\r\n";
}

void Connection::answer(Response response) {
  if (phase_ != Phase::kHandling) return;
  phase_ = Phase::kAnswering;
  if (only_reads_ && waits_.is_full()) response = problem(too_much_unread());
  server_->count_answer(response.status, telemetry::monotonic_us() - began_us_);
  if (response.header("connection") == "close") close_after_ = true;
  const bool bodied = may_have_body(response.status);
  write_head(response.status, response.headers,
             bodied ? fmt::format("Content-Length: {}\r\n", response.body.size()) : std::string());
  if (bodied && !is_head_) out_ += response.body;
  flush();
}

void Connection::refuse(int status, const Error& error) {
  if (phase_ == Phase::kClosed) return;
  const Response response = problem(status, error);
  server_->count_answer(status, 0);
  phase_ = Phase::kAnswering;
  close_after_ = true;
  write_head(status, response.headers, fmt::format("Content-Length: {}\r\n", response.body.size()));
  out_ += response.body;
  flush();
}

std::shared_ptr<Outflow> Connection::begin_stream(int status, const Pairs& headers) {
  CHECK(phase_ == Phase::kHandling, "a stream answers the request being handled");
  auto outflow = std::make_shared<StreamOut>(server_->loop, weak_from_this());
  outflow_ = outflow;
  phase_ = Phase::kStreaming;
  server_->count_answer(status, telemetry::monotonic_us() - began_us_);
  close_after_ = true;  // what the peer sends meanwhile is not kept, so nothing can follow
  chunked_ = !http_1_0_ && !is_head_;
  held_.clear();
  write_head(status, headers, chunked_ ? "Transfer-Encoding: chunked\r\n" : "");
  flush();
  read();
  if (is_head_ || server_->shutting_down) wind_down();
  return outflow;
}

// While a request is handled nothing is read; an answer before it may still be on its way.
TakenOver Connection::hand_over() {
  TakenOver taken;
  if (phase_ != Phase::kHandling || writing_ || reading_ || server_->shutting_down) {
    drop();
    return taken;
  }
  server_->count_answer(101, telemetry::monotonic_us() - began_us_);
  phase_ = Phase::kClosed;
  timer_.cancel();
  taken.stream = std::move(stream_);
  taken.early = std::move(held_);
  server_->remove(shared_from_this());
  return taken;
}

bool Connection::stream_write(std::string_view bytes) {
  if (phase_ != Phase::kStreaming || finishing_) return false;
  if (bytes.empty()) return true;
  if (waits_.is_full() || unsent_bytes() + bytes.size() > server_->limits.stream_buffer_bytes) {
    drop();
    return false;
  }
  if (chunked_ && !chunk_open_) {
    chunk_open_ = true;
    chunk_at_ = out_.size();
    out_ += "00000000\r\n";
  }
  out_ += bytes;
  waits_.set(out_.size() + sending_.size());
  if (!flush_posted_ && !writing_) {
    flush_posted_ = true;
    server_->loop.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->flush_posted_ = false;
      self->flush();
    });
  }
  return true;
}

void Connection::stream_end() {
  if (phase_ != Phase::kStreaming || finishing_) return;
  close_chunk();
  if (chunked_) out_ += "0\r\n\r\n";
  finishing_ = true;
  flush();
}

void Connection::stream_cut() {
  if (phase_ == Phase::kStreaming && !finishing_) drop();
}

void Connection::close_chunk() {
  if (!chunk_open_) return;
  chunk_open_ = false;
  constexpr std::size_t kPrefix = 10;
  fmt::format_to(out_.data() + chunk_at_, "{:08x}", out_.size() - chunk_at_ - kPrefix);
  out_ += "\r\n";
}

void Connection::flush() {
  if (writing_ || phase_ == Phase::kClosed) return;
  close_chunk();
  sending_.clear();
  sending_.swap(out_);
  sent_ = 0;
  waits_.set(sending_.size());
  if (sending_.empty()) return on_all_written();
  writing_ = true;
  await_peer();
  write_more();
}

// While a body is still awaited (after 100 Continue) its deadline stands.
void Connection::await_peer() {
  taken_ = 0;
  if (phase_ != Phase::kBody) set_deadline(server_->limits.write_timeout);
}

void Connection::write_more() {
  stream_->write_some(std::string_view(sending_).substr(sent_),
                      [self = shared_from_this()](int error, std::size_t bytes) {
                        self->on_written(error, bytes);
                      });
}

void Connection::on_written(int error, std::size_t bytes) {
  if (phase_ == Phase::kClosed) return;
  if (error != 0) return drop();
  sent_ += bytes;
  if ((taken_ += bytes) >= kStepBytes) await_peer();
  if (sent_ < sending_.size()) return write_more();
  writing_ = false;
  flush();
}

void Connection::on_all_written() {
  constexpr std::size_t kKeptBytes = 16 * 1024;
  if (sending_.capacity() > kKeptBytes) std::string().swap(sending_);
  if (phase_ == Phase::kStreaming) {
    clear_deadline();
    if (finishing_) linger();
  } else if (phase_ == Phase::kAnswering) {
    if (close_after_) return linger();
    phase_ = Phase::kIdle;
    set_deadline(server_->limits.idle_timeout);
    parse();
  }
}

void Connection::linger() {
  phase_ = Phase::kLingering;
  held_.clear();
  stream_->end_writing();
  set_deadline(kLingerTime);
  read();
}

void Connection::wind_down() {
  close_after_ = true;
  if (phase_ == Phase::kIdle) {
    drop();
  } else if (phase_ == Phase::kStreaming) {
    if (const auto outflow = outflow_.lock()) outflow->ended();
    stream_end();
  }
}

void Connection::drop() {
  if (phase_ == Phase::kClosed) return;
  // Without chunks the end of the connection is the end of the answer.
  const bool would_look_whole = phase_ == Phase::kStreaming && !chunked_;
  phase_ = Phase::kClosed;
  timer_.cancel();
  waits_.leave();
  would_look_whole ? stream_->reset() : stream_->close();
  if (const auto outflow = outflow_.lock()) outflow->ended();
  server_->remove(shared_from_this());
}

void Connection::set_deadline(std::chrono::microseconds from_now) {
  deadline_ = Clock::now() + from_now;
  if (!timer_.pending() || armed_ > deadline_) arm_timer();
}

void Connection::arm_timer() {
  armed_ = deadline_;
  const auto left = std::chrono::ceil<std::chrono::microseconds>(deadline_ - Clock::now());
  timer_ = server_->loop.after(left, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->deadline_ == kNever) return;
    if (Clock::now() < self->deadline_) {
      self->arm_timer();
    } else {
      self->on_deadline();
    }
  });
}

void Connection::on_deadline() {
  if (phase_ == Phase::kHead || phase_ == Phase::kBody) {
    refuse(408, request_late());
  } else {
    drop();
  }
}

}  // namespace dove::wire
