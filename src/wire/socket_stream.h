// The common part of streams over a connected socket of Asio, whether TCP or Unix.
//
// Include only from .cc files: it brings Asio.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "telemetry/log.h"
#include "wire/loop_state.h"
#include "wire/stream.h"

namespace dove::wire {

// Asio does not: a task started by this process must not hold its port or its connections open.
inline void keep_from_children(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

// As Stream::Done has it.
inline int number_of(const boost::system::error_code& error) {
  if (!error) return 0;
  if (error == boost::asio::error::eof) return Stream::kEnded;
  if (error == boost::asio::error::operation_aborted) return ECANCELED;
  return error.category() == boost::system::system_category() ? error.value() : EIO;
}

template <class Protocol>
class SocketStream : public Stream {
 public:
  using Socket = boost::asio::basic_stream_socket<Protocol, LoopExecutor>;

  explicit SocketStream(Socket socket) : socket_(std::move(socket)) {
    keep_from_children(socket_.native_handle());
  }

  void read_some(char* data, std::size_t size, Done done) override {
    socket_.async_read_some(boost::asio::buffer(data, size), told(std::move(done)));
  }
  void write_some(std::string_view data, Done done) override {
    socket_.async_write_some(boost::asio::buffer(data.data(), data.size()), told(std::move(done)));
  }
  void end_writing() override {
    boost::system::error_code ignored;
    socket_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
  }
  void close() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }
  bool peer_ended() override {
    pollfd fd{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&fd, 1, 0) > 0;
  }

 protected:
  Socket socket_;

 private:
  static auto told(Done done) {
    return [done = std::move(done)](const boost::system::error_code& error, std::size_t bytes) {
      done(number_of(error), bytes);
    };
  }
};

// Accepts connections as `StreamOf` until it is stopped; pauses where the system cannot take more.
template <class Protocol, class StreamOf>
struct Accepting : std::enable_shared_from_this<Accepting<Protocol, StreamOf>> {
  using Socket = typename SocketStream<Protocol>::Socket;

  Accepting(Loop& of, std::function<void(std::unique_ptr<Stream>)> fn)
      : loop(of), acceptor(of.state().io), on_accept(std::move(fn)) {}

  void accept() {
    acceptor.async_accept(
        [self = this->shared_from_this()](const boost::system::error_code& error, Socket socket) {
          if (self->stopped) return;
          if (!error) {
            self->on_accept(std::make_unique<StreamOf>(std::move(socket)));
            if (!self->stopped) self->accept();
            return;
          }
          if (error == boost::system::errc::connection_aborted) return self->accept();
          telemetry::log(telemetry::Level::kWarning, "accept_failed", {{"cause", error.message()}});
          self->pause =
              self->loop.after(std::chrono::milliseconds(100), [weak = self->weak_from_this()] {
                if (const auto held = weak.lock()) held->accept();
              });
        });
  }
  void stop() {
    stopped = true;
    pause.cancel();
    boost::system::error_code ignored;
    acceptor.close(ignored);
  }

  Loop& loop;
  boost::asio::basic_socket_acceptor<Protocol, LoopExecutor> acceptor;
  std::function<void(std::unique_ptr<Stream>)> on_accept;
  Timer pause;
  bool stopped = false;
};

}  // namespace dove::wire
