#include "cli/client/forward_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "cli/client/api.h"
#include "cli/client/local_peer.h"
#include "cli/terminal/output.h"
#include "protocol/link_words.h"
#include "wire/web_socket/splice.h"

namespace dove::cli {
namespace {

constexpr std::size_t kTextBytesMax = 1 << 20;
constexpr int kBacklog = 128;

Error cannot_listen(const std::string& address, std::uint16_t port, int error) {
  const std::string where = wire::Address{address, port}.text();
  if (error == EADDRINUSE) {
    return Error{ErrorKind::kConflict, "address_in_use",
                 fmt::format("port {} of {} is taken on this machine; choose another one, or 0 for "
                             "any that is free",
                             port, address),
                 "port"};
  }
  return Error{ErrorKind::kInvalid, "bad_address",
               fmt::format("cannot listen at {}: {}", where, std::strerror(error)), "address"};
}

bool is_loopback(const sockaddr* name) {
  if (name->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, name, sizeof v4);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, name, sizeof v6);
  return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0;
}

bool is_own_user(int fd) {
  const std::optional<uid_t> peer = owner_of_peer(fd);
  return peer && (*peer == ::geteuid() || *peer == 0);
}

std::uint16_t port_of(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  if (name.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);
    return ntohs(v6.sin6_port);
  }
  sockaddr_in v4{};
  std::memcpy(&v4, &name, sizeof v4);
  return ntohs(v4.sin_port);
}

}  // namespace

std::string ForwardTarget::text() const {
  return port != 0 ? fmt::format("port {}", port) : fmt::format("socket {}", socket);
}

std::string ForwardTarget::path(bool looks_only) const {
  std::string query = port != 0 ? fmt::format("/forward?port={}", port)
                                : "/forward?socket=" + wire::percent_encode(socket);
  if (!task.empty()) query += "&task=" + wire::percent_encode(task);
  if (looks_only) query += "&look=1";
  return job_target(job, query);
}

struct ForwardClient::Listener {
  ~Listener() {
    watch.cancel();
    if (fd >= 0) ::close(fd);
  }
  int fd = -1;
  ForwardTarget target;
  bool is_local = false;
  wire::FdWatch watch;
};

// One connection, from the accepted socket to its end. Its bytes wait in the socket until the task
// is connected to.
class ForwardClient::Connection {
 public:
  // `fd` -1: a look. `over` is called once, in a later turn, and may destroy this.
  Connection(wire::Loop& loop, const TaskLink& link, const ForwardTarget& target, int fd,
             std::function<void(std::optional<Error>)> over)
      : loop_(loop), fd_(fd), over_(std::move(over)) {
    wire::WebSocketCallbacks callbacks;
    callbacks.on_text = [this](std::string_view text) { hear(text); };
    callbacks.on_bytes = [this](std::string_view message) {
      if (splice_ != nullptr && splice_->hear_piece(message)) return;
      end(Error{ErrorKind::kInternal, "bad_message", "the server breaks the protocol", ""});
    };
    callbacks.on_closed = [this](const Error& closed) {
      end(error_of_closed(closed, "connection"));
    };
    socket_ = link.open(loop, target.path(fd < 0), std::move(callbacks));
  }
  ~Connection() {
    splice_.reset();
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

 private:
  void hear(std::string_view text) {
    const Result<protocol::LinkWord> said = protocol::read_link_word(text, kTextBytesMax);
    if (!said.ok()) return;
    if (said->begun) {
      begin();
    } else if (said->error) {
      end(error_of_word(*said->error));
    } else if (splice_ == nullptr) {
      return;
    } else if (said->took) {
      if (splice_->hear_took(*said->took)) return;
      end(Error{ErrorKind::kInternal, "bad_message", "the server breaks the protocol", ""});
    } else if (said->end) {
      splice_->hear_end();
    } else if (said->over) {
      is_over_ = true;
      splice_->peer_over();
    }
  }

  void begin() {
    if (fd_ < 0) return end(std::nullopt);
    splice_ = std::make_unique<wire::Splice>(loop_, std::exchange(fd_, -1), wire::Channel::kStdin,
                                             *socket_, [this] { end(std::nullopt); });
  }

  // After the regular end what has come is still written out.
  void end(std::optional<Error> error) {
    if (ended_ || (is_over_ && error)) return;
    ended_ = true;
    splice_.reset();
    if (socket_ != nullptr) socket_->close("over");
    timer_ = loop_.after(std::chrono::microseconds(0),
                         [over = over_, error = std::move(error)] { over(error); });
  }

  wire::Loop& loop_;
  int fd_;
  const std::function<void(std::optional<Error>)> over_;
  std::unique_ptr<wire::WebSocket> socket_;
  std::unique_ptr<wire::Splice> splice_;
  bool is_over_ = false;  // the agent said so
  bool ended_ = false;
  wire::Timer timer_;
};

ForwardClient::ForwardClient(wire::Loop& loop, const TaskLink& link,
                             std::function<void(const Error&)> on_error)
    : loop_(loop), link_(link), on_error_(std::move(on_error)) {}

ForwardClient::~ForwardClient() = default;

void ForwardClient::look(const ForwardTarget& target, std::function<void(Result<void>)> done) {
  const std::uint64_t id = next_++;
  connections_[id] = std::make_unique<Connection>(
      loop_, link_, target, -1,
      [this, id, done = std::move(done)](const std::optional<Error>& error) {
        connections_.erase(id);
        done(error ? Result<void>(*error) : Result<void>());
      });
}

Result<std::uint16_t> ForwardClient::listen(const std::string& address, std::uint16_t port,
                                            const ForwardTarget& target) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return Error{
        ErrorKind::kInvalid, "bad_address",
        fmt::format("'{}' is not an address; give one in numbers, such as 127.0.0.1", address),
        "address"};
  }
  auto listener = std::make_unique<Listener>();
  listener->target = target;
  listener->fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool bound = listener->fd >= 0 &&
                     ::bind(listener->fd, found->ai_addr, found->ai_addrlen) == 0 &&
                     ::listen(listener->fd, kBacklog) == 0;
  const int error = errno;
  listener->is_local = is_loopback(found->ai_addr);
  ::freeaddrinfo(found);
  if (!bound) return cannot_listen(address, port, error);
  const Listener& listening = *listener;
  listener->watch = loop_.watch_readable(listener->fd, [this, &listening] { accept(listening); });
  listeners_.push_back(std::move(listener));
  return port_of(listening.fd);
}

void ForwardClient::accept(const Listener& listener) {
  const int fd = ::accept4(listener.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  if (listener.is_local && !is_own_user(fd)) {
    ::close(fd);
    return on_error_(Error{ErrorKind::kDenied, "not_yours",
                           "a connection from another user of this machine was refused", ""});
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const std::uint64_t id = next_++;
  connections_[id] = std::make_unique<Connection>(loop_, link_, listener.target, fd,
                                                  [this, id](const std::optional<Error>& error) {
                                                    connections_.erase(id);
                                                    if (error) on_error_(*error);
                                                  });
}

}  // namespace dove::cli
