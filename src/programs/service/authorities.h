// Authorities: the cluster's authority on disk, and the one that is to follow it.
//
// DATA/ca.pem and DATA/ca.key (0600) are the authority, ca.next.pem and ca.next.key the next one,
// from `dove ca rotate` to its --finish; ca.followed names the nodes that have a certificate of the
// next one by now, in kept lines (files/kept_lines.h). Where controllers share a log, ca.shared is
// of server/shared_authorities.h. Each change leaves, at every instant, files that a server can
// start with.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/tls/authority.h"

namespace dove::programs {

struct Authorities {
  wire::Authority shown;
  std::optional<wire::Authority> next;

  // Certificates of all that are to be believed.
  std::string believed_pem() const;
};

// The authority is made when there is none yet. Errors name the file and the remedy; kCorrupt: one
// was damaged.
Result<Authorities> open_authorities(const std::string& data_dir, const std::string& name);
Result<wire::Authority> open_authority(const std::string& data_dir, const std::string& name);
// What is wrong with those that are there; nothing is written.
std::vector<Error> damages_of_authorities(const std::string& data_dir);
// Makes the next one, which begins after the present one in any case. Error kConflict: there is one
// already.
Result<wire::Authority> begin_rotation(const std::string& data_dir, const std::string& name,
                                       std::int64_t now_s);
// The next one takes the place of the present one. Error kNotFound: there is none.
Result<void> finish_rotation(const std::string& data_dir);

// Another controller's take the place of those that are there. REQUIRES: some are.
Result<void> take_authorities(const std::string& data_dir, const wire::Authority& shown,
                              const std::optional<wire::Authority>& next);

// The files of both, which may be missing.
std::vector<std::string> authority_files(const std::string& data_dir);

// Nodes with a certificate of the authority with that digest.
std::set<std::string> followers(const std::string& data_dir, const std::string& digest);
void add_follower(const std::string& data_dir, const std::string& digest, const std::string& node);

}  // namespace dove::programs
