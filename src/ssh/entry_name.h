// What is before the '@' of `ssh 42@gateway`: a job, and in it a task. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::ssh {

struct EntryName {
  std::string job;   // "42", "42_7" of an array
  std::string task;  // "": rank 0, or the script; "3"; "worker/1"
};

// "42", "42.3", "42_7.worker/1". Error kInvalid bad_ssh_name.
Result<EntryName> read_entry_name(std::string_view text);

// Variables that a client may set: LANG and LC_*, as sshd of Debian takes them. Values are short.
bool may_set(std::string_view name, std::string_view value);

// RFC 4254, 6.9: "TERM" is 15; 0: there is no such signal.
int signal_of(std::string_view name);
// The other way; "" : it has none there.
std::string_view signal_name(int number);

}  // namespace dove::ssh
