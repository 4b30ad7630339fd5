#include "wire/tcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "wire/loop_state.h"
#include "wire/socket_stream.h"

namespace dove::wire {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using Socket = SocketStream<tcp>::Socket;
using Resolver = asio::ip::basic_resolver<tcp, LoopExecutor>;

std::string host_port(const std::string& host, std::uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

class TcpStream final : public SocketStream<tcp> {
 public:
  explicit TcpStream(Socket socket) : SocketStream(std::move(socket)) {
    ErrorCode ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  }

  void reset() override {
    ErrorCode ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    close();
  }

  // Each request over it names it, so the system is asked once.
  std::string peer_address() const override {
    if (!peer_.empty()) return peer_;
    ErrorCode error;
    const tcp::endpoint peer = socket_.remote_endpoint(error);
    if (error) return "unknown";
    return peer_ = host_port(peer.address().to_string(), peer.port());
  }

 private:
  mutable std::string peer_;
};

// One attempt to connect: resolve if need be, then each address in turn. Those that do not answer
// are asked again.
class Connecting : public std::enable_shared_from_this<Connecting> {
 public:
  using Done = std::function<void(Result<std::unique_ptr<Stream>>)>;

  Connecting(Loop& loop, const std::string& host, std::uint16_t port, ReachTimes reach, Done done)
      : loop_(loop),
        where_(host_port(host, port)),
        reach_(reach),
        socket_(loop.state().io),
        resolver_(loop.state().io),
        done_(std::move(done)) {}

  void start(const std::string& host, std::uint16_t port, std::chrono::microseconds timeout) {
    reach_.host = reach_.host.count() == 0 ? timeout : std::min(reach_.host, timeout);
    timer_ = loop_.after(timeout, [this] { time_out(); });
    ErrorCode error;
    const auto address = asio::ip::make_address(host, error);
    if (!error) {
      endpoints_ = {tcp::endpoint(address, port)};
      return begin();
    }
    resolver_.async_resolve(host, std::to_string(port),
                            [weak = weak_from_this()](const ErrorCode& failed,
                                                      const tcp::resolver::results_type& found) {
                              const auto self = weak.lock();
                              if (!self || !self->done_) return;
                              for (const auto& entry : found) {
                                self->endpoints_.push_back(entry.endpoint());
                              }
                              if (failed) {
                                self->fail("host_unknown", failed.message());
                              } else {
                                self->begin();
                              }
                            });
  }

 private:
  // The addresses are known. How long that took says nothing about the host.
  void begin() {
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(endpoints_.size(), 1));
    reach_.address = std::min(reach_.address, reach_.host / count);
    reach_timer_ = loop_.after(reach_.host, [this] { time_out(); });
    connect_next();
  }

  void connect_next() {
    if (next_ == endpoints_.size()) {
      next_ = 0;
      if (std::exchange(some_silent_, false)) return connect_next();
      // Only a refusal tells that the other machine is up and nobody listens there.
      const bool refused = last_failure_ == asio::error::connection_refused;
      fail(refused ? "connection_refused" : "unreachable", last_failure_.message());
      return;
    }
    const tcp::endpoint to = endpoints_[next_++];
    ErrorCode opening;
    socket_.close(opening);
    socket_.open(to.protocol(), opening);
    if (!opening) keep_from_children(socket_.native_handle());
    address_timer_ = loop_.after(reach_.address, [this] {
      some_silent_ = true;
      connect_next();
    });
    // Had open() failed, async_connect() opens again and reports it.
    socket_.async_connect(to, [weak = weak_from_this(), mine = ++asked_](const ErrorCode& error) {
      const auto self = weak.lock();
      if (!self || !self->done_ || mine != self->asked_) return;
      self->address_timer_.cancel();
      if (error) {
        self->last_failure_ = error;
        self->connect_next();
      } else {
        self->finish(std::unique_ptr<Stream>(new TcpStream(std::move(self->socket_))));
      }
    });
  }

  void time_out() {
    finish(
        Error{ErrorKind::kTimeout,
              "connect_timeout",
              fmt::format("no connection to {} in time; is the address right and the network up?",
                          where_),
              {}});
  }

  void fail(const char* code, const std::string& cause) {
    finish(
        Error{ErrorKind::kUnavailable,
              code,
              fmt::format("cannot connect to {}: {}; is the server running there?", where_, cause),
              {}});
  }

  void finish(Result<std::unique_ptr<Stream>> result) {
    const auto self = shared_from_this();
    timer_.cancel();
    reach_timer_.cancel();
    address_timer_.cancel();
    ErrorCode ignored;
    socket_.close(ignored);
    const auto done = std::move(done_);
    done_ = nullptr;
    done(std::move(result));
  }

  Loop& loop_;
  std::string where_;
  ReachTimes reach_;
  Socket socket_;
  Resolver resolver_;
  Done done_;
  Timer timer_;  // of all
  Timer reach_timer_;
  Timer address_timer_;
  std::vector<tcp::endpoint> endpoints_;
  std::size_t next_ = 0;
  bool some_silent_ = false;  // since the first of them was asked last
  std::uint64_t asked_ = 0;   // what a former address says is not heard
  ErrorCode last_failure_ = asio::error::host_not_found;
};

class Listener final : public TcpListener {
 public:
  using OnAccept = std::function<void(std::unique_ptr<Stream>)>;

