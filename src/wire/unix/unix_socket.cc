#include "wire/unix/unix_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>

#include "wire/socket_stream.h"

namespace dove::wire {
namespace {

namespace asio = boost::asio;
using Unix = asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;

class UnixStream final : public SocketStream<Unix> {
 public:
  explicit UnixStream(Socket socket) : SocketStream(std::move(socket)) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
      identity_ = fmt::format("unix:{}", peer.uid);
    }
  }
  std::string peer_address() const override { return "127.0.0.1:0"; }
  std::string peer_identity() const override { return identity_; }

 private:
  std::string identity_;
};

// For sockaddr_un.
constexpr std::size_t kPathMax = 107;

}  // namespace

Result<std::shared_ptr<void>> listen_unix(Loop& loop, const std::string& path,
                                          std::function<void(std::unique_ptr<Stream>)> on_accept) {
  const auto failed = [&](const std::string& why) {
    return Error{ErrorKind::kInvalid, "bad_address",
                 fmt::format("cannot listen on {}: {}", path, why), path};
  };
  if (path.size() > kPathMax) return failed("the path is too long for a socket");
  ::unlink(path.c_str());
  auto core = std::make_shared<Accepting<Unix, UnixStream>>(loop, std::move(on_accept));
  ErrorCode error;
  core->acceptor.open(Unix(), error);
  if (!error) keep_from_children(core->acceptor.native_handle());
  if (!error) core->acceptor.bind(Unix::endpoint(path), error);
  if (!error && ::chmod(path.c_str(), 0600) != 0)
    error = ErrorCode(errno, boost::system::system_category());
  if (!error) core->acceptor.listen(64, error);
  if (error) return failed(error.message());
  core->accept();
  return std::shared_ptr<void>(core.get(), [core, path](void*) {
    core->stop();
    ::unlink(path.c_str());
  });
}

std::shared_ptr<void> connect_unix(Loop& loop, const std::string& path,
                                   std::function<void(Result<std::unique_ptr<Stream>>)> done) {
  auto socket = std::make_shared<UnixStream::Socket>(loop.state().io);
  auto attempt = std::make_shared<bool>();
  const auto finish = [path, socket, weak = std::weak_ptr<bool>(attempt),
                       done = std::move(done)](const ErrorCode& error) {
    if (weak.expired()) return;
    if (!error) return done(std::unique_ptr<Stream>(new UnixStream(std::move(*socket))));
    const bool refused = error == asio::error::connection_refused;
    done(Error{ErrorKind::kUnavailable, refused ? "connection_refused" : "unreachable",
               fmt::format("cannot connect to {}: {}; is the server running on this machine?", path,
                           error.message()),
               ""});
  };
  if (path.size() > kPathMax) {
    loop.post([finish] { finish(asio::error::name_too_long); });
  } else {
    socket->async_connect(Unix::endpoint(path), finish);
  }
  return attempt;
}

}  // namespace dove::wire
