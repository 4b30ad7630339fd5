#include "contain/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "containers/place.h"

namespace dove::contain {
namespace {

constexpr std::size_t kConnections_max = 256;
constexpr std::size_t kBufferBytes = 65'536;
constexpr short kReads = POLLIN;
constexpr short kWrites = POLLOUT;
constexpr short kNothing = 0;

// Bytes on their way from one socket to the other.
struct Way {
  int from = -1;
  int to = -1;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool over = false;  // `from` has ended
  bool told = false;  // and `to` knows
  char bytes[kBufferBytes];

  bool is_empty() const { return begin == end; }
  bool is_done() const { return told; }
  short wants_read() const { return is_empty() && !over ? kReads : kNothing; }
  short wants_write() const { return is_empty() ? kNothing : kWrites; }

  // False: the connection is broken.
  bool go_on() {
    if (is_empty() && !over) {
      const ssize_t got = ::recv(from, bytes, sizeof bytes, 0);
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      over = got == 0;
      begin = 0;
      end = static_cast<std::size_t>(got);
    }
    while (!is_empty()) {
      const ssize_t put = ::send(to, bytes + begin, end - begin, MSG_NOSIGNAL);
      if (put < 0) return errno == EAGAIN || errno == EINTR;
      begin += static_cast<std::size_t>(put);
    }
    if (over && !told) told = ::shutdown(to, SHUT_WR) == 0 || errno == ENOTCONN;
    return true;
  }
};

struct Connection {
  int outside = -1;
  int inside = -1;
  bool connected = false;
  Way in;
  Way out;

  Connection(int outside_fd, int inside_fd) : outside(outside_fd), inside(inside_fd) {
    in.from = out.to = outside;
    in.to = out.from = inside;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    ::close(outside);
    ::close(inside);
  }
};

int connect_inside(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int done = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (done == 0 || errno == EINPROGRESS) return fd;
  ::close(fd);
  return -1;
}

class Relay {
 public:
  explicit Relay(std::vector<int> ports) : ports_(std::move(ports)) {}

  [[noreturn]] void run() {
    for (;;) {
      polled_.clear();
      const bool room = connections_.size() < kConnections_max;
      for (std::size_t i = 0; i < ports_.size(); ++i) {
        polled_.push_back({listener(i), room ? kReads : kNothing, 0});
      }
      for (const auto& one : connections_) watch(*one);
      if (::poll(polled_.data(), polled_.size(), -1) < 0 && errno != EINTR) ::_exit(1);
      const std::size_t known = connections_.size();
      for (std::size_t i = 0; i < ports_.size(); ++i) {
        if ((polled_[i].revents & POLLIN) != 0) accept(i);
      }
      for (std::size_t i = 0; i < known; ++i) tend(i);
      std::erase(connections_, nullptr);
    }
  }

 private:
  static int listener(std::size_t index) { return containers::kListenFd + static_cast<int>(index); }
  void watch(const Connection& one) {
    const auto outside = static_cast<short>(one.in.wants_read() | one.out.wants_write());
    const auto inside = static_cast<short>(one.out.wants_read() | one.in.wants_write());
    // A negative descriptor is passed over: nothing is wanted of that end now.
    polled_.push_back({one.connected && outside != 0 ? one.outside : -1, outside, 0});
    if (!one.connected) {
      polled_.push_back({one.inside, kWrites, 0});
    } else {
      polled_.push_back({inside != 0 ? one.inside : -1, inside, 0});
    }
  }
  void accept(std::size_t index) {
    const int outside = ::accept4(listener(index), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (outside < 0) return;
    const int inside = connect_inside(ports_[index]);
    if (inside < 0) {
      ::close(outside);
    } else {
      connections_.push_back(std::make_unique<Connection>(outside, inside));
    }
  }
  void tend(std::size_t index) {
    std::unique_ptr<Connection>& one = connections_[index];
    const std::size_t at = ports_.size() + 2 * index;
    if (polled_[at].revents == 0 && polled_[at + 1].revents == 0) return;
    if (!one->connected) {
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(one->inside, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return one.reset();  // nobody listens inside
      one->connected = true;
    }
    const bool lives = one->in.go_on() && one->out.go_on();
    if (!lives || (one->in.is_done() && one->out.is_done())) one.reset();
  }

  const std::vector<int> ports_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<pollfd> polled_;
};

}  // namespace

pid_t start_relay(const char* ports) {
  std::vector<int> inside;
  if (std::strcmp(ports, "-") == 0) return 0;
  for (const char* at = ports; *at != '\0';) {
    char* end = nullptr;
    inside.push_back(static_cast<int>(std::strtol(at, &end, 10)));
    at = *end == ',' ? end + 1 : end + std::strlen(end);
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    ::close(containers::kTellFd);
    // The program may take its time after SIGTERM, and so may what it still sends.
    sigset_t none;
    ::sigemptyset(&none);
    ::signal(SIGTERM, SIG_IGN);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      ::fcntl(containers::kListenFd + static_cast<int>(i), F_SETFL, O_NONBLOCK);
    }
    Relay(std::move(inside)).run();
  }
  for (std::size_t i = 0; i < inside.size(); ++i) {
    ::close(containers::kListenFd + static_cast<int>(i));
  }
  return pid;
}

}  // namespace dove::contain
