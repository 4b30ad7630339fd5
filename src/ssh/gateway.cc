#include "ssh/gateway.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libssh/libssh.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "ssh/strangers.h"
#include "telemetry/log.h"
#include "wire/address.h"

namespace dove::ssh {
namespace {

constexpr int kBacklog = 128;
constexpr unsigned kAnnounceEvery_s = 30;
constexpr unsigned kAnnounceToSeveral_s = 5;  // one that begins to lead knows of no gateway
constexpr unsigned kAnnounceAgain_s = 1;

Result<int> listen_at(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    return Error{
        ErrorKind::kInvalid, "bad_address",
        fmt::format("'{}' is not an address; give one in numbers, such as 127.0.0.1", host),
        "host"};
  }
  const int fd =
      ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, found->ai_protocol);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool listens =
      ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0;
  const int why = errno;
  ::freeaddrinfo(found);
  if (listens) return fd;
  ::close(fd);
  return Error{ErrorKind::kConflict, why == EADDRINUSE ? "address_in_use" : "bad_address",
               fmt::format("cannot listen at {}: {}; choose another port",
                           wire::Address{host, port}.text(), std::strerror(why)),
               "port"};
}

std::uint16_t port_of(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  char port[16] = "0";
  ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, nullptr, 0, port, sizeof port,
                NI_NUMERICSERV);
  return static_cast<std::uint16_t>(std::atoi(port));
}

// A peer that has vanished is noticed within two minutes.
void keep_alive(int fd) {
  const int yes = 1;
  const int idle_s = 60;
  const int between_s = 15;
  const int unacknowledged_ms = 120'000;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

class Gateway {
 public:
  Gateway(const GatewaySettings& settings, const GatewayWatch& watch, ServerLink server,
          int listener)
      : settings_(settings),
        watch_(watch),
        server_(std::move(server)),
        listener_(listener),
        strangers_({settings.limits.connections_max, settings.limits.strangers_max,
                    settings.limits.of_address_max}) {}

  void run(const Announcement& announcement) {
    sigset_t watched;
    ::sigemptyset(&watched);
    for (const int number : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&watched, number);
    ::sigprocmask(SIG_BLOCK, &watched, &mask_);
    signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    announcer_ = fork_child([&] { announce(announcement); });
    watch_.ready("listens at port " + std::to_string(announcement.port));
    while (!ends_) turn();
    watch_.stopping();
    for (const auto& [pid, child] : children_) ::kill(pid, SIGTERM);
    if (announcer_ > 0) ::kill(announcer_, SIGTERM);
    ::close(signals_);
  }

 private:
  struct Child {
    std::string address;
    int pipe = -1;  // readable once it has signed in; -1: it has
  };

  // What it is given is all that it has: it ends with us.
  pid_t fork_child(const std::function<void()>& run) {
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    ::close(listener_);
    ::close(signals_);
    for (const auto& [other, child] : children_) ::close(child.pipe);
    run();
    ::_exit(0);
  }

  void announce(const Announcement& announcement) const {
    std::string last = "none";
    for (;;) {
      const Result<void> done = server_.announce(announcement);
      const std::string code = done.ok() ? "" : done.error().code;
      if (code != last) {
        telemetry::log(done.ok() ? telemetry::Level::kInfo : telemetry::Level::kWarning,
                       done.ok() ? "announced" : "cannot_announce",
                       {{"server", settings_.server.url},
                        {"why", done.ok() ? std::string() : done.error().message}});
      }
      last = code;
      const unsigned every_s = server_.has_several() ? kAnnounceToSeveral_s : kAnnounceEvery_s;
      ::sleep(done.ok() ? every_s : kAnnounceAgain_s);
    }
  }

  void turn() {
    std::vector<pollfd> watched{{signals_, POLLIN, 0}, {listener_, POLLIN, 0}};
    std::vector<pid_t> whose;
    for (const auto& [pid, child] : children_) {
      if (child.pipe < 0) continue;
      watched.push_back({child.pipe, POLLIN, 0});
      whose.push_back(pid);
    }
    watch_.alive();
    const int limit_ms = watch_.every.count() > 0 ? static_cast<int>(watch_.every.count()) : -1;
    if (::poll(watched.data(), watched.size(), limit_ms) < 0) return;
    for (std::size_t i = 0; i < whose.size(); ++i) {
      if (watched[i + 2].revents != 0) hear(whose[i]);
    }
    if (watched[1].revents != 0) accept();
    if (watched[0].revents != 0) hear_signals();
  }

  void hear(pid_t pid) {
    Child& child = children_.at(pid);
    char byte = 0;
    const bool signed_in = ::read(child.pipe, &byte, 1) == 1;
    if (!signed_in) return;  // it ends; its status tells us
    ::close(std::exchange(child.pipe, -1));
    strangers_.signed_in(child.address);
  }

  void hear_signals() {
    signalfd_siginfo heard{};
    while (::read(signals_, &heard, sizeof heard) == sizeof heard) {
      if (heard.ssi_signo != SIGCHLD) ends_ = true;
    }
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) gone(pid, status);
  }

  void gone(pid_t pid, int status) {
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGTERM) {
      telemetry::log(telemetry::Level::kError, "connection_died",
                     {{"signal", fmt::format("{}", WTERMSIG(status))}});
    }
    const auto found = children_.find(pid);
    if (found == children_.end()) return;
    hear_late(pid);
    strangers_.gone(found->second.address, found->second.pipe < 0);
    if (found->second.pipe >= 0) ::close(found->second.pipe);
    children_.erase(found);
  }

  // It may have signed in and ended before we looked.
  void hear_late(pid_t pid) {
    if (children_.at(pid).pipe >= 0) hear(pid);
  }

  void accept() {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    const int fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&name), &size, SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE) ::usleep(100'000);  // until one has ended
      return;
    }
    char address[NI_MAXHOST] = "?";
    ::getnameinfo(reinterpret_cast<sockaddr*>(&name), size, address, sizeof address, nullptr, 0,
                  NI_NUMERICHOST);
    int pipe[2];
    if (!strangers_.come(address)) {
      telemetry::log(telemetry::Level::kWarning, "too_many_connections", {{"address", address}});
    } else if (::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
      strangers_.gone(address, false);
    } else {
      const pid_t pid = fork_child([&] { serve(fd, address, pipe); });
      ::close(pipe[1]);
      if (pid > 0) {
        children_[pid] = {address, pipe[0]};
      } else {
        ::close(pipe[0]);
        strangers_.gone(address, false);
      }
    }
    ::close(fd);
  }

  void serve(int fd, const std::string& address, const int* pipe) const {
    ::close(pipe[0]);
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    keep_alive(fd);
    const ConnectionSettings settings{fd, address, settings_.data_dir + "/host_key",
                                      settings_.limits.connection};
    serve_connection(server_, settings, [&] {
      if (::write(pipe[1], "+", 1) < 0) {
      }
    });
  }

  const GatewaySettings& settings_;
  const GatewayWatch& watch_;
  const ServerLink server_;
  const int listener_;
  int signals_ = -1;
  sigset_t mask_{};
  bool ends_ = false;
  pid_t announcer_ = -1;
  std::map<pid_t, Child> children_;
  Strangers strangers_;
};

