#include "devices/kubelet/grpc_link.h"

#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

#include "base/check.h"

namespace dove::devices::kubelet {
namespace {

constexpr std::size_t kMessageBytes_max = 4 << 20;
constexpr std::size_t kPrefixBytes = 5;  // compressed or not, then the length
constexpr std::chrono::milliseconds kWriteAgain{5};

std::string framed(const std::string& message) {
  std::string bytes(1, '\0');
  for (const int shift : {24, 16, 8, 0}) {
    bytes += static_cast<char>(message.size() >> shift & 0xff);
  }
  return bytes + message;
}

nghttp2_nv header(const std::string& name, const std::string& value) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

using Headers = std::vector<std::pair<std::string, std::string>>;

// Which the library copies.
std::vector<nghttp2_nv> header_list(const Headers& headers) {
  std::vector<nghttp2_nv> list;
  for (const auto& [name, value] : headers) list.push_back(header(name, value));
  return list;
}

struct Stream {
  std::string path;
  std::string incoming;  // bytes that are no whole message yet
  std::vector<std::string> requests;
  std::string outgoing;
  std::size_t sent = 0;
  GrpcStatus status{kGrpcUnavailable, "the other end is gone"};
  bool is_whole = true;  // nothing of it was malformed
  GrpcLink::Receiver receiver;
};

}  // namespace

struct GrpcLink::State : std::enable_shared_from_this<GrpcLink::State> {
  State(wire::Loop& on, int socket) : loop(on), fd(socket) {}
  ~State() {
    watch.cancel();
    nghttp2_session_del(session);
    ::close(fd);
  }

  void begin(bool is_client);
  void readable();
  void flush();
  void broken();
  void dispatch();
  void submit(const std::string& path, const std::string& message, Receiver receiver);
  void take(Stream& stream, const std::uint8_t* data, std::size_t size);
  void answer(std::int32_t id, Stream& stream);
  bool is_over() const { return dropped || gone; }

  // What the library calls; the last argument is the State.
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user);
  static int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user);
  static ssize_t read_body(nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source*, void* user);

  wire::Loop& loop;
  int fd;
  bool serves = false;
  bool dropped = false;  // its owner is gone
  bool gone = false;     // the other end is
  bool busy = false;     // within the library
  nghttp2_session* session = nullptr;
  std::map<std::int32_t, Stream> streams;
  std::deque<std::function<void()>> calls;  // to be made outside of the library
  std::string unsent;
  Serve serve;
  std::function<void()> closed;
  wire::FdWatch watch;
  wire::Timer write_timer;
};

void GrpcLink::State::begin(bool is_client) {
  serves = !is_client;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  nghttp2_session_callbacks* callbacks = nullptr;
  CHECK(nghttp2_session_callbacks_new(&callbacks) == 0, "memory");
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
  const int made = is_client ? nghttp2_session_client_new(&session, callbacks, this)
                             : nghttp2_session_server_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  CHECK(made == 0, "memory");
  const nghttp2_settings_entry none{NGHTTP2_SETTINGS_ENABLE_PUSH, 0};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &none, is_client ? 1 : 0);
  watch = loop.watch_readable(fd, [this] { readable(); });
  flush();
}

