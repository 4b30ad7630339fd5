// AppWord: what a session's program itself reports about its use.
//
// It is asked over its own socket or port, as its user's browser would ask, and is not trusted: its
// answer concerns its own job alone. Blocks, for `limit` at most: on a side thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/forward/forward_session.h"
#include "base/result.h"
#include "model/exec.h"

namespace dove::agent {

struct AppWord {
  bool in_use = false;  // it computes for its user: a busy kernel
  // When it was last used at the latest, by this machine's clock: also in the future, where the app
  // says it by the minute. 0: it does not say.
  std::int64_t last_us = 0;
};

// The paths that answer, in the order in which they are asked; none: AppSpec::activity is "".
std::vector<std::string> activity_paths(const AppSpec& app);
// What the bodies of the answers mean. Errors: bad_answer.
Result<AppWord> read_app_word(const AppSpec& app, const std::vector<std::string>& bodies);
// The body of an answer to a GET; of anything but 200 an error: bad_answer.
Result<std::string> body_of_answer(std::string_view answer);

// REQUIRES: a side thread. Errors: those above, of the connection, and kTimeout.
Result<AppWord> ask_app(const AppSpec& app, const ForwardTarget& target,
                        std::chrono::milliseconds limit);

}  // namespace dove::agent
