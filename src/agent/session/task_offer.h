// TaskOffer: what tasks may have on this node beyond its inventory, as the agent reports it to the
// controller (api/agent-protocol.md, `offers`).
#pragma once

#include <optional>

#include "containers/image_list.h"
#include "protocol/session.h"

namespace dove::agent {

struct ContainerOffer {
  bool pulls = false;
  containers::ImageList images;
  bool operator==(const ContainerOffer&) const = default;
};

struct TaskOffer {
  bool limits_memory = false;
  std::optional<ContainerOffer> containers;  // unset: none run here
  bool operator==(const TaskOffer&) const = default;
};

protocol::Offer offer_message(const TaskOffer& offer);

}  // namespace dove::agent
