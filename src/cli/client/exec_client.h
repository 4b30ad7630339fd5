// ExecClient: runs a command inside a running task as if it ran here: with our streams, our
// terminal and its exit code as ours.
//
// Include only from .cc files of this part.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/client/endpoint.h"
#include "protocol/link_words.h"

namespace dove::cli {

// `program.input`: what we are given on stdin is the command's. The size of the terminal is ours.
struct ExecWanted {
  std::string job;
  protocol::ExecWish wish = {};
};

// With a terminal and input, ours is raw from the command's start to its end. Without, SIGINT and
// SIGQUIT go to the command; a second one leaves, as SIGTERM and SIGHUP do at once: who leaves ends
// the command. The result is the exit code (128 + signal), or why there is none. `name` begins
// messages.
Result<int> run_exec(const std::string& name, const Endpoint& endpoint, const ExecWanted& wanted);

}  // namespace dove::cli
