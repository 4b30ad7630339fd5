#include "wire/http2/served_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "telemetry/clock.h"

namespace dove::wire {
namespace {

constexpr std::size_t kFieldBytes = 32;  // what a field counts beside its text (RFC 9113, 6.5.2)
constexpr std::size_t kHeadTooLongTimes = 4;
constexpr std::int32_t kBodyWindowBytes = 1 << 20;  // of the body that comes
constexpr std::size_t kFirstWindowBytes = 65'535;   // of each stream (RFC 9113, 6.9.2)
constexpr std::size_t kSentBytesKept = 64 * 1024;

bool is_ours(std::string_view name) {
  return is_of_http1(name) || same_header(name, "content-length") || same_header(name, "date");
}

// 0: not said.
std::size_t content_length(const Request& request) {
  const std::string_view text = request.header("content-length");
  std::size_t length = 0;
  std::from_chars(text.data(), text.data() + text.size(), length);
  return length;
}

// A stream lives until the library has closed it, which asks for no more then.
ssize_t give_bytes(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                   std::uint32_t* flags, nghttp2_data_source* source, void*) {
  return static_cast<ServedStream*>(source->ptr)->give(to, size, flags);
}

}  // namespace

ServedStream::ServedStream(Http2Connection& connection, std::int32_t id)
    : connection_(&connection),
      id_(id),
      deadline_(Clock::now() + connection.server().limits.header_timeout) {}

bool ServedStream::on_field(std::string_view name, std::string_view value) {
  const std::size_t most = connection_->server().limits.header_bytes;
  head_bytes_ += name.size() + value.size() + kFieldBytes;
  if (head_bytes_ > most) return head_bytes_ <= kHeadTooLongTimes * most;
  if (name == ":method") {
    request_.method = value;
  } else if (name == ":path") {
    request_.target = value;
  } else if (name == ":authority") {
    authority_ = value;
  } else if (!name.starts_with(':')) {
    request_.headers.emplace_back(name, value);
  }
  return true;
}

void ServedStream::on_head(bool ends) {
  const ServerLimits& limits = connection_->server().limits;
  came_whole_ = ends;
  deadline_ = Http2Connection::kNever;
  began_us_ = telemetry::monotonic_us();
  is_head_ = request_.method == "HEAD";
  only_reads_ = is_head_ || request_.method == "GET";
  if (connection_->is_winding_down()) {  // the peer was told that we do not look at it
    nghttp2_submit_rst_stream(connection_->link().session(), NGHTTP2_FLAG_NONE, id_,
                              NGHTTP2_REFUSED_STREAM);
    return;
  }
  if (connection_->refusal()) {
    const auto [status, error] = *connection_->refusal();
    refuse(status, error);
    return connection_->wind_down();
  }
  if (head_bytes_ > limits.header_bytes) return refuse(431, head_too_large(limits.header_bytes));
  if (!authority_.empty() && !request_.has_header("host")) {
    request_.headers.emplace_back("host", std::move(authority_));
  }
  const Stream& peer = connection_->link().stream();
  request_.peer_address = peer.peer_address();
  request_.peer_identity = peer.peer_identity();
  if (const Result<void> split = split_target(request_); !split.ok()) {
    return refuse(400, split.error());
  }
  if (ends) return dispatch();
  // The library holds a body to its content-length, except that of a CONNECT.
  const std::size_t length = content_length(request_);
  const bool has_body = length > 0 || !request_.has_header("content-length");
  body_bytes_max_ = has_body ? limits.body_bytes : 0;
  if (limits.admit && has_body) {
    const Result<std::size_t> admitted = limits.admit(request_);
    if (!admitted.ok()) return refuse(status_of(admitted.error()), admitted.error());
    body_bytes_max_ = *admitted;
  }
  if (length > body_bytes_max_) return refuse(413, body_too_large(body_bytes_max_));
  phase_ = Phase::kBody;
  connection_->awaits_body();
}

void ServedStream::take_turn() {
  if (std::exchange(has_turn_, true)) return;
  deadline_ = Clock::now() + connection_->server().limits.body_timeout;
  nghttp2_session* session = connection_->link().session();
  const std::size_t length = content_length(request_);
  if (length == 0 || length > kFirstWindowBytes) {
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, id_, kBodyWindowBytes);
  }
  nghttp2_session_consume_stream(session, id_, std::exchange(withheld_bytes_, 0));
}

