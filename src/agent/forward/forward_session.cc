#include "agent/forward/forward_session.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/link_words.h"

namespace dove::agent {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::chrono::seconds kConnects{10};
constexpr std::chrono::milliseconds kBusyWait{25};
constexpr int kBusyLooks = 200;

}  // namespace

ForwardSession::ForwardSession(const ForwardHost& host, ForwardOrder order,
                               Result<ForwardTarget> target, std::shared_ptr<KnownPorts> known,
                               std::function<void()> over)
    : host_(host),
      order_(std::move(order)),
      target_(std::move(target)),
      known_(std::move(known)),
      over_(std::move(over)) {}

ForwardSession::~ForwardSession() {
  connecting_.cancel();
  if (fd_ >= 0) ::close(fd_);
}

void ForwardSession::begin() {
  wire::WebSocketCallbacks callbacks;
  callbacks.on_open = [this] { opened(); };
  callbacks.on_text = [this](std::string_view text) { hear(text); };
  callbacks.on_bytes = [this](std::string_view message) {
    if (splice_ != nullptr && splice_->hear_piece(message)) return;
    break_off(Error{ErrorKind::kInvalid, "bad_message", "bytes were sent beyond their window", ""});
  };
  callbacks.on_closed = [this](const Error&) { drop(); };
  socket_ = host_.dial(order_.id, std::move(callbacks));
}

void ForwardSession::opened() {
  if (!target_.ok()) return break_off(target_.error());
  if (order_.port == 0) return connect_socket();
  const auto known = known_->find({order_.rank, order_.port});
  look(known == known_->end() ? std::nullopt : std::optional(known->second));
}

// A port that was found before is that of the task as long as the same sockets hold it.
void ForwardSession::look(std::optional<TaskPort> known) {
  const auto result = std::make_shared<Result<TaskPort>>(Error{});
  host_.aside(
      [result, known = std::move(known), marks = target_->marks,
       port = static_cast<std::uint16_t>(order_.port)] {
        const bool same = known && is_unchanged(*known);
        *result = same ? Result<TaskPort>(*known) : find_task_port(marks, port);
      },
      [this, result, alive = std::weak_ptr<bool>(alive_)](bool in_time) {
        if (alive.expired() || socket_ == nullptr) return;
        if (in_time) return found(std::move(*result));
        break_off(Error{ErrorKind::kTimeout, "no_answer",
                        "the node did not say in time who listens on the port; try again", ""});
      });
}

void ForwardSession::found(Result<TaskPort> port) {
  if (!port.ok()) return break_off(port.error());
  port_ = std::move(port).value();
  (*known_)[{order_.rank, order_.port}] = port_;
  if (!order_.looks_only) return connect_next();
  splice();
}

void ForwardSession::connect_next() {
  connecting_.cancel();
  limit_.cancel();
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (tried_ == port_.addresses.size()) {
    return break_off(Error{ErrorKind::kUnavailable, "forward_failed",
                           fmt::format("the task listens on port {}, but does not take the "
                                       "connection: {}",
                                       order_.port, std::strerror(errno)),
                           "port"});
  }
  const SocketAddress& address = port_.addresses[tried_++];
  const Result<int> made = open_in_network(port_, address.bytes.ss_family);
  if (!made.ok()) return break_off(made.error());
  fd_ = *made;
  const auto* const name = reinterpret_cast<const sockaddr*>(&address.bytes);
  if (::connect(fd_, name, address.size) == 0) return confirm();
  if (errno != EINPROGRESS) return connect_next();
  connecting_ = host_.loop->watch_writable(fd_, [this] {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (error != 0) return connect_next();
    confirm();
  });
  limit_ = host_.loop->after(kConnects, [this] {
    errno = ETIMEDOUT;
    connect_next();
  });
}

// Had the port passed to somebody else meanwhile, the connection would be theirs.
void ForwardSession::confirm() {
  connecting_.cancel();
  limit_.cancel();
  const auto same = std::make_shared<bool>(false);
  host_.aside([same, port = port_] { *same = is_unchanged(port); },
              [this, same, alive = std::weak_ptr<bool>(alive_)](bool in_time) {
                if (alive.expired() || socket_ == nullptr) return;
                if (in_time && *same) return splice();
                break_off(Error{ErrorKind::kUnavailable, "forward_failed",
                                "the process that listens on the port changed just now; try again",
                                "port"});
              });
}

void ForwardSession::connect_socket() {
  if (order_.looks_only) {
    const Result<void> found = find_task_socket(target_->sockets, order_.socket);
    return found.ok() ? splice() : break_off(found.error());
  }
  const Result<int> made = connect_task_socket(target_->sockets, order_.socket);
  if (!made.ok() && made.error().code == "busy" && ++busy_looks_ < kBusyLooks) {
    limit_ = host_.loop->after(kBusyWait, [this] { connect_socket(); });
    return;
  }
  if (!made.ok()) return break_off(made.error());
  fd_ = *made;
  splice();
}

void ForwardSession::splice() {
  socket_->send_text(protocol::link_word({.begun = protocol::LinkBegun{order_.rank}}));
  if (order_.looks_only) {
    socket_->close("over");
    return drop();
  }
  splice_ = std::make_unique<wire::Splice>(
      *host_.loop, std::exchange(fd_, -1), wire::Channel::kStdout, *socket_, [this] {
        if (socket_ == nullptr) return;
        socket_->send_text(protocol::link_word({.over = true}));
        socket_->close("over");
        drop();
      });
}

void ForwardSession::hear(std::string_view text) {
  const Result<protocol::LinkWord> said = protocol::read_link_word(text, kTextBytesMax);
  bool keeps_rules = said.ok() && splice_ != nullptr;
  if (keeps_rules && said->took) {
    keeps_rules = splice_->hear_took(*said->took);
  } else if (keeps_rules && said->end) {
    splice_->hear_end();
  }
  if (keeps_rules) return;
  break_off(Error{ErrorKind::kInvalid, "bad_message", "the client breaks the protocol", ""});
}

void ForwardSession::end(const std::string& why) {
  break_off(Error{ErrorKind::kConflict, "not_running", why, ""});
}

void ForwardSession::break_off(const Error& error) {
  if (socket_ == nullptr) return;
  socket_->send_text(protocol::link_word(
      {.error = protocol::LinkError{wire::status_of(error.kind), error.code, error.message}}));
  socket_->close(error.code);
  drop();
}

void ForwardSession::drop() {
  splice_.reset();  // before what it sends on
  socket_.reset();
  connecting_.cancel();
  limit_.cancel();
  if (over_timer_.pending()) return;
  over_timer_ = host_.loop->after(std::chrono::microseconds(0), [over = over_] { over(); });
}

}  // namespace dove::agent
