// Shares: how much of a server's limited resource each party has. Loop thread only.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

namespace dove::wire {

class Stream;

// Whose a connection is, as limits count: a certificate's, a user's of the Unix socket, or a
// network's (address.h); "" is this machine, which has no limit.
std::string party_of(const Stream& stream);

class Shares {
 public:
  // One more; false, and it does not count, when the party has `most`.
  bool enter(const std::string& party, std::size_t most);
  void leave(const std::string& party);
  std::size_t count(const std::string& party) const;

 private:
  std::unordered_map<std::string, std::size_t> counts_;
};

}  // namespace dove::wire
