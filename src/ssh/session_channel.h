// SessionChannel: a session of SSH (RFC 4254, 6) as a command in the task: shell, exec, or the
// subsystem sftp.
//
// What comes before the command (pty, environment) is kept for it. The channel's end is the
// command's, and the other way. Loop thread only.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/link_words.h"
#include "ssh/channel_pipe.h"
#include "ssh/host.h"

namespace dove::ssh {

class SessionChannel {
 public:
  // Owns `channel`. `over` is called once, in a later turn; it may destroy this.
  SessionChannel(const Host& host, ssh_channel channel, std::function<void()> over);
  ~SessionChannel();
  SessionChannel(const SessionChannel&) = delete;
  SessionChannel& operator=(const SessionChannel&) = delete;

  // The client has said something, which may have opened its window: libssh does not always tell.
  void resume() {
    pipe_.write_some();
    finish();
  }

 private:
  void listen();
  // Whether the client may do that: one command a channel, and what belongs to it before.
  bool set_terminal(std::string_view term, int columns, int rows);
  bool set_variable(std::string_view name, std::string_view value);
  bool start(std::vector<std::string> command);
  void resize(int columns, int rows);
  void signal(std::string_view name);
  void client_gone();

  void hear(std::string_view text);
  void hear_exit(const TaskExit& exit);
  void fail(const std::string& message);
  void say(const protocol::LinkWord& word);
  void finish();
  void end();

  const Host& host_;
  const ssh_channel channel_;
  const std::function<void()> over_;
  ssh_channel_callbacks_struct callbacks_{};
  ChannelPipe pipe_;
  bool has_terminal_ = false;
  int rows_ = 24;
  int columns_ = 80;
  std::map<std::string, std::string> environment_;
  std::unique_ptr<wire::WebSocket> socket_;
  bool started_ = false;
  bool told_ = false;  // how the command ended
  int exit_code_ = 0;
  int exit_signal_ = 0;
  bool is_over_ = false;  // nothing is left to be done
  wire::Timer timer_;
};

}  // namespace dove::ssh
