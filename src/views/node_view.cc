// Nodes as the API shows them.
#include "views/node_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_health.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "core/nodes/contact.h"
#include "core/nodes/maintenance.h"
#include "core/place/fit.h"
#include "core/state/executors/foreign.h"
#include "core/state/executors/foreign_use.h"
#include "views/state_words.h"

namespace dove::views {
namespace {

using codec::Json;
using codec::put_instant;
using codec::word;

Json slots_json(core::SlotSet slots) {
  Json list = Json::array();
  for (int slot = 0; slots >> slot != 0; ++slot) {
    if ((slots >> slot & 1) != 0) list.push_back(slot);
  }
  return list;
}

// By profile, how many slices would still fit on the node, each profile alone.
Json slices_free_json(const core::Node& node) {
  Json free = Json::object();
  for (const Device& device : node.inventory->devices) {
    const core::SliceTable* table = core::slice_table(device);
    if (table == nullptr) continue;
    for (const core::SliceProfile& profile : table->profiles) {
      const std::string name(profile.name);
      if (free.contains(name)) continue;
      Request request;
      request.slice = name;
      request.slices = 1;
      free[name] = core::device_capacity(core::view_of(node).devices(), request,
                                         std::numeric_limits<std::int32_t>::max());
    }
  }
  return free;
}

std::int32_t free_milli_of(const core::Node& node, std::size_t device) {
  return device < node.device_free_milli.size() ? node.device_free_milli[device]
                                                : kWholeDevice_milli;
}

void put_amounts(Json& object, const core::Node& node) {
  const Inventory& inventory = *node.inventory;
  std::size_t cores = 0;
  for (const NumaNode& numa : inventory.numa) cores += numa.cores.size();
  object["cores"] = cores;
  object["cores_free"] = node.cores_free.size();
  object["cores_reserved"] = node.declared.cores_reserved;
  object["memory_bytes"] = inventory.memory_bytes;
  // An executor's own work may overlap with what was given here, until one of the two gives way.
  object["memory_free_bytes"] = std::max<std::int64_t>(node.memory_free_bytes, 0);
  object["gpus"] = inventory.devices.size();
  std::int64_t free_milli = 0;
  std::size_t whole = 0;
  Json devices = Json::array();
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    const std::int32_t milli = free_milli_of(node, i);
    free_milli += milli;
    whole += milli == kWholeDevice_milli ? 1 : 0;
    Json device = codec::device_json(inventory.devices[i]);
    device["id"] = i;
    device["free_milli"] = milli;
    if (core::is_sliced(node.slots_taken, i))
      device["slots_taken"] = slots_json(node.slots_taken[i]);
    devices.push_back(std::move(device));
  }
  object["gpus_free"] = whole;
  object["gpus_free_milli"] = free_milli;
  object["gpu_model"] = inventory.devices.empty() ? "" : inventory.devices[0].model;
  object["devices"] = std::move(devices);
  if (!node.slots_taken.empty()) object["slices_free"] = slices_free_json(node);
}

// With the queue of ours in whose use it counts, where its account stands for one.
void put_queue(Json& object, const core::State& state, const core::NodeExecutor& executor,
               const ForeignAllocation& one) {
  const std::string* queue = core::queue_of(state, executor.name, one.account);
  if (queue != nullptr) object["queue"] = *queue;
}

Json executors_json(const core::State& state, const core::Node& node) {
  Json executors = Json::array();
  for (const core::NodeExecutor& executor : node.executors) {
    Json foreign = Json::array();
    for (const ForeignAllocation& one : executor.foreign) {
      Json object = codec::foreign_json(one);
      put_queue(object, state, executor, one);
      foreign.push_back(std::move(object));
    }
    executors.push_back({{"name", executor.name},
                         {"contact", word(executor.contact)},
                         {"state", word(executor.state)},
                         {"why", executor.why},
                         {"features", executor.features},
                         {"closes", core::closes_node(executor)},
                         {"foreign", std::move(foreign)}});
  }
  return executors;
}

// Those that hold devices now.
Json device_holders_json(const core::State& state, const core::Node& node) {
  Json holders = Json::array();
  core::each_foreign(node, [&](const core::NodeExecutor& executor, const ForeignAllocation& one) {
    if (one.devices.empty()) return;
    Json object = {{"executor", executor.name},
                   {"id", one.id},
                   {"user", one.user},
                   {"partition", one.partition},
                   {"devices", one.devices}};
    put_queue(object, state, executor, one);
    holders.push_back(std::move(object));
  });
  return holders;
}

Json findings_json(const core::Node& node) {
  Json findings = Json::array();
  for (const core::OpenFinding& open : node.findings) {
    Json one = codec::finding_json(open.finding);
    put_instant(one, "since", open.since);
    findings.push_back(std::move(one));
  }
  return findings;
}

Json jobs_json(const core::Node& node) {
  Json jobs = Json::array();
  for (const JobId job : node.jobs) jobs.push_back(job.value);
  return jobs;
}

void put_life(Json& object, const core::Node& node) {
  object["life"] = word(node.life);
  put_instant(object, "life_since", node.life_since);
  object["life_why"] = node.life_why;
  object["life_who"] = node.life_who;
  object["remedy"] = word(node.remedy);
  object["findings"] = findings_json(node);
  object["faults"] = node.faults.size();
  if (node.request.action == NodeAction::kNone) return;
  object["request"] = {{"action", word(node.request.action)},
                       {"now", node.request.now},
                       {"why", node.request.why},
                       {"who", node.request.who}};
  put_instant(object["request"], "by", node.request.by);
}

}  // namespace

