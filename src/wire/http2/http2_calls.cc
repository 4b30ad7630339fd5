#include "wire/http2/http2_calls.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace dove::wire {
namespace {

constexpr std::uint32_t kWindowBytes = 1 << 20;            // of an answer
constexpr std::int32_t kConnectionWindowBytes = 16 << 20;  // of all
constexpr std::size_t kHeadBytesMax = 64 * 1024;

Http2Calls& calls_of(void* user) { return *static_cast<Http2Calls*>(user); }

bool sends_body(const Request& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" ||
         request.method == "PATCH";
}

}  // namespace

std::shared_ptr<Http2Calls> Http2Calls::begin(Loop& loop, std::unique_ptr<Stream> stream) {
  auto self = std::make_shared<Http2Calls>();
  self->link_ = std::make_shared<Http2Link>(loop, std::move(stream), self->make_session(), self);
  self->link_->start();
  return self;
}

Http2Calls::~Http2Calls() {
  if (link_ != nullptr) link_->close();
}

Http2Session Http2Calls::make_session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* options = nullptr;
  CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0,
        "memory");
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
  // Until the server has said how many it takes.
  nghttp2_option_set_peer_max_concurrent_streams(options, kHttp2StreamsKept);
  nghttp2_session* made = nullptr;
  const int failed = nghttp2_session_client_new2(&made, callbacks, this, options);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(options);
  CHECK(failed == 0, "memory");
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeadBytesMax}};
  nghttp2_submit_settings(made, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(made, NGHTTP2_FLAG_NONE, 0, kConnectionWindowBytes);
  return Http2Session(made);
}

std::int32_t Http2Calls::ask(std::shared_ptr<const Request> request, const Address& to,
                             Hears hears) {
  Http2Fields fields;
  fields.add(":method", request->method);
  fields.add(":scheme", to.tls == nullptr ? "http" : "https");
  fields.add(":authority", to.text());
  fields.add(":path", request->target);
  for (const auto& [name, value] : request->headers) {
    if (!is_of_http1(name) && !same_header(name, "content-length")) fields.add(name, value);
  }
  const bool sends = sends_body(*request);
  if (sends) fields.add("content-length", std::to_string(request->body.size()));
  const auto list = fields.list();
  nghttp2_data_provider body{};
  body.read_callback = give_body;
  const std::int32_t id =
      nghttp2_submit_request(link_->session(), nullptr, list.data(), list.size(),
                             sends && !request->body.empty() ? &body : nullptr, nullptr);
  CHECK(id > 0, "memory, and fewer than 2^30 requests of one connection");
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->hears = std::move(hears);
  calls_[id] = std::move(call);
  link_->flush();
  return id;
}

bool Http2Calls::has_room() const {
  const std::uint32_t most = nghttp2_session_get_remote_settings(
      link_->session(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  return calls_.size() + kHttp2StreamsKept < most;
}

void Http2Calls::cancel(std::int32_t id) {
  const auto held = shared_from_this();  // what is heard may have been the last that holds it
  if (calls_.extract(id).empty()) return;
  nghttp2_submit_rst_stream(link_->session(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  link_->flush();
}

void Http2Calls::gone(int error) {
  fail_all(error == Stream::kRefused        ? Ending::kCertificateRefused
           : error == Http2Link::kMalformed ? Ending::kMalformed
                                            : Ending::kBroken);
}

void Http2Calls::fail_all(Ending ending) {
  usable_ = false;
  link_->close();
  const auto all = std::exchange(calls_, {});
  for (const auto& [id, call] : all) {
    // One that was told before may have cancelled this one.
    if (const auto on_end = std::exchange(call->hears.on_end, nullptr)) on_end(ending);
  }
}

std::shared_ptr<Http2Calls::Call> Http2Calls::find(std::int32_t id) const {
  const auto at = calls_.find(id);
  return at == calls_.end() ? nullptr : at->second;
}

void Http2Calls::end(std::int32_t id, Ending ending) {
  const auto ended = calls_.extract(id);
  if (ended.empty()) return;
  if (const auto on_end = std::exchange(ended.mapped()->hears.on_end, nullptr)) on_end(ending);
}

// The server takes nothing more, and has not looked at what came after that one.
void Http2Calls::leave(std::int32_t last_taken) {
  usable_ = false;
  std::vector<std::int32_t> untouched;
  for (const auto& [id, call] : calls_) {
    if (id > last_taken) untouched.push_back(id);
  }
  for (const std::int32_t id : untouched) end(id, Ending::kUntouched);
}

int Http2Calls::on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                          std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                          std::uint8_t, void* user) {
  Http2Calls& self = calls_of(user);
  const auto call = self.find(frame->hd.stream_id);
  if (call == nullptr || call->head_given) return 0;  // a trailer
  call->head_bytes += name_size + value_size;
  if (call->head_bytes > kHeadBytesMax) return NGHTTP2_ERR_CALLBACK_FAILURE;
  const std::string_view key = text_of(name, name_size);
  const std::string_view text = text_of(value, value_size);
  if (key == ":status") {
    std::from_chars(text.data(), text.data() + text.size(), call->head.status);
  } else if (!key.starts_with(':')) {
    call->head.headers.emplace_back(key, text);
  }
  return 0;
}

int Http2Calls::on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                        std::size_t size, void* user) {
  const auto call = calls_of(user).find(id);
  if (call != nullptr) call->hears.on_body(text_of(data, size));
  return 0;
}

void Http2Calls::give_head(Call& call) {
  if (call.head_given) return;
  if (call.head.status / 100 == 1) {
    call.head = {};
    return;
  }
  call.head_given = true;
  call.hears.on_head(std::move(call.head));
}

int Http2Calls::on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  Http2Calls& self = calls_of(user);
  if (frame->hd.type == NGHTTP2_GOAWAY) self.leave(frame->goaway.last_stream_id);
  const bool is_head = frame->hd.type == NGHTTP2_HEADERS;
  if (!is_head && frame->hd.type != NGHTTP2_DATA) return 0;
  const std::int32_t id = frame->hd.stream_id;
  self.proven_ = true;
  const auto call = self.find(id);
  if (call == nullptr) return 0;
  if (is_head) self.give_head(*call);
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  // The rest of a request that was answered before it was whole is not sent.
  if (call->sent < call->request->body.size()) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  self.end(id, Ending::kWhole);
  return 0;
}

int Http2Calls::on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t error,
                                void* user) {
  calls_of(user).end(id, error == NGHTTP2_REFUSED_STREAM ? Ending::kUntouched : Ending::kReset);
  return 0;
}

ssize_t Http2Calls::give_body(nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t size,
                              std::uint32_t* flags, nghttp2_data_source*, void* user) {
  const auto call = calls_of(user).find(id);
  if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // it was cancelled
  const std::string& body = call->request->body;
  const std::size_t count = std::min(size, body.size() - call->sent);
  std::copy_n(body.data() + call->sent, count, to);
  call->sent += count;
  if (call->sent == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

}  // namespace dove::wire
