// LinkWord: what the two ends of a link say beside its pieces of data. A link joins a client
// (`dove exec`, `dove port-forward`, ssh) to a task: a WebSocket from the client to the controller,
// and one from the agent (api/agent-protocol.md, commands and forwards).
//
// wire::Splice speaks the words `took` and `end` of a connection that it carries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/job.h"
#include "protocol/control.h"

namespace dove::protocol {

// What a client wants to run: the first word of a command's link.
struct ExecWish {
  std::string task = {};  // "": rank 0; "3"; "worker/1"
  std::string node = {};  // "": that of the task; else the first task there
  ExecProgram program = {};
};

struct ScreenSize {
  std::int32_t rows = 0;
  std::int32_t columns = 0;
};

struct LinkBegun {
  Rank rank = 0;
};

struct LinkError {
  std::int32_t status = 409;  // as HTTP has it; from agents of former versions without it
  std::string code;
  std::string message;
};

// One of these. From the client: exec, resize, signal. From either end: took, end. From the agent:
// begun, exit, over. From the agent or the controller: notice, error.
struct LinkWord {
  std::optional<ExecWish> exec = std::nullopt;
  std::optional<ScreenSize> resize = std::nullopt;
  std::optional<std::int32_t> signal = std::nullopt;
  std::optional<std::int64_t> took = std::nullopt;  // bytes of the other end's data
  bool end = false;                                 // no more data comes from this end
  std::optional<LinkBegun> begun = std::nullopt;
  std::optional<TaskExit> exit = std::nullopt;
  bool over = false;  // of a forward: both directions are at their end
  std::optional<std::string> notice = std::nullopt;
  std::optional<LinkError> error = std::nullopt;
};

std::string link_word(const LinkWord& word);
// Text of at most `bytes_max` bytes. Errors: those of codec::parse_json; malformed_message.
Result<LinkWord> read_link_word(std::string_view text, std::size_t bytes_max);

}  // namespace dove::protocol
