// For tests: a server in a thread of its own, and a raw client that can misbehave.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

#include "wire/server.h"

namespace dove::wire {

// Serves `handler` on loopback from construction to destruction. The handler runs in its thread.
class TestServer {
 public:
  explicit TestServer(Handler handler, ServerLimits limits = {},
                      std::shared_ptr<const Tls> tls = nullptr)
      : server(loop, std::move(limits), std::move(handler)) {
    const Result<void> listening = server.listen("127.0.0.1", 0, std::move(tls));
    EXPECT_TRUE(listening.ok());
    port = server.port();
    thread_ = std::thread([this] { loop.run(); });
  }
  ~TestServer() {
    loop.stop();
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port); }

  Loop loop;
  Server server;
  std::uint16_t port = 0;

 private:
  std::thread thread_;
};

// A port where connections are neither taken nor refused, as at a machine without power: its queue
// is full.
class SilentPort {
 public:
  SilentPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&where), size), 0);
    EXPECT_EQ(listen(fd_, 0), 0);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&where), &size);
    port = ntohs(where.sin_port);
    for (int& one : queued_) {
      one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      (void)connect(one, reinterpret_cast<sockaddr*>(&where), size);
    }
  }
  ~SilentPort() {
    for (const int one : queued_) {
      if (one >= 0) close(one);
    }
    close(fd_);
  }
  SilentPort(const SilentPort&) = delete;
  SilentPort& operator=(const SilentPort&) = delete;

  // The machine has started: whoever asks next is answered.
  void start() {
    for (int& one : queued_) close(std::exchange(one, -1));
    pollfd waiting{fd_, POLLIN, 0};
    while (poll(&waiting, 1, 0) == 1) close(accept(fd_, nullptr, nullptr));
  }

  std::uint16_t port = 0;

 private:
  int fd_;
  int queued_[3] = {-1, -1, -1};
};

// A blocking socket; every receive is bounded by 10 s.
class RawPeer {
 public:
  explicit RawPeer(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
  }
  ~RawPeer() { close_now(); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void close_now() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void send(std::string_view bytes) const { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Reads until `end` has come, or the connection ended; all since the last call.
  std::string read_until(std::string_view end) {
    for (;;) {
      if (const std::size_t at = seen_.find(end); !end.empty() && at != std::string::npos) {
        std::string out = seen_.substr(0, at + end.size());
        seen_.erase(0, out.size());
        return out;
      }
      char buffer[4096];
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) {
        timed_out = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        was_reset = n < 0 && errno == ECONNRESET;
        return std::exchange(seen_, {});
      }
      seen_.append(buffer, static_cast<std::size_t>(n));
    }
  }
  std::string read_all() { return read_until(""); }

  bool timed_out = false;
  bool was_reset = false;  // and not ended in order

 private:
  int fd_;
  std::string seen_;
};

}  // namespace dove::wire
