#include "wire/http2/http2_connection.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "wire/http2/served_stream.h"

namespace dove::wire {
namespace {

constexpr int kEmptyFramesMax = 1'000;  // in a second, beyond those that our bytes ask for
constexpr std::size_t kQueuedFramesMax = 1'000;
constexpr std::size_t kFullFrameBytes = 1'024;  // of ours; the peer may open the window for it
constexpr std::int32_t kWindowBytes = 1 << 20;  // of the connection

Http2Connection& connection_of(void* user) { return *static_cast<Http2Connection*>(user); }

}  // namespace

Http2Connection::Http2Connection(std::shared_ptr<ServerState> server,
                                 std::unique_ptr<Stream> stream, std::string party)
    : server_(std::move(server)), party_(std::move(party)), stream_(std::move(stream)) {}

Http2Connection::~Http2Connection() = default;

Http2Session Http2Connection::make_session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* options = nullptr;
  CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0,
        "memory");
  nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_no_closed_streams(options, 1);
  nghttp2_session* made = nullptr;
  const int failed = nghttp2_session_server_new2(&made, callbacks, this, options);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(options);
  CHECK(failed == 0, "memory");
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kHttp2StreamsMax},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(server_->limits.header_bytes)}};
  nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
  return Http2Session(made);
}

void Http2Connection::start() {
  link_ = std::make_shared<Http2Link>(server_->loop, std::move(stream_), make_session(),
                                      weak_from_this());
  // Whoever has asked nothing is nobody yet.
  idle_until_ =
      Clock::now() + std::min(server_->limits.header_timeout, server_->limits.idle_timeout);
  link_->start();
  arm();
}

// There is no answer without a request.
void Http2Connection::refuse(int status, const Error& error) {
  refusal_.emplace(status, error);
  start();
}

void Http2Connection::drop() {
  if (std::exchange(closed_, true)) return;
  timer_.cancel();
  if (link_ != nullptr) link_->close();
  const auto all = std::exchange(streams_, {});
  for (const auto& [id, stream] : all) stream->lost();
  server_->remove(shared_from_this());
}

void Http2Connection::wind_down() {
  if (closed_ || std::exchange(winding_down_, true)) return;
  nghttp2_session* session = link_->session();
  nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, nullptr,
                        0);
  for (const auto& [id, stream] : streams_) stream->wind_down();
  link_->flush();
  arm();
}

void Http2Connection::writes(int error) {
  if (error != 0) return drop();
  write_until_ = Clock::now() + server_->limits.write_timeout;
  arm();
}

// The peer is to read what the session said last before the connection ends.
void Http2Connection::over() {
  winding_down_ = true;
  link_->linger();
  const auto all = std::exchange(streams_, {});
  for (const auto& [id, stream] : all) stream->lost();
  idle_until_ = Clock::now() + kLingerTime;
  arm();
}

void Http2Connection::gone(int) { drop(); }

ServedStream* Http2Connection::find(std::int32_t id) const {
  const auto at = streams_.find(id);
  return at == streams_.end() ? nullptr : at->second.get();
}

void Http2Connection::awaits_body() {
  for (const auto& [id, stream] : streams_) {
    if (stream->receives()) return stream->take_turn();
  }
}

// A window of one byte costs us as much as a reset.
bool Http2Connection::carries_too_little(const nghttp2_frame_hd& head) {
  if (head.type == NGHTTP2_HEADERS || (head.type == NGHTTP2_DATA && head.length > 0)) return false;
  const auto now = Clock::now();
  if (now - second_began_ > std::chrono::seconds(1)) {
    second_began_ = now;
    empty_frames_ = 0;
  }
  return ++empty_frames_ > kEmptyFramesMax;
}

// The library answers a request that may not begin with a reset, which waits for a peer that takes
// nothing.
int Http2Connection::on_begin_frame(nghttp2_session* session, const nghttp2_frame_hd* head,
                                    void* user) {
  const bool takes_too_little = nghttp2_session_get_outbound_queue_size(session) > kQueuedFramesMax;
  return takes_too_little || connection_of(user).carries_too_little(*head)
             ? NGHTTP2_ERR_CALLBACK_FAILURE
             : 0;
}

int Http2Connection::on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = connection_of(user);
  if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  self.streams_[frame->hd.stream_id] = std::make_shared<ServedStream>(self, frame->hd.stream_id);
  return 0;
}

int Http2Connection::on_header(nghttp2_session*, const nghttp2_frame* frame,
                               const std::uint8_t* name, std::size_t name_size,
                               const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                               void* user) {
  ServedStream* stream = connection_of(user).find(frame->hd.stream_id);
  if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  const bool taken = stream->on_field(text_of(name, name_size), text_of(value, value_size));
  return taken ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

int Http2Connection::on_data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                             const std::uint8_t* data, std::size_t size, void* user) {
  nghttp2_session_consume_connection(session, size);
  const auto at = connection_of(user).streams_.find(id);
  if (at == connection_of(user).streams_.end()) return 0;
  const auto stream = at->second;
  stream->on_body(text_of(data, size));
  return 0;
}

int Http2Connection::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = connection_of(user);
  const bool is_head =
      frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  const auto at = self.streams_.find(frame->hd.stream_id);
  if (at == self.streams_.end()) return 0;
  const auto stream = at->second;
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
                    (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA);
  if (is_head) {
    stream->on_head(ends);
  } else if (ends) {
    stream->on_request_end();
  }
  return self.closed_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

int Http2Connection::on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = connection_of(user);
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  if (frame->hd.type == NGHTTP2_DATA && frame->hd.length >= kFullFrameBytes) {
    self.empty_frames_ = std::max(0, self.empty_frames_ - 1);
  }
  ServedStream* stream = self.find(frame->hd.stream_id);
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && stream != nullptr) stream->on_answered();
  return 0;
}

int Http2Connection::on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
  Http2Connection& self = connection_of(user);
  const auto ended = self.streams_.extract(id);
  if (ended.empty()) return 0;
  ended.mapped()->lost();
  if (self.streams_.empty()) self.idle_until_ = Clock::now() + self.server_->limits.idle_timeout;
  self.awaits_body();
  return 0;
}

Http2Connection::Clock::time_point Http2Connection::next_deadline() const {
  auto next = streams_.empty() ? idle_until_ : kNever;
  if (link_->is_writing()) next = std::min(next, write_until_);
  for (const auto& [id, stream] : streams_) next = std::min(next, stream->deadline());
  return next;
}

// The timer fires at or before the next deadline.
void Http2Connection::arm() {
  if (closed_) return;
  const auto next = next_deadline();
  if (next == kNever || (timer_.pending() && armed_ <= next)) return;
  armed_ = next;
  const auto left = std::chrono::ceil<std::chrono::microseconds>(next - Clock::now());
  timer_ = server_->loop.after(left, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_deadline();
  });
}

void Http2Connection::on_deadline() {
  const auto now = Clock::now();
  if (link_->is_writing() && write_until_ <= now) return drop();
  if (streams_.empty() && idle_until_ <= now) {
    if (winding_down_) return drop();
    idle_until_ = now + kLingerTime;
    wind_down();
  }
  const auto all = streams_;  // some may end
  for (const auto& [id, stream] : all) {
    if (stream->deadline() <= now) stream->on_deadline();
  }
  arm();
}

}  // namespace dove::wire
