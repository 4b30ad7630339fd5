// Idempotency keys of submissions, by principal: which jobs a key and body led to.
//
// A fold of the log's JobSubmitted events like the state, and kept in snapshots beside it, so an
// answer is repeated across restarts. Entries go after 24 hours, or when there are too many, oldest
// first. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/event.h"

namespace dove::controller {

class Idempotency {
 public:
  struct Entry {
    std::string body_sha256;
    JobId first_job;
    std::int32_t jobs = 0;
    Instant at;
    // What the submission was warned of. None: it came after the snapshot that was begun with.
    std::optional<std::vector<std::string>> warnings;
  };
  static constexpr std::size_t kEntriesMax = 100'000;

  // nullptr when the cause has no key, or it is new.
  const Entry* find(const Cause& cause) const;
  // Does nothing when the cause has no key.
  void remember(const Cause& cause, Entry entry);
  // Adds what is not in the log to the entry, if there is one.
  void keep_warnings(const Cause& cause, const std::vector<std::string>& warnings);

  void encode(std::string& out) const;
  // Apart, and later: controllers of the former version read a snapshot without them.
  void encode_warnings(std::string& out) const;
  Result<void> decode(std::string_view bytes);
  // REQUIRES: the keys of the same snapshot were decoded.
  Result<void> decode_warnings(std::string_view bytes);
  std::size_t size() const { return entries_.size(); }

 private:
  using Key = std::pair<std::string, std::string>;  // principal, key
  void forget_old(Instant now);

  std::map<Key, Entry> entries_;
  std::deque<Key> oldest_first_;
};

}  // namespace dove::controller
