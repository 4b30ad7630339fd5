// TaskStreams: bytes between tasks and their counterparts, through the controller: what tasks
// print, a step's input, and the connections of commands and forwarded ports.
//
// Each relay, and each input, has a stream of its own: on the session's connection where that
// speaks HTTP/2, else on a connection of its own. So a slow reader blocks nothing else. A step's
// client learns of the step's end after all of its output (after_output). It knows no attempts: its
// caller says which file is read and whether the file still grows. Owned by Agent. Loop thread
// only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/attempts/active_attempt.h"
#include "agent/attempts/step_input.h"
#include "agent/session/relays.h"
#include "agent/session/uplink.h"
#include "wire/loop.h"
#include "wire/web_socket/web_socket.h"

namespace dove::agent {

class TaskStreams {
 public:
  // `uplink` outlives it.
  TaskStreams(wire::Loop& loop, Uplink& uplink, const std::string& node);

  // Where the output that the controller asked for is read.
  void open(const std::string& relay, const Relays::Source& source);
  void close(const std::string& relay) { relays_.close(relay); }
  // The output of one task of a step begins; `writes`: whether its task may still write to a file.
  void open_step(const StepAttach& step, const StepTaskOutput& output,
                 const std::function<bool(const std::string& path)>& writes);
  // Nobody writes to that file any more.
  void finish(const std::string& path) { relays_.finish(path); }
  void moved(const std::string& from, const std::string& to) { relays_.moved(from, to); }
  // The session is over: who reads comes back and says how far it was.
  void clear() { relays_.clear(); }
  // Calls `tell` once the step's output here has been passed on; false: none of it is passed on.
  bool after_output(AttemptKey key, std::int32_t step, std::function<void()> tell);
  std::unique_ptr<StepInput> input(const StepOrder& step, std::function<void()> on_end);
  // The connection of a command or of a forwarded port, by its id.
  std::unique_ptr<wire::WebSocket> dial(const std::string& id, wire::WebSocketCallbacks callbacks);

 private:
  Relays::Send new_line();

  wire::Loop& loop_;
  Uplink& uplink_;
  Relays relays_;
  std::map<std::string, std::string> step_relays_;  // step ("7.1.0") to its relay's id
};

}  // namespace dove::agent