  Listener(Loop& loop, OnAccept on_accept)
      : core_(std::make_shared<Core>(loop, std::move(on_accept))) {}
  ~Listener() override { core_->stop(); }

  Result<void> open(const std::string& host, std::uint16_t port);
  std::uint16_t port() const override { return port_; }

 private:
  using Core = Accepting<tcp, TcpStream>;

  std::shared_ptr<Core> core_;
  std::uint16_t port_ = 0;
};

Error bind_error(const ErrorCode& error, const std::string& where) {
  if (error == asio::error::address_in_use) {
    return Error{
        ErrorKind::kConflict,
        "address_in_use",
        fmt::format("cannot listen on {0}: the port is in use; choose another with --port, "
                    "or see who has it: ss -ltnp 'sport = :{1}'",
                    where, where.substr(where.rfind(':') + 1)),
        {}};
  }
  if (error == asio::error::access_denied) {
    return Error{ErrorKind::kDenied,
                 "bind_denied",
                 fmt::format("cannot listen on {}: {}; ports below 1024 need root, choose another "
                             "with --port",
                             where, error.message()),
                 {}};
  }
  return Error{
      ErrorKind::kInvalid,
      "bad_address",
      fmt::format("cannot listen on {}: {}; give an address of this machine, 127.0.0.1 for "
                  "this machine alone or 0.0.0.0 for all networks",
                  where, error.message()),
      {}};
}

Result<void> Listener::open(const std::string& host, std::uint16_t port) {
  const std::string where = host_port(host, port);
  ErrorCode error;
  tcp::endpoint endpoint(asio::ip::make_address(host, error), port);
  if (error) {
    Resolver resolver(core_->loop.state().io);
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
    if (error || found.empty()) return bind_error(error, where);
    endpoint = found.begin()->endpoint();
  }
  auto& acceptor = core_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) keep_from_children(acceptor.native_handle());
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(4096, error);
  if (error) return bind_error(error, where);
  port_ = acceptor.local_endpoint(error).port();
  core_->accept();
  return {};
}

}  // namespace

ConnectAttempt connect_tcp(Loop& loop, const std::string& host, std::uint16_t port,
                           std::chrono::microseconds timeout,
                           std::function<void(Result<std::unique_ptr<Stream>>)> done,
                           ReachTimes reach) {
  auto attempt = std::make_shared<Connecting>(loop, host, port, reach, std::move(done));
  attempt->start(host, port, timeout);
  return attempt;
}

Result<std::unique_ptr<TcpListener>> listen_tcp(
    Loop& loop, const std::string& host, std::uint16_t port,
    std::function<void(std::unique_ptr<Stream>)> on_accept) {
  auto listener = std::make_unique<Listener>(loop, std::move(on_accept));
  TRY(listener->open(host, port));
  return std::unique_ptr<TcpListener>(std::move(listener));
}

}  // namespace dove::wire