std::string node_name(const core::State& state, NodeId id) {
  if (state.nodes.holds(id)) return state.nodes[id].name;
  return fmt::format("node {}", id.value);
}

Json node_json(const core::State& state, const core::Node& node) {
  Json object{{"id", node.id.value},
              {"name", node.name},
              {"state", state_word(node)},
              {"contact", word(node.contact)},
              {"backend", node.backend},
              {"address", node.address},
              {"boot_id", node.boot_id},
              {"removed", node.removed},
              {"drained", node.declared.drained},
              {"drain_reason", node.declared.drain_reason},
              {"features", core::features_of(node)},
              {"labels", node.declared.labels},
              {"topology", codec::topology_json(node.declared.topology)}};
  put_instant(object, "contact_since", node.contact_since);
  const Instant lost = core::lost_at(state, node);
  put_instant(object, "lost_at", lost == kNever ? Instant{} : lost);
  put_life(object, node);
  if (const auto unit = core::blamed_unit(state, node)) {
    object["unit_suspected"] = unit->level + " " + unit->name;
  }
  object["jobs"] = jobs_json(node);
  if (!node.executors.empty()) object["executors"] = executors_json(state, node);
  object["countables_free"] = codec::countables_json(node.countables_free);
  if (node.inventory == nullptr) return object;
  put_amounts(object, node);
  const Json inventory = codec::inventory_json(*node.inventory);
  object["numa"] = inventory.at("numa");
  object["links"] = inventory.at("links");
  Json countables = inventory.at("countables");
  for (const Countable& added : node.declared.countables) {
    countables[added.name] = countables.value(added.name, std::int64_t{0}) + added.amount;
  }
  object["countables"] = std::move(countables);
  return object;
}

Json node_brief_json(const core::State& state, const core::Node& node,
                     const std::map<std::int32_t, std::int32_t>& use) {
  Json free = Json::array();
  const std::size_t gpus = node.inventory == nullptr ? 0 : node.inventory->devices.size();
  for (std::size_t i = 0; i < gpus; ++i) free.push_back(free_milli_of(node, i));
  Json object = {{"id", node.id.value},
                 {"name", node.name},
                 {"state", state_word(node)},
                 {"topology", codec::topology_json(node.declared.topology)},
                 {"findings", findings_json(node)},
                 {"jobs", jobs_json(node)},
                 {"gpu_model", gpus == 0 ? "" : node.inventory->devices[0].model},
                 {"devices_free_milli", std::move(free)}};
  Json holders = device_holders_json(state, node);
  if (!holders.empty()) object["foreign"] = std::move(holders);
  if (use.empty()) return object;
  Json percents = Json::array();
  for (std::size_t i = 0; i < gpus; ++i) {
    const auto known = use.find(static_cast<std::int32_t>(i));
    percents.push_back(known == use.end() ? Json(nullptr) : Json(known->second / 100.0));
  }
  object["devices_use_percent"] = std::move(percents);
  return object;
}

}  // namespace dove::views
