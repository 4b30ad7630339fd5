#include "wire/http2/http2_link.h"

#include <cctype>
#include <utility>

namespace dove::wire {
namespace {

constexpr std::size_t kFirstBytes = 512;
constexpr std::size_t kReadLeast = 2 * 1024;
constexpr std::size_t kReadMost = 16 * 1024;  // a record of TLS
constexpr std::size_t kSendBytes = 64 * 1024;
constexpr std::size_t kKeptBytes = 16 * 1024;

std::uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

}  // namespace

bool is_of_http1(std::string_view name) {
  for (const char* one : {"connection", "keep-alive", "proxy-connection", "transfer-encoding",
                          "upgrade", "host", "expect"}) {
    if (same_header(name, one)) return true;
  }
  return false;
}

void Http2Fields::add(std::string_view name, std::string_view value) {
  auto& [lower, clean] = fields_.emplace_back(name, value);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // A field must not begin another one, where somebody makes HTTP/1.1 of it.
  for (char& c : clean) c = c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
}

std::vector<nghttp2_nv> Http2Fields::list() const {
  std::vector<nghttp2_nv> all;
  all.reserve(fields_.size());
  for (const auto& [name, value] : fields_) {
    all.push_back(
        {bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return all;
}

Http2Link::Http2Link(Loop& loop, std::unique_ptr<Stream> stream, Http2Session session,
                     std::weak_ptr<Http2LinkOwner> owner)
    : loop_(loop),
      stream_(std::move(stream)),
      session_(std::move(session)),
      owner_(std::move(owner)),
      room_(kFirstBytes, kReadLeast, kReadMost) {}

// What has come with the handshake is looked at first: the answers to it leave in the first write.
void Http2Link::start() {
  read();
  flush();
}

void Http2Link::flush() {
  if (flush_posted_ || writing_ || closed_) return;
  flush_posted_ = true;
  loop_.post([self = shared_from_this()] {
    self->flush_posted_ = false;
    self->send();
  });
}

void Http2Link::linger() {
  if (lingering_ || closed_) return;
  lingering_ = true;
  stream_->end_writing();
}

void Http2Link::close() {
  if (std::exchange(closed_, true)) return;
  stream_->close();
}

void Http2Link::read() {
  stream_->read_some(
      room_.data(), room_.size(),
      [self = shared_from_this()](int error, std::size_t bytes) { self->on_read(error, bytes); });
}

void Http2Link::on_read(int error, std::size_t bytes) {
  const auto owner = owner_.lock();
  if (closed_ || owner == nullptr) return;
  if (error != 0) return owner->gone(error);
  if (lingering_) return read();
  const auto taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(room_.data()), bytes);
  if (closed_) return;
  if (taken < 0) return owner->gone(kMalformed);
  room_.came(bytes);
  owner->came();
  if (closed_) return;
  flush();
  read();
}

void Http2Link::send() {
  const auto owner = owner_.lock();
  if (writing_ || closed_ || lingering_ || owner == nullptr) return;
  sending_.clear();
  sent_ = 0;
  while (sending_.size() < kSendBytes) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(session_.get(), &data);
    if (closed_) return;
    if (size < 0) return owner->gone(kMalformed);
    if (size == 0) break;
    sending_ += text_of(data, static_cast<std::size_t>(size));
  }
  if (!sending_.empty()) {
    writing_ = true;
    owner->writes(0);
    return write_more();
  }
  if (sending_.capacity() > kKeptBytes) std::string().swap(sending_);
  if (nghttp2_session_want_read(session_.get()) == 0 &&
      nghttp2_session_want_write(session_.get()) == 0) {
    owner->over();
  }
}

void Http2Link::write_more() {
  stream_->write_some(std::string_view(sending_).substr(sent_),
                      [self = shared_from_this()](int error, std::size_t bytes) {
                        self->on_written(error, bytes);
                      });
}

void Http2Link::on_written(int error, std::size_t bytes) {
  const auto owner = owner_.lock();
  if (closed_ || owner == nullptr) return;
  sent_ += bytes;
  if (error != 0) return owner->writes(error);
  if (sent_ < sending_.size()) return write_more();
  writing_ = false;
  send();
}

}  // namespace dove::wire
