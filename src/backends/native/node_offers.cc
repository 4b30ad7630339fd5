#include "backends/native/node_offers.h"

namespace dove::backends {

std::optional<NodeOffer> offer_of(const std::optional<protocol::Offer>& said) {
  if (!said.has_value()) return std::nullopt;
  NodeOffer offer;
  offer.limits_memory = said->limits_memory;
  offer.gives_secrets = said->gives_secrets;
  offer.has_containers = said->containers.has_value();
  if (!said->containers.has_value()) return offer;
  offer.pulls = said->containers->pulls;
  offer.names_all = said->containers->names_all;
  offer.images = said->containers->images;
  return offer;
}

}  // namespace dove::backends
