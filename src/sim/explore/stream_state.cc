#include "sim/explore/stream_state.h"

#include <utility>

namespace dove::sim {
namespace {

class ClientEnd : public wire::InStream {
 public:
  explicit ClientEnd(std::shared_ptr<StreamState> stream) : stream_(std::move(stream)) {}
  ~ClientEnd() override {
    if (!stream_->client_open) return;
    stream_->client_open = false;
    stream_->network.carry(stream_->host, stream_->server,
                           [stream = stream_] { stream->tell_server(); });
  }

 private:
  std::shared_ptr<StreamState> stream_;
};

class ServerEnd : public wire::Outflow {
 public:
  explicit ServerEnd(std::shared_ptr<StreamState> stream) : stream_(std::move(stream)) {}
  ~ServerEnd() override {
    stream_->on_closed = nullptr;
    stream_->server_closes();
  }
  bool write(std::string_view bytes) override { return stream_->write(bytes); }
  void close() override {
    stream_->on_closed = nullptr;
    stream_->server_closes();
  }
  void cut() override { close(); }
  void on_closed(std::function<void()> fn) override {
    stream_->on_closed = std::move(fn);
    if (!stream_->server_open) stream_->tell_server();
  }
  std::size_t buffered_bytes() const override { return stream_->buffer.size(); }

 private:
  std::shared_ptr<StreamState> stream_;
};

class StreamResponder : public wire::Responder {
 public:
  explicit StreamResponder(std::shared_ptr<StreamState> stream) : stream_(std::move(stream)) {}
  ~StreamResponder() override {
    if (answered_) return;
    stream_->network.carry(stream_->server, stream_->host, [stream = stream_] {
      stream->client_closed(
          Error{ErrorKind::kUnavailable, "connection_broken", "the stream was not answered", ""});
    });
  }
  void send(wire::Response response) override {
    answered_ = true;
    stream_->network.carry(
        stream_->server, stream_->host, [stream = stream_, status = response.status] {
          if (stream->client_open && stream->callbacks.on_open) stream->callbacks.on_open(status);
          stream->client_closed(
              Error{ErrorKind::kUnavailable, "stream_ended", "the stream was refused", ""});
        });
  }
  std::shared_ptr<wire::Outflow> stream(int /*status*/, wire::Pairs /*headers*/) override {
    answered_ = true;
    stream_->server_open = true;
    return std::make_shared<ServerEnd>(stream_);
  }
  bool peer_alive() const override { return stream_->client_open; }

 private:
  std::shared_ptr<StreamState> stream_;
  bool answered_ = false;
};

}  // namespace

bool StreamState::write(std::string_view bytes) {
  if (!server_open) return false;
  buffer.append(bytes);
  if (flush_under_way) return true;
  flush_under_way = true;
  network.carry(server, host, [self = shared_from_this()] { self->flush(); });
  return true;
}

void StreamState::server_closes() {
  if (!server_open) return;
  server_open = false;
  ending = true;
  if (flush_under_way) return;
  flush_under_way = true;
  network.carry(server, host, [self = shared_from_this()] { self->flush(); });
}

void StreamState::tell_server() {
  server_open = false;
  buffer.clear();
  if (!on_closed) return;
  // In a later turn, as the contract says; the loop that it belongs to may be gone by then.
  network.agenda().in(0, [self = shared_from_this()] {
    Network::run(self->server, nullptr, [self] {
      if (const auto told = std::exchange(self->on_closed, nullptr)) told();
    });
  });
}

void StreamState::flush() {
  flush_under_way = false;
  heard_us = network.agenda().now_us();
  const std::string bytes = std::exchange(buffer, {});
  std::size_t from = 0;
  while (client_open && from < bytes.size()) {
    const std::size_t end = bytes.find('\n', from);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(bytes).substr(from, end - from);
    from = end + 1;
    const bool twice = line.find("\"order\"") != std::string_view::npos && network.doubles_line();
    callbacks.on_line(line);
    if (twice && client_open) callbacks.on_line(line);
  }
  if (ending) {
    client_closed(Error{ErrorKind::kUnavailable, "stream_ended", "the server ended it", ""});
  }
}

void StreamState::client_closed(const Error& error) {
  if (!client_open) return;
  client_open = false;
  const auto told = std::move(callbacks.on_closed);
  callbacks = {};
  if (told) told(error);
}

void StreamState::watch_silence() {
  if (silence_us == 0 || !client_open) return;
  const std::int64_t now_us = network.agenda().now_us();
  if (now_us >= heard_us + silence_us) {
    network.carry(host, server, [self = shared_from_this()] { self->tell_server(); });
    return client_closed(Error{ErrorKind::kTimeout, "timeout", "nothing came for long", ""});
  }
  network.agenda().at(heard_us + silence_us, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->watch_silence();
  });
}

std::unique_ptr<wire::InStream> client_end(std::shared_ptr<StreamState> stream) {
  return std::make_unique<ClientEnd>(std::move(stream));
}

std::shared_ptr<wire::Responder> stream_responder(std::shared_ptr<StreamState> stream) {
  return std::make_shared<StreamResponder>(std::move(stream));
}

}  // namespace dove::sim
