#include "agent/session/task_offer.h"

namespace dove::agent {

protocol::Offer offer_message(const TaskOffer& offer) {
  protocol::Offer message;
  message.limits_memory = offer.limits_memory;
  message.gives_secrets = true;
  if (!offer.containers) return message;
  message.containers = protocol::ContainerOffer{
      offer.containers->pulls, offer.containers->images.is_whole, offer.containers->images.names};
  return message;
}

}  // namespace dove::agent
