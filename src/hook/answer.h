// What passes between the server and a hook: one JSON document each way.
//
// Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::hook {

struct Question {
  std::string user;  // as they typed it
  std::string password;
  std::string address;  // that they call from
};

// Whom a hook lets in.
struct Person {
  std::string user;        // their name here
  std::string id;          // that nobody else will ever have there; "": the name is all there is
  std::string linux_user;  // that a new user's tasks run as; "": it says nothing
  std::optional<std::vector<std::string>> groups;  // unset: it says nothing
};

// Whom a hook lets in: ask() of ask.h, or what a test has in its place.
using Ask = std::function<Result<Person>(Question question)>;

inline constexpr std::size_t kAnswerBytesMax = 64 << 10;

// It holds the password: wipe it.
std::string question_text(const Question& question);

// Errors: kUnauthenticated refused, with the hook's own reason; kUnavailable hook_failed, with what
// is wrong with the answer. The text itself is in neither.
Result<Person> read_answer(std::string_view text);

// What a hook said, for a log: its first line, or nothing if there is a trace of the password in
// it.
std::string quiet(std::string_view said, const std::string& password);

}  // namespace dove::hook