Error bad_host_key(const std::string& path) {
  return Error{
      ErrorKind::kInvalid, "bad_host_key",
      fmt::format("{}: holds no Ed25519 key that can be read; remove it and another one is "
                  "made, of which `ssh` will warn those who know the former",
                  path),
      path};
}

}  // namespace

Result<std::string> host_key(const std::string& path) {
  ssh_key key = nullptr;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    const mode_t before = ::umask(077);
    const std::string fresh = path + ".new";
    const bool made =
        ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) == SSH_OK &&
        ssh_pki_export_privkey_file(key, nullptr, nullptr, nullptr, fresh.c_str()) == SSH_OK &&
        ::rename(fresh.c_str(), path.c_str()) == 0;
    ::umask(before);
    if (!made) {
      ssh_key_free(key);
      return Error{ErrorKind::kInvalid, "data_dir",
                   fmt::format("{}: cannot be written; the gateway needs a directory of its own "
                               "(--data)",
                               path),
                   path};
    }
  } else if ((facts.st_mode & 077) != 0 ||
             ssh_pki_import_privkey_file(path.c_str(), nullptr, nullptr, nullptr, &key) != SSH_OK) {
    return bad_host_key(path);
  }
  char* body = nullptr;
  const bool is_good = ssh_key_type(key) == SSH_KEYTYPE_ED25519 &&
                       ssh_pki_export_pubkey_base64(key, &body) == SSH_OK;
  ssh_key_free(key);
  if (!is_good) return bad_host_key(path);
  const std::string line = fmt::format("ssh-ed25519 {}", body);
  ssh_string_free_char(body);
  return line;
}

Result<void> run_gateway(const GatewaySettings& settings, const GatewayWatch& watch) {
  ssh_init();
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  TRY_ASSIGN(ServerLink server, ServerLink::make(settings.server));
  TRY_ASSIGN(const std::string key, host_key(settings.data_dir + "/host_key"));
  TRY_ASSIGN(const int listener, listen_at(settings.host, settings.port));
  const std::string& host = settings.public_host.empty() ? settings.host : settings.public_host;
  const Announcement announcement{host, port_of(listener), {key}};
  telemetry::log(
      telemetry::Level::kInfo, "listens",
      {{"at", wire::Address{settings.host, announcement.port}.text()}, {"host_key", key}});
  Gateway(settings, watch, std::move(server), listener).run(announcement);
  ::close(listener);
  return {};
}

}  // namespace dove::ssh
