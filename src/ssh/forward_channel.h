// ForwardChannel: a connection that the client wants to a port of the task (direct-tcpip, `ssh
// -L`).
//
// Loop thread only.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <functional>
#include <memory>
#include <string_view>

#include "ssh/channel_pipe.h"
#include "ssh/host.h"

namespace dove::ssh {

// Whether connections there end in the task: names of the machine itself.
bool is_task_itself(std::string_view host);

class ForwardChannel {
 public:
  // Owns `channel`. `over` is called once, in a later turn; it may destroy this.
  ForwardChannel(const Host& host, ssh_channel channel, int port, std::function<void()> over);
  ~ForwardChannel();
  ForwardChannel(const ForwardChannel&) = delete;
  ForwardChannel& operator=(const ForwardChannel&) = delete;

  // The client has said something, which may have opened its window: libssh does not always tell.
  void resume() {
    pipe_.write_some();
    finish();
  }

 private:
  void listen();
  void hear(std::string_view text);
  void finish();
  void end();

  const Host& host_;
  const ssh_channel channel_;
  const std::function<void()> over_;
  ssh_channel_callbacks_struct callbacks_{};
  ChannelPipe pipe_;
  std::unique_ptr<wire::WebSocket> socket_;
  bool task_ended_ = false;  // it sends no more
  bool eof_told_ = false;
  bool is_broken_ = false;  // both directions are at their end
  bool is_over_ = false;
  wire::Timer timer_;
};

}  // namespace dove::ssh
