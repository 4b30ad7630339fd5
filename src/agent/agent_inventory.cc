// What the agent says of its node, and what follows here when that changes.
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/agent.h"
#include "agent/direct_storage.h"
#include "codec/json.h"
#include "telemetry/log.h"

namespace dove::agent {

void Agent::set_fabric(devices::Fabric fabric) {
  fabric_ = std::move(fabric);
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
  if (inventory != inventory_) {
    inventory_ = std::move(inventory);
    inventory_text_.clear();
    ++inventory_version_;
    flush_reports();
  }
  allocator_.look(inventory_);
}

const std::string& Agent::inventory_text() {
  std::string& text = inventory_text_;
  if (text.empty()) text = codec::dump_json(codec::inventory_json(inventory_));
  return text;
}

}  // namespace dove::agent