void GrpcLink::State::readable() {
  const auto held = shared_from_this();
  std::uint8_t buffer[16'384];
  const ssize_t size = ::recv(fd, buffer, sizeof buffer, 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return broken();
  busy = true;
  const ssize_t taken = nghttp2_session_mem_recv(session, buffer, static_cast<std::size_t>(size));
  busy = false;
  if (taken < 0) return broken();
  flush();
  dispatch();
}

void GrpcLink::State::flush() {
  if (busy || is_over()) return;
  for (;;) {
    while (!unsent.empty()) {
      const ssize_t sent = ::send(fd, unsent.data(), unsent.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
        write_timer = loop.after(kWriteAgain, [this] { flush(); });
        return;
      }
      if (sent < 0) return broken();
      unsent.erase(0, static_cast<std::size_t>(sent));
    }
    const std::uint8_t* data = nullptr;
    busy = true;
    const ssize_t size = nghttp2_session_mem_send(session, &data);
    busy = false;
    if (size < 0) return broken();
    if (size == 0) return;
    unsent.assign(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

void GrpcLink::State::broken() {
  if (gone) return;
  gone = true;
  watch.cancel();
  write_timer.cancel();
  for (auto& [id, stream] : streams) {
    if (auto end = std::move(stream.receiver.end); end) {
      calls.emplace_back([end = std::move(end), status = stream.status] { end(status); });
    }
  }
  streams.clear();
  if (closed) calls.emplace_back(std::move(closed));
  // A turn of its own: the owner may be in the middle of a call.
  loop.post([held = shared_from_this()] { held->dispatch(); });
}

void GrpcLink::State::dispatch() {
  const auto held = shared_from_this();
  while (!calls.empty() && !dropped) {
    const std::function<void()> call = std::move(calls.front());
    calls.pop_front();
    call();
  }
}

void GrpcLink::State::submit(const std::string& path, const std::string& message,
                             Receiver receiver) {
  if (gone) {
    loop.post([held = shared_from_this(), end = std::move(receiver.end)] {
      if (!held->dropped) end({kGrpcUnavailable, "the other end is gone"});
    });
    return;
  }
  const Headers headers = {{":method", "POST"},
                           {":scheme", "http"},
                           {":path", path},
                           {":authority", "localhost"},
                           {"content-type", "application/grpc"},
                           {"user-agent", "dove"},
                           {"te", "trailers"}};
  const std::vector<nghttp2_nv> list = header_list(headers);
  nghttp2_data_provider body{};
  body.read_callback = read_body;
  const std::int32_t id =
      nghttp2_submit_request(session, nullptr, list.data(), list.size(), &body, nullptr);
  CHECK(id > 0, "memory, and fewer than 2^30 calls of one link");
  Stream& stream = streams[id];
  stream.path = path;
  stream.outgoing = framed(message);
  stream.receiver = std::move(receiver);
  flush();
}

// Whole messages are told, or kept until the request ends.
void GrpcLink::State::take(Stream& stream, const std::uint8_t* data, std::size_t size) {
  stream.incoming.append(reinterpret_cast<const char*>(data), size);
  while (stream.incoming.size() >= kPrefixBytes) {
    std::size_t length = 0;
    for (std::size_t i = 1; i < kPrefixBytes; ++i) {
      length = length << 8 | static_cast<unsigned char>(stream.incoming[i]);
    }
    if (stream.incoming[0] != 0 || length > kMessageBytes_max) {
      stream.is_whole = false;
      stream.incoming.clear();
      return;
    }
    if (stream.incoming.size() < kPrefixBytes + length) return;
    std::string message = stream.incoming.substr(kPrefixBytes, length);
    stream.incoming.erase(0, kPrefixBytes + length);
    if (serves) {
      stream.requests.push_back(std::move(message));
    } else if (stream.receiver.message) {
      calls.emplace_back(
          [told = stream.receiver.message, message = std::move(message)] { told(message); });
    }
  }
}

// Called within the library: the answer is sent when it has returned.
void GrpcLink::State::answer(std::int32_t id, Stream& stream) {
  std::string message;
  if (stream.is_whole && stream.requests.size() == 1) {
    stream.status = serve(stream.path, stream.requests[0], &message);
  } else {
    stream.status = {kGrpcInvalidArgument, "one message of at most 4 MiB, not compressed"};
  }
  if (stream.status.code == kGrpcOk) stream.outgoing = framed(message);
  const Headers headers = {{":status", "200"}, {"content-type", "application/grpc"}};
  const std::vector<nghttp2_nv> list = header_list(headers);
  nghttp2_data_provider body{};
  body.read_callback = read_body;
  nghttp2_submit_response(session, id, list.data(), list.size(), &body);
}

int GrpcLink::State::on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<State*>(user);
  if (self.serves && frame->headers.cat == NGHTTP2_HCAT_REQUEST) self.streams[frame->hd.stream_id];
  return 0;
}

int GrpcLink::State::on_header(nghttp2_session*, const nghttp2_frame* frame,
                               const std::uint8_t* name, std::size_t name_size,
                               const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                               void* user) {
  auto& self = *static_cast<State*>(user);
  const auto found = self.streams.find(frame->hd.stream_id);
  if (found == self.streams.end()) return 0;
  Stream& stream = found->second;
  const std::string key(reinterpret_cast<const char*>(name), name_size);
  const std::string text(reinterpret_cast<const char*>(value), value_size);
  if (self.serves && key == ":path") stream.path = text;
  if (self.serves) return 0;
  if (key == ":status" && text != "200") stream.status.message = "HTTP status " + text;
  if (key == "grpc-status") stream.status.code = std::atoi(text.c_str());
  if (key == "grpc-status" && text == "0") stream.status.message.clear();
  if (key == "grpc-message") stream.status.message = text;
  return 0;
}

int GrpcLink::State::on_data(nghttp2_session*, std::uint8_t, std::int32_t id,
                             const std::uint8_t* data, std::size_t size, void* user) {
  auto& self = *static_cast<State*>(user);
  const auto found = self.streams.find(id);
  if (found != self.streams.end()) self.take(found->second, data, size);
  return 0;
}

int GrpcLink::State::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<State*>(user);
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
                    (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS);
  const auto found = self.streams.find(frame->hd.stream_id);
  if (self.serves && ends && found != self.streams.end()) {
    self.answer(frame->hd.stream_id, found->second);
  }
  return 0;
}

int GrpcLink::State::on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
  auto& self = *static_cast<State*>(user);
  const auto found = self.streams.find(id);
  if (found == self.streams.end()) return 0;
  Stream& stream = found->second;
  if (!stream.is_whole) stream.status = {kGrpcInvalidArgument, "a malformed answer"};
  if (stream.receiver.end) {
    self.calls.emplace_back(
        [end = std::move(stream.receiver.end), status = std::move(stream.status)] { end(status); });
  }
  self.streams.erase(found);
  return 0;
}

ssize_t GrpcLink::State::read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* to,
                                   std::size_t size, std::uint32_t* flags, nghttp2_data_source*,
                                   void* user) {
  auto& self = *static_cast<State*>(user);
  Stream& stream = self.streams[id];
  const std::size_t count = std::min(size, stream.outgoing.size() - stream.sent);
  std::copy_n(stream.outgoing.data() + stream.sent, count, to);
  stream.sent += count;
  if (stream.sent < stream.outgoing.size()) return static_cast<ssize_t>(count);
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (!self.serves) return static_cast<ssize_t>(count);
  *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  Headers headers = {{"grpc-status", std::to_string(stream.status.code)}};
  if (!stream.status.message.empty()) headers.emplace_back("grpc-message", stream.status.message);
  const std::vector<nghttp2_nv> list = header_list(headers);
  nghttp2_submit_trailer(session, id, list.data(), list.size());
  return static_cast<ssize_t>(count);
}

GrpcLink::GrpcLink(std::shared_ptr<State> state) : state_(std::move(state)) {}

GrpcLink::~GrpcLink() {
  state_->dropped = true;
  state_->watch.cancel();
  state_->write_timer.cancel();
}

std::unique_ptr<GrpcLink> GrpcLink::client(wire::Loop& loop, int fd) {
  auto state = std::make_shared<State>(loop, fd);
  state->begin(true);
  return std::unique_ptr<GrpcLink>(new GrpcLink(std::move(state)));
}

std::unique_ptr<GrpcLink> GrpcLink::server(wire::Loop& loop, int fd, Serve serve,
                                           std::function<void()> closed) {
  auto state = std::make_shared<State>(loop, fd);
  state->serve = std::move(serve);
  state->closed = std::move(closed);
  state->begin(false);
  return std::unique_ptr<GrpcLink>(new GrpcLink(std::move(state)));
}

void GrpcLink::call(const std::string& path, const std::string& message, Receiver receiver) {
  state_->submit(path, message, std::move(receiver));
}

}  // namespace dove::devices::kubelet
