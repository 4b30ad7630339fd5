// What agents report about their nodes' containers and limits (api/agent-protocol.md, `offers`).
#pragma once

#include <optional>

#include "backends/node_offer.h"
#include "protocol/session.h"

namespace dove::backends {

std::optional<NodeOffer> offer_of(const std::optional<protocol::Offer>& said);

}  // namespace dove::backends
