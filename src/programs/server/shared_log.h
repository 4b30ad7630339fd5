// The log that several controllers share: how it is opened, and what they must have in common.
//
// Their data directories hold the same keys (secret, identity.pem): with others a controller could
// not verify what agents and people show. The log remembers a digest of them, so that a wrong
// directory is found at its start and not when it is to take over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "notices/place.h"
#include "programs/server/server_settings.h"
#include "programs/server/shared_authorities.h"
#include "store/postgres/postgres_store.h"

namespace dove::programs {

// Waits for nobody: `store_unreachable` is for the caller. `keys_differ` names the files.
Result<std::unique_ptr<store::PostgresStore>> open_shared(const ServerSettings& settings);
// The first controller's keys become those of the log. REQUIRES: the data directory is complete.
Result<void> agree_on_keys(store::PostgresStore& store, const std::string& data_dir);
// Whether the log's controllers have agreed on the keys in that directory; false too where that
// cannot be known now.
bool agrees_on_keys(store::PostgresStore& store, const std::string& data_dir);
// What the log's controllers keep in it of the notices that they send; one that led before they did
// has its file in the directory. `store` outlives it.
notices::Place shared_notices(store::PostgresStore& store, const std::string& data_dir);
// Where the leader keeps the cluster's authorities, sealed, for the other controllers. Likewise.
SharedAuthorities::Place shared_authorities(store::PostgresStore& store);
// "gpu-head:7717", for people.
std::string name_of_this(const ServerSettings& settings);
// Where the API is when it listens on `port`.
std::string url_of(const ServerSettings& settings, std::uint16_t port);
// Writes it to the directory, for commands on this machine, unless it is there. A full disk is no
// reason not to lead: a failure is only logged.
void keep_url(const std::string& data_dir, const std::string& url);
// The last term in which a controller led with this directory; 0: none, or it is of a former
// version, which does not keep it.
std::uint64_t own_term(const std::string& data_dir);
Result<void> keep_own_term(const std::string& data_dir, std::uint64_t epoch);

}  // namespace dove::programs
