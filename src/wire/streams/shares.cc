#include "wire/streams/shares.h"

#include "wire/address.h"
#include "wire/stream.h"

namespace dove::wire {

std::string party_of(const Stream& stream) {
  std::string party = stream.peer_identity();
  if (party.empty()) party = network_of(stream.peer_address());
  return party.starts_with("127.") || party == "::1" ? "" : party;
}

bool Shares::enter(const std::string& party, std::size_t most) {
  if (party.empty()) return true;
  std::size_t& count = counts_[party];
  if (count >= most) return false;
  ++count;
  return true;
}

void Shares::leave(const std::string& party) {
  const auto found = counts_.find(party);
  if (found != counts_.end() && --found->second == 0) counts_.erase(found);
}

std::size_t Shares::count(const std::string& party) const {
  const auto found = counts_.find(party);
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace dove::wire