// The rest of a request that is answered already is not kept, and the window stays shut.
void ServedStream::on_body(std::string_view bytes) {
  if (phase_ != Phase::kBody) return;
  if (request_.body.size() + bytes.size() > body_bytes_max_) {
    return refuse(413, body_too_large(body_bytes_max_));
  }
  request_.body += bytes;
  if (!has_turn_) {
    withheld_bytes_ += bytes.size();
    return;
  }
  nghttp2_session_consume_stream(connection_->link().session(), id_, bytes.size());
  if ((body_step_bytes_ += bytes.size()) >= kStepBytes) {
    body_step_bytes_ = 0;
    deadline_ = Clock::now() + connection_->server().limits.body_timeout;
  }
}

void ServedStream::on_request_end() {
  came_whole_ = true;
  if (phase_ != Phase::kBody) return;
  began_us_ = telemetry::monotonic_us();
  Http2Connection& connection = *connection_;
  dispatch();
  connection.awaits_body();
}

void ServedStream::dispatch() {
  phase_ = Phase::kHandling;
  deadline_ = Http2Connection::kNever;
  ServerState& server = connection_->server();
  server.handler(std::move(request_), std::make_shared<Exchange>(server.loop, weak_from_this()));
}

bool ServedStream::peer_ended() const { return connection_->link().stream().peer_ended(); }

void ServedStream::submit(int status, const Pairs& headers, bool has_body) {
  ServerState& server = connection_->server();
  server.count_answer(status, telemetry::monotonic_us() - began_us_);
  Http2Fields fields;
  fields.add(":status", std::to_string(status));
  fields.add("date", server.date());
  for (const auto& [name, value] : headers) {
    if (!is_ours(name)) fields.add(name, value);
  }
  if (phase_ == Phase::kAnswering && may_have_body(status)) {
    fields.add("content-length", std::to_string(out_.size()));
  }
  const auto list = fields.list();
  nghttp2_data_provider body{};
  body.source.ptr = this;
  body.read_callback = give_bytes;
  if (is_head_ || !has_body) {
    out_.clear();
    finishing_ = true;
  }
  nghttp2_submit_response(connection_->link().session(), id_, list.data(), list.size(),
                          is_head_ || !has_body ? nullptr : &body);
  deadline_ = Http2Connection::kNever;
  await_peer();
  connection_->link().flush();
}

void ServedStream::answer(Response response) {
  if (!open() || phase_ != Phase::kHandling) return;
  phase_ = Phase::kAnswering;
  if (only_reads_ && waits_.is_full()) response = problem(too_much_unread());
  finishing_ = true;
  out_ = std::move(response.body);
  submit(response.status, response.headers, may_have_body(response.status) && !out_.empty());
}

void ServedStream::refuse(int status, const Error& error) {
  if (phase_ == Phase::kAnswering || phase_ == Phase::kStreaming) return;
  phase_ = Phase::kHandling;
  request_ = {};
  Http2Connection& connection = *connection_;
  answer(problem(status, error));
  connection.awaits_body();
}

std::shared_ptr<Outflow> ServedStream::begin_stream(int status, const Pairs& headers) {
  CHECK(phase_ == Phase::kHandling, "a stream answers the request being handled");
  auto outflow = std::make_shared<StreamOut>(connection_->server().loop, weak_from_this());
  outflow_ = outflow;
  phase_ = Phase::kStreaming;
  submit(status, headers, /*has_body=*/true);
  if (is_head_ || connection_->is_winding_down()) wind_down();
  return outflow;
}

