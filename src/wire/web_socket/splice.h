// Splice: joins a connected socket of this machine and a WebSocket: each passes on what the other
// receives. Both ends of `dove port-forward` are made of it, the client's and the agent's.
//
// Pieces, windows and words are those of api/agent-protocol.md (Forwards). Each side is read no
// faster than the other accepts; the end of one direction leaves the other open. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "wire/loop.h"
#include "wire/web_socket/piece.h"
#include "wire/web_socket/web_socket.h"

namespace dove::wire {

class Splice {
 public:
  // Owns `fd`, which does not block. `sends`: the channel of what it reads from the socket; the
  // other of stdin and stdout is the peer's. `over` is called once, from the loop: nothing more
  // comes or goes either way. It may destroy this.
  Splice(Loop& loop, int fd, Channel sends, WebSocket& peer, std::function<void()> over);
  ~Splice();
  Splice(const Splice&) = delete;
  Splice& operator=(const Splice&) = delete;

  // What the peer says. False: it breaks the rules.
  [[nodiscard]] bool hear_piece(std::string_view message);
  [[nodiscard]] bool hear_took(std::int64_t bytes);
  void hear_end();
  // Nothing more comes from the peer, and nothing it is sent matters: what it has sent is written
  // to the socket, then it is over.
  void peer_over();

 private:
  void watch_input();
  void read_some();
  void end_output();
  void write_some();
  void drop_output();
  void say_took(std::size_t bytes);
  void look_over();

  Loop& loop_;
  int fd_;
  int write_fd_;  // the same, watched for writing
  const Channel sends_;
  WebSocket& peer_;
  const std::function<void()> over_;
  Window sent_;  // to the peer
  bool reads_ = true;
  bool watching_ = false;
  FdWatch read_watch_;
  Window received_;  // from the peer
  Passed passed_;
  std::deque<std::string> waiting_;
  std::size_t written_ = 0;  // of the first
  bool peer_ended_ = false;
  bool shut_ = false;  // nothing more is written
  bool peer_over_ = false;
  FdWatch write_watch_;
  Timer over_timer_;
};

}  // namespace dove::wire
