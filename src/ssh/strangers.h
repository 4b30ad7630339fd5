// Strangers: how many connections there are, and how many of them have not yet signed in.
//
// Pure. One thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace dove::ssh {

class Strangers {
 public:
  struct Limits {
    std::size_t connections = 1000;
    std::size_t strangers = 100;
    std::size_t of_address = 10;
  };
  explicit Strangers(Limits limits) : limits_(limits) {}

  // Whether another one of that address is taken now; it is counted then.
  bool come(const std::string& address) {
    const auto found = by_address_.find(address);
    const std::size_t own = found == by_address_.end() ? 0 : found->second;
    if (all_ >= limits_.connections || strangers_ >= limits_.strangers ||
        own >= limits_.of_address) {
      return false;
    }
    ++all_;
    ++strangers_;
    ++by_address_[address];
    return true;
  }
  // It is no stranger any more.
  void signed_in(const std::string& address) {
    --strangers_;
    if (--by_address_[address] == 0) by_address_.erase(address);
  }
  void gone(const std::string& address, bool was_signed_in) {
    if (!was_signed_in) signed_in(address);
    --all_;
  }
  std::size_t all() const { return all_; }

 private:
  const Limits limits_;
  std::size_t all_ = 0;
  std::size_t strangers_ = 0;
  std::map<std::string, std::size_t> by_address_;  // of strangers
};

}  // namespace dove::ssh
