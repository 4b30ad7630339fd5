// ExecSession: one command of `dove exec`, from its connection to the controller to the proof that
// nothing of it is left.
//
// It lives no longer than its connection, its task, and the shim's lease: the first of these to end
// ends the command (SIGHUP and SIGTERM, then SIGKILL after kEndGrace). Words and pieces are those
// of api/agent-protocol.md; neither direction holds more than a window (wire/web_socket/piece.h).
// Loop thread only.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/attempts/order.h"
#include "agent/exec/exec_ends.h"
#include "agent/tasks/task.h"
#include "protocol/link_words.h"
#include "wire/loop.h"
#include "wire/web_socket/piece.h"
#include "wire/web_socket/web_socket.h"

namespace dove::agent {

struct ExecHost {
  wire::Loop* loop = nullptr;  // nullptr: nothing can be run here
  Runner* runner = nullptr;
  // Opens the command's connection to the controller.
  std::function<std::unique_ptr<wire::WebSocket>(const std::string& id, wire::WebSocketCallbacks)>
      dial;
};

class ExecSession {
 public:
  static constexpr std::chrono::seconds kEndGrace{2};

  // `plan` is all but its ends, which are made here from `pipes_path`; or why there is none, to be
  // told. `over` is called once, in a later turn, when nothing is left; it may destroy this.
  ExecSession(const ExecHost& host, ExecOrder order, Result<TaskPlan> plan, std::string pipes_path,
              std::function<void()> over);
  ~ExecSession();
  ExecSession(const ExecSession&) = delete;
  ExecSession& operator=(const ExecSession&) = delete;

  void begin();
  Rank rank() const { return order_.rank; }
  // Its task ended, or is to end.
  void end(const std::string& why);

 private:
  struct Output;
  void opened();
  Result<void> start();
  void started();
  void hear(std::string_view text);
  void hear_piece(std::string_view message);
  void write_input();
  void watch_output(Output& output);
  void pause(Output& output);
  enum class Read { kSome, kLater, kOver };
  Read read_some(const Output& output);
  bool drain(Output& output);
  void task_ended(TaskEnd end);
  void finish();
  void hang_up();
  void break_off(const Error& error);
  void say(const protocol::LinkWord& word);

  const ExecHost host_;
  const ExecOrder order_;
  Result<TaskPlan> plan_;
  const std::string pipes_path_;
  std::function<void()> over_;
  std::unique_ptr<wire::WebSocket> socket_;  // nullptr: closed
  ExecEnds ends_;
  std::unique_ptr<RunningTask> task_;
  std::optional<TaskEnd> ended_;
  std::string why_;  // it was ended; "": by itself
  bool is_started_ = false;
  bool told_ = false;  // how it ended

  wire::Window in_window_;
  std::deque<std::string> input_;  // not yet written
  std::size_t written_ = 0;        // of the first
  bool input_ends_ = false;
  wire::FdWatch in_watch_;

  wire::Window out_window_;
  std::unique_ptr<Output> out_;
  std::unique_ptr<Output> err_;
  wire::Timer drain_timer_;
  wire::Timer over_timer_;
};

}  // namespace dove::agent
