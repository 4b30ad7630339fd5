// Refusals: which calls were refused to whom, for the log, from where auditors read it.
//
// Equal ones are counted and written down together, a few seconds later, so that whoever knocks
// without end costs the log next to nothing. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "accounts/caller.h"
#include "base/result.h"
#include "model/event.h"
#include "wire/loop.h"

namespace dove::listener {

class Refusals {
 public:
  // `write` is called on the loop, for each record.
  Refusals(wire::Loop& loop, std::function<void(Event)> write)
      : loop_(loop), write_(std::move(write)) {}

  // Errors that are no refusals are passed over; so is a call with no token at all.
  void note(const accounts::Caller& caller, std::string_view address, std::string_view operation,
            const Error& why);
  // Writes down what was counted.
  void flush();

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;

  wire::Loop& loop_;
  std::function<void(Event)> write_;
  std::map<Key, std::int64_t> times_;  // by who, address, operation, code
  wire::Timer timer_;
};

}  // namespace dove::listener
