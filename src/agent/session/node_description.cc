#include "agent/session/node_description.h"

#include <utility>

namespace dove::agent {

NodeDescription::NodeDescription(Inventory inventory, Options options)
    : options_(std::move(options)), inventory_(std::move(inventory)) {}

// Whether there is an overlay is not a matter of devices: look_at_networks() alone knows it.
bool NodeDescription::set_inventory(Inventory inventory) {
  inventory.has_overlay = inventory_.has_overlay;
  if (inventory == inventory_) return false;
  inventory_ = std::move(inventory);
  ++version_;
  return true;
}

bool NodeDescription::set_offer(TaskOffer offer) {
  if (options_.offer == offer) return false;
  options_.offer = std::move(offer);
  ++version_;
  return true;
}

bool NodeDescription::offers_networks() const {
  return options_.wants_networks && options_.network_offer &&
         options_.network_offer().shortfall.empty();
}

bool NodeDescription::look_at_networks(bool has_cards) {
  const NetworkOffer offer = options_.network_offer ? options_.network_offer() : NetworkOffer();
  gang_url_ = offer.controller_url;
  std::string not_enforced = options_.not_enforced;
  if (!offer.shortfall.empty() && options_.wants_networks) {
    not_enforced += (not_enforced.empty() ? "" : "; ") + offer.shortfall;
  }
  const bool has_overlay = offer.has_overlay && offers_networks() && !has_cards;
  if (not_enforced == not_enforced_ && has_overlay == inventory_.has_overlay) return false;
  not_enforced_ = std::move(not_enforced);
  inventory_.has_overlay = has_overlay;
  ++version_;
  return true;
}

void NodeDescription::describe(protocol::Sync& sync) const {
  sync.not_enforced = not_enforced_;
  if (options_.offer) sync.offer = offer_message(*options_.offer);
  sync.machine.inventory = inventory_;
}

void NodeDescription::describe(protocol::ReportMessage& message) const {
  message.inventory = inventory_;
  message.not_enforced = not_enforced_;
  if (options_.offer) message.offer = offer_message(*options_.offer);
}

}  // namespace dove::agent
