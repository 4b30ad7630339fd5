// Maps an issuer's claims to a person and groups here.
//
// Pure. Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"
#include "openid/provider.h"

namespace dove::server {

struct OpenIdPerson {
  std::string user;
  // What becomes of users and groups, each checked with those before it in force; empty when they
  // are as the claims say.
  std::vector<Event> changes;
  std::vector<std::string> groups_left_out;  // whose names no group here can have
};

// A user is known by the issuer's subject; a name that somebody else has here is never taken over.
// Errors: kUnauthenticated no_user_claim, bad_user_claim, user_disabled; kDenied name_taken,
// user_not_linked, user_unknown; those of core::admit.
Result<OpenIdPerson> open_id_person(const core::State& state, const core::Policies& policies,
                                    const openid::Provider& provider, const nlohmann::json& claims);

}  // namespace dove::server
