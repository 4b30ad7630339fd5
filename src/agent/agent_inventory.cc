// What the agent says of its node, and what follows here when that changes.
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/agent.h"
#include "agent/devices/direct_storage.h"
#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::agent {

void Agent::set_fabric(devices::Fabric fabric) {
  fabric_ = std::move(fabric);
  look_at_networks();
  const std::string text = cufile_config(fabric_, options_.planes, addresses_of);
  if (text == cufile_text_ || !options_.keeps_records) return;
  Result<std::string> written = write_cufile_config(options_.data_dir + "/cufile.json", text);
  if (!written.ok()) {
    telemetry::log(telemetry::Level::kWarning, "cufile", {{"why", written.error().message}});
    return;
  }
  cufile_text_ = text;
  facts_.cufile = *written;
}

void Agent::set_inventory(Inventory inventory) {
  inventory.has_overlay = inventory_.has_overlay;
  if (inventory != inventory_) {
    inventory_ = std::move(inventory);
    ++inventory_version_;
    flush_reports();
  }
  allocator_.look(inventory_);
  look_at_networks();
}

void Agent::set_offer(TaskOffer offer) {
  if (options_.offer == offer) return;
  options_.offer = std::move(offer);
  ++inventory_version_;
  flush_reports();
}

bool Agent::offers_networks() const {
  return options_.networks != NetworkRule::kHost && options_.network_offer &&
         options_.network_offer().shortfall.empty();
}

void Agent::look_at_networks() {
  const NetworkOffer offer = options_.network_offer ? options_.network_offer() : NetworkOffer();
  facts_.gang_url = offer.controller_url;
  std::string not_enforced = options_.not_enforced;
  if (!offer.shortfall.empty() && options_.networks != NetworkRule::kHost) {
    not_enforced += (not_enforced.empty() ? "" : "; ") + offer.shortfall;
  }
  const bool has_overlay = offer.has_overlay && offers_networks() && fabric_.cards.empty();
  if (not_enforced == not_enforced_ && has_overlay == inventory_.has_overlay) return;
  not_enforced_ = std::move(not_enforced);
  inventory_.has_overlay = has_overlay;
  ++inventory_version_;
  flush_reports();
}

}  // namespace dove::agent
