// Entry tokens: what the proxy holds for a browser that was let in to the app of a job.
//
// A token says for whom, to which job and until when, and a seal over it that only this server can
// make: nothing of it is kept here, and it outlives a restart. Whether it is still good is looked
// at with each call. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/ids.h"
#include "model/time.h"

namespace dove::listener {

struct Entry {
  JobId job;
  std::string user;
  std::string key;       // that they showed; "": none. The entry ends with it.
  bool is_root = false;  // the administrator's token was shown
  Instant ends;
};

// Begins as one: it is no other kind of token.
bool is_entry_token(std::string_view token);
std::string write_entry_token(const Entry& entry, std::string_view seal_key);
// None: it was not written with this key.
std::optional<Entry> read_entry_token(std::string_view token, std::string_view seal_key);

}  // namespace dove::listener
