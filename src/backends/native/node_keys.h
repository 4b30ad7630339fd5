// A node's token and the key of its certificates: each is useless without the other.
//
// Where the controller has TLS, a token ends with the digest of the key that its node joined with:
// "RANDOM.DIGEST". The ledger knows the SHA-256 of the whole, so nobody can substitute another key.
// A token of a node that named no key (an agent of a former version, or no TLS when it joined) has
// no such end, and any key is certified for it. Loop thread only.
#pragma once

#include <string>

#include "backends/native/agents.h"

namespace dove::backends {

// For a node that joins with the key of that digest; "": it named none.
std::string new_agent_token(const Agents& agents, const std::string& key_digest);

// Answers with a certificate of the caller's node for the request's key, if it is the token's.
void certify_node(Agents& agents, CallPtr call);

}  // namespace dove::backends
