// ExecEnds: the agent's ends of the streams of a command of `dove exec`: a terminal, or three
// pipes.
//
// The other ends are files that the shim opens with the rights of the task's user. The descriptors
// do not block. Destroying it closes them: a terminal hangs up, and the reader of a pipe sees its
// end. Loop thread only.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::agent {

struct TerminalSize {
  int rows = 24;
  int columns = 80;
};

class ExecEnds {
 public:
  // `linux_user`: who may open the other ends; "": the agent's own. Errors name what cannot be
  // made.
  static Result<ExecEnds> terminal(const std::string& linux_user, TerminalSize size);
  // Named pipes that begin with `path`. Without `takes_input` stdin is /dev/null.
  static Result<ExecEnds> pipes(const std::string& path, const std::string& linux_user,
                                bool takes_input);
  ExecEnds() = default;
  ~ExecEnds();
  ExecEnds(ExecEnds&& other) noexcept;
  ExecEnds& operator=(ExecEnds&& other) noexcept;

  const std::string& terminal_path() const { return terminal_path_; }  // "": pipes
  std::string path_of(const char* end) const;  // "in", "out", "err" of the pipes; "": none
  int in() const { return in_; }
  int out() const { return out_; }  // a terminal's only output
  int err() const { return err_; }

  void resize(TerminalSize size) const;
  // The input is at its end. A terminal is told as by the key Ctrl-D.
  void end_input();
  void close();

 private:
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string terminal_path_;
  std::string pipes_path_;
};

}  // namespace dove::agent
