// ChannelPipe: the data of an SSH channel and of a WebSocket into a task, each of which leaves on
// the other (pieces and windows: wire/web_socket/piece.h).
//
// Neither direction holds more than a window: we say that what the task sends is taken once it was
// given to the SSH channel, whose own window is the client's to open; what the client sends is
// taken from libssh whole, and not before most of what came before has left: until then the
// channel's window stays shut. (Libssh moves all that it holds each time it is given more.) Loop
// thread only.
#pragma once

#include <libssh/libssh.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "wire/web_socket/piece.h"
#include "wire/web_socket/web_socket.h"

namespace dove::ssh {

class ChannelPipe {
 public:
  explicit ChannelPipe(ssh_channel channel) : channel_(channel) {}

  // From now on what the client sends goes there. `socket` outlives this, or leave() is called.
  void join(wire::WebSocket& socket);
  void leave() { socket_ = nullptr; }

  // -- from the client
  // Bytes that libssh holds for the channel, all that were not taken before; how many are taken.
  int take(std::string_view held);
  void client_ended();

  // -- from the task
  [[nodiscard]] bool hear_piece(std::string_view message);  // false: the server breaks the protocol
  [[nodiscard]] bool hear_took(std::int64_t bytes);
  // Text of our own, behind all that came: to stderr.
  void tell(std::string text);

  // The client's window has opened.
  void write_some();
  bool all_written() const { return waiting_.empty(); }

 private:
  struct Waiting {
    wire::Channel channel = wire::Channel::kStdout;
    std::string bytes;
    bool is_ours = false;  // nobody is told that it was taken
  };
  bool write_first();
  void read_held();
  void send_some();
  void end_input();

  const ssh_channel channel_;
  wire::WebSocket* socket_ = nullptr;
  wire::Window to_task_;
  std::size_t held_ = 0;            // in libssh, for us
  std::deque<std::string> pieces_;  // for the task
  std::size_t pieces_bytes_ = 0;
  bool client_ended_ = false;
  bool end_told_ = false;
  wire::Window from_task_;
  std::deque<Waiting> waiting_;
  std::size_t written_ = 0;  // of the first
  bool writing_ = false;     // libssh may call us from within a write
};

}  // namespace dove::ssh