// A peer that needs a connection for itself opens one over HTTP/1.1.
TakenOver ServedStream::hand_over() {
  nghttp2_submit_rst_stream(connection_->link().session(), NGHTTP2_FLAG_NONE, id_,
                            NGHTTP2_HTTP_1_1_REQUIRED);
  connection_->link().flush();
  return {};
}

bool ServedStream::stream_write(std::string_view bytes) {
  if (!open() || phase_ != Phase::kStreaming || finishing_) return false;
  if (bytes.empty()) return true;
  if (waits_.is_full() ||
      unsent_bytes() + bytes.size() > connection_->server().limits.stream_buffer_bytes) {
    connection_->drop();
    return false;
  }
  out_ += bytes;
  waits_.set(out_.size());
  resume();
  return true;
}

void ServedStream::stream_end() {
  if (!open() || phase_ != Phase::kStreaming || finishing_) return;
  finishing_ = true;
  resume();
}

void ServedStream::stream_cut() {
  if (!open() || phase_ != Phase::kStreaming || finishing_) return;
  finishing_ = true;
  nghttp2_submit_rst_stream(connection_->link().session(), NGHTTP2_FLAG_NONE, id_,
                            NGHTTP2_INTERNAL_ERROR);
  connection_->link().flush();
}

void ServedStream::resume() {
  if (std::exchange(deferred_, false)) {
    nghttp2_session_resume_data(connection_->link().session(), id_);
  }
  if (deadline_ == Http2Connection::kNever) await_peer();
  connection_->link().flush();
}

// It takes what is there within the time of writes, which begins anew with each step.
void ServedStream::await_peer() {
  waits_.set(out_.size());
  if (unsent_bytes() == 0) {
    deadline_ = Http2Connection::kNever;
  } else if (deadline_ == Http2Connection::kNever || taken_ >= kStepBytes) {
    taken_ = 0;
    deadline_ = Clock::now() + connection_->server().limits.write_timeout;
  }
  connection_->arm();
}

ssize_t ServedStream::give(std::uint8_t* to, std::size_t size, std::uint32_t* flags) {
  const std::size_t count = std::min(size, unsent_bytes());
  std::copy_n(out_.data() + sent_, count, to);
  sent_ += count;
  taken_ += count;
  if (sent_ == out_.size()) {
    sent_ = 0;
    out_.capacity() > kSentBytesKept ? std::string().swap(out_) : out_.clear();
    if (finishing_) *flags |= NGHTTP2_DATA_FLAG_EOF;
  } else if (sent_ > kSentBytesKept && 2 * sent_ > out_.size()) {
    out_.erase(0, std::exchange(sent_, 0));
  }
  await_peer();
  if (count > 0 || finishing_) return static_cast<ssize_t>(count);
  deferred_ = true;
  return NGHTTP2_ERR_DEFERRED;
}

// Whoever has its answer need not send the rest of its request, and is to see the answer before it
// hears that: some clients look at nothing else once a stream was reset.
void ServedStream::on_answered() {
  answered_ = true;
  deadline_ = came_whole_ ? Http2Connection::kNever : Clock::now() + kLingerTime;
  connection_->arm();
}

void ServedStream::on_deadline() {
  if (!open()) return;
  if (answered_) {
    deadline_ = Http2Connection::kNever;
    nghttp2_submit_rst_stream(connection_->link().session(), NGHTTP2_FLAG_NONE, id_,
                              NGHTTP2_NO_ERROR);
    return connection_->link().flush();
  }
  if (phase_ == Phase::kBody) return refuse(408, request_late());
  connection_->drop();
}

void ServedStream::wind_down() {
  if (phase_ != Phase::kStreaming) return;
  if (const auto outflow = outflow_.lock()) outflow->ended();
  stream_end();
}

void ServedStream::lost() {
  connection_ = nullptr;
  waits_.leave();
  if (const auto outflow = outflow_.lock()) outflow->ended();
}

}  // namespace dove::wire
