// Http2Connection is one accepted connection of HTTP/2: each of its streams is a request and its
// answer (ServedStream).
//
// For server.cc alone; loop thread only. Kept alive by its server until closed. Its limits are
// those of HTTP/1.1: bodies are received one after another, so that a peer has no more of them in
// memory than with one connection for each. A peer that sends many frames without content (resets,
// pings, settings, windows), or does not read many that are sent to it, is dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "wire/http2/http2_link.h"
#include "wire/server_state.h"

namespace dove::wire {

class ServedStream;

class Http2Connection final : public Accepted,
                              public Http2LinkOwner,
                              public std::enable_shared_from_this<Http2Connection> {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  Http2Connection(std::shared_ptr<ServerState> server, std::unique_ptr<Stream> stream,
                  std::string party);
  ~Http2Connection() override;

  void start() override;
  void refuse(int status, const Error& error) override;
  void drop() override;
  void wind_down() override;
  const std::string& party() const override { return party_; }

  // From its link.
  void came() override { arm(); }
  void writes(int error) override;
  void over() override;
  void gone(int error) override;

  // From its streams.
  ServerState& server() const { return *server_; }
  Http2Link& link() const { return *link_; }
  bool is_winding_down() const { return winding_down_; }
  // Why no request is taken here, if so: its status and what it says.
  const std::optional<std::pair<int, Error>>& refusal() const { return refusal_; }
  // The stream's body has begun: it comes when those before it have come.
  void awaits_body();
  // After all that changes a deadline.
  void arm();

 private:
  // What the library calls; the last argument is the Http2Connection.
  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user);
  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t flags, void* user);
  static int on_data(nghttp2_session*, std::uint8_t flags, std::int32_t id,
                     const std::uint8_t* data, std::size_t size, void* user);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_stream_close(nghttp2_session*, std::int32_t id, std::uint32_t error, void* user);

  Http2Session make_session();
  ServedStream* find(std::int32_t id) const;
  bool carries_too_little(const nghttp2_frame_hd& head);
  Clock::time_point next_deadline() const;
  void on_deadline();

  const std::shared_ptr<ServerState> server_;
  const std::string party_;
  std::shared_ptr<Http2Link> link_;  // from start() on
  std::unique_ptr<Stream> stream_;   // until then
  std::map<std::int32_t, std::shared_ptr<ServedStream>> streams_;
  std::optional<std::pair<int, Error>> refusal_;
  bool winding_down_ = false;
  bool closed_ = false;
  // Frames that carry nothing, in this second.
  int empty_frames_ = 0;
  Clock::time_point second_began_{};
  Clock::time_point idle_until_ = kNever;   // while there is no stream
  Clock::time_point write_until_ = kNever;  // the system takes more
  Clock::time_point armed_ = kNever;
  Timer timer_;
};

}  // namespace dove::wire
