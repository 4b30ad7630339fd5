#include "wire/streams/line_stream.h"

#include <fmt/format.h>

#include <utility>

namespace dove::wire {

LineStream::LineStream(Loop& loop, std::string where, StreamCallbacks callbacks,
                       const AsyncClientOptions& options)
    : loop_(loop),
      where_(std::move(where)),
      callbacks_(std::move(callbacks)),
      options_(options),
      lines_(options.line_bytes_max) {}

namespace {

class Handle final : public InStream {
 public:
  explicit Handle(std::shared_ptr<LineStream> lines) : lines_(std::move(lines)) {}
  ~Handle() override { lines_->close(); }

 private:
  std::shared_ptr<LineStream> lines_;
};

}  // namespace

std::unique_ptr<InStream> LineStream::handle() {
  return std::make_unique<Handle>(shared_from_this());
}

void LineStream::opened(int status) {
  if (over_) return;
  watch(options_.silence_timeout);
  if (callbacks_.on_open) callbacks_.on_open(status);
}

void LineStream::came() {
  quiet_until_ = std::chrono::steady_clock::now() + options_.silence_timeout;
}

bool LineStream::give(std::string_view line) {
  if (callbacks_.on_line) callbacks_.on_line(line);
  return !over_;
}

bool LineStream::take(std::string_view bytes) {
  if (over_) return false;
  const auto self = shared_from_this();
  const auto outcome = lines_.feed(bytes, [this](std::string_view line) { return give(line); });
  if (outcome == LineSplitter::Outcome::kTooLong) {
    fail(ErrorKind::kTooLarge, "line_too_long",
         fmt::format("a line is longer than {} bytes", options_.line_bytes_max));
  }
  return !over_;
}

void LineStream::end() {
  const auto self = shared_from_this();
  lines_.finish([this](std::string_view line) { return give(line); });
  fail(ErrorKind::kUnavailable, "stream_ended", "the server ended the stream");
}

void LineStream::broken() {
  fail(ErrorKind::kUnavailable, "connection_broken",
       "the connection broke in the middle of the stream; did the server end?");
}

// Ends the stream when it stays silent for `limit`; 0: never. Reads only move the instant.
void LineStream::watch(std::chrono::microseconds limit) {
  timer_.cancel();
  if (limit.count() == 0) return;
  quiet_until_ = std::chrono::steady_clock::now() + limit;
  timer_ = loop_.after(limit, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->over_) return;
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

void LineStream::close() {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  if (const auto hang_up = std::exchange(hang_up_, nullptr)) hang_up();
}

void LineStream::fail(Error error) {
  if (over_) return;
  const auto self = shared_from_this();
  close();
  if (callbacks_.on_closed) std::exchange(callbacks_.on_closed, nullptr)(std::move(error));
}

void LineStream::fail(ErrorKind kind, const char* code, const std::string& what) {
  fail(Error{kind, code, fmt::format("{}: {}", where_, what), {}});
}

}  // namespace dove::wire
