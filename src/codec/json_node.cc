// Inventories, placements, exits and findings as JSON.
//
// Readers of what agents and controllers send each other ignore fields they do not know: the two
// may be of different versions.
#include <fmt/format.h>

#include <set>

#include "codec/json.h"
#include "codec/json_health.h"
#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"

namespace dove::codec {
namespace {

constexpr std::size_t kDevicesMax = 1024;
constexpr std::int64_t kSlotsMax = 16;
constexpr std::size_t kLinksMax = 16'384;  // each two of 181 devices
constexpr std::size_t kTasksMax = 100'000;
constexpr std::int64_t kThreadsPerCoreMax = 16;
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

void read_slice_place(JsonFields& fields, SlicePlace& place) {
  fields.integer("start", place.start, 0, kSlotsMax - 1);
  fields.integer("size", place.size, 1, kSlotsMax);
  fields.integer("compute", place.compute, 0, kSlotsMax);
  fields.allow_unknown();
}

void read_cores(JsonFields& fields, CoreSet& cores) {
  std::vector<std::int32_t> ids;
  fields.integers("cores", ids, 0, CoreSet::kEnd - 1, CoreSet::kEnd);
  cores = CoreSet(ids);
  if (cores.size() < ids.size()) fields.fail("cores", "given_twice", "a core is there twice");
}

void read_grants(JsonFields& fields, std::vector<DeviceGrant>& grants) {
  fields.objects("devices", kDevicesMax, [&](JsonFields& inner, std::size_t) {
    DeviceGrant& grant = grants.emplace_back();
    inner.integer("device", grant.device, 0, kDevicesMax - 1);
    inner.integer("share_milli", grant.share_milli, 1, kWholeDevice_milli);
    inner.object("slice", [&](JsonFields& slice) { read_slice_place(slice, grant.slice); });
    inner.allow_unknown();
  });
}

template <class T, class Read>
Result<T> read_lenient(const Json& value, Read read) {
  Failure failure;
  T result;
  JsonFields fields(value, "", failure);
  read(fields, result);
  if (failure.any()) return failure.error();
  return result;
}

void read_device(JsonFields& fields, Device& v) {
  fields.text("kind", v.kind);
  fields.text("vendor", v.vendor);
  fields.text("model", v.model);
  fields.text("uuid", v.uuid);
  fields.bytes("memory", v.memory_bytes);
  fields.integer("numa_node", v.numa_node, -1, 1023);
  fields.allow_unknown();
}

void check_inventory(JsonFields& fields, const Inventory& v) {
  CoreSet cores;
  for (const NumaNode& numa : v.numa) {
    const CoreSet again = cores & numa.cores;
    if (!again.empty()) {
      return fields.fail("numa", "given_twice",
                         fmt::format("core {} is there twice", *again.begin()));
    }
    cores |= numa.cores;
  }
  if (v.thread_order.size() % static_cast<std::size_t>(v.threads_per_core) != 0 ||
      CoreSet(v.thread_order).size() != v.thread_order.size()) {
    return fields.fail("thread_order", "bad_value",
                       "must name each thread once, and as many of each core");
  }
  const auto devices = static_cast<std::int32_t>(v.devices.size());
  for (const Link& link : v.links) {
    if (link.device_a < devices && link.device_b < devices) continue;
    return fields.fail("links", "bad_value", "a link names a device that is not there");
  }
}

}  // namespace

Json device_json(const Device& device) {
  return {{"kind", device.kind},
          {"vendor", device.vendor},
          {"model", device.model},
          {"uuid", device.uuid},
          {"memory_bytes", device.memory_bytes},
          {"numa_node", device.numa_node}};
}

Json grants_json(const std::vector<DeviceGrant>& grants) {
  Json list = Json::array();
  for (const DeviceGrant& grant : grants) {
    Json one{{"device", grant.device}, {"share_milli", grant.share_milli}};
    if (grant.is_slice()) {
      one["slice"] = {{"start", grant.slice.start},
                      {"size", grant.slice.size},
                      {"compute", grant.slice.compute}};
    }
    list.push_back(std::move(one));
  }
  return list;
}

Result<std::vector<DeviceGrant>> read_grants(const Json& list) {
  return read_lenient<std::vector<DeviceGrant>>(
      Json{{"devices", list}},
      [](JsonFields& fields, std::vector<DeviceGrant>& v) { read_grants(fields, v); });
}

Json placement_json(const Placement& v) {
  Json tasks = Json::array();
  for (const TaskGrant& task : v.tasks) {
    tasks.push_back({{"rank", task.rank},
                     {"group", task.group},
                     {"local_rank", task.local_rank},
                     {"cores", task.cores.ids()},
                     {"devices", grants_json(task.devices)}});
  }
  return {{"node", v.node.value},           {"node_rank", v.node_rank},
          {"cores", v.cores.ids()},         {"devices", grants_json(v.devices)},
          {"memory_bytes", v.memory_bytes}, {"countables", countables_json(v.countables)},
          {"tasks", std::move(tasks)}};
}

Result<Placement> read_placement(const Json& value) {
  return read_lenient<Placement>(value, [](JsonFields& fields, Placement& v) {
    std::int64_t node = 0;
    fields.integer("node", node, 0, std::numeric_limits<std::uint32_t>::max());
    v.node = NodeId{static_cast<std::uint32_t>(node)};
    fields.integer("node_rank", v.node_rank, 0, kInt32Max);
    read_cores(fields, v.cores);
    read_grants(fields, v.devices);
    fields.bytes("memory", v.memory_bytes);
    fields.countables("countables", v.countables);
    fields.objects("tasks", kTasksMax, [&](JsonFields& inner, std::size_t) {
      TaskGrant& task = v.tasks.emplace_back();
      std::int64_t rank = 0;
      inner.integer("rank", rank, 0, std::numeric_limits<Rank>::max());
      task.rank = static_cast<Rank>(rank);
      inner.integer("group", task.group, 0, kInt32Max);
      inner.integer("local_rank", task.local_rank, 0, kInt32Max);
      read_cores(inner, task.cores);
      read_grants(inner, task.devices);
      inner.allow_unknown();
    });
  });
}

Json inventory_json(const Inventory& v) {
  Json numa = Json::array();
  for (const NumaNode& one : v.numa) {
    numa.push_back({{"cores", one.cores.ids()}, {"memory_bytes", one.memory_bytes}});
  }
  Json devices = Json::array();
  for (const Device& device : v.devices) devices.push_back(device_json(device));
  Json links = Json::array();
  for (const Link& link : v.links) {
    links.push_back(
        {{"device_a", link.device_a}, {"device_b", link.device_b}, {"kind", link.kind}});
  }
  Json object{{"numa", std::move(numa)},        {"devices", std::move(devices)},
              {"links", std::move(links)},      {"countables", countables_json(v.countables)},
              {"memory_bytes", v.memory_bytes}, {"has_overlay", v.has_overlay}};
  if (!v.thread_order.empty()) {
    object["thread_order"] = v.thread_order;
    object["threads_per_core"] = v.threads_per_core;
  }
  return object;
}

Result<Inventory> read_inventory(const Json& value) {
  return read_lenient<Inventory>(value, [](JsonFields& fields, Inventory& v) {
    fields.objects("numa", 1024, [&](JsonFields& inner, std::size_t) {
      NumaNode& numa = v.numa.emplace_back();
      read_cores(inner, numa.cores);
      inner.bytes("memory", numa.memory_bytes);
      inner.allow_unknown();
    });
    fields.objects("devices", kDevicesMax, [&](JsonFields& inner, std::size_t) {
      read_device(inner, v.devices.emplace_back());
    });
    fields.objects("links", kLinksMax, [&](JsonFields& inner, std::size_t) {
      Link& link = v.links.emplace_back();
      inner.integer("device_a", link.device_a, 0, kDevicesMax - 1);
      inner.integer("device_b", link.device_b, 0, kDevicesMax - 1);
      inner.text("kind", link.kind);
      inner.allow_unknown();
    });
    fields.countables("countables", v.countables);
    fields.bytes("memory", v.memory_bytes);
    fields.boolean("has_overlay", v.has_overlay);
    fields.integers("thread_order", v.thread_order, 0, CoreSet::kEnd - 1, CoreSet::kEnd);
    fields.integer("threads_per_core", v.threads_per_core, 1, kThreadsPerCoreMax);
    check_inventory(fields, v);
  });
}

Json task_exit_json(const TaskExit& v) {
  return {{"rank", v.rank}, {"exit_code", v.exit_code}, {"signal", v.signal}, {"cause", v.cause}};
}

Result<TaskExit> read_task_exit(const Json& value) {
  return read_lenient<TaskExit>(value, [](JsonFields& fields, TaskExit& v) {
    std::int64_t rank = 0;
    fields.integer("rank", rank, 0, std::numeric_limits<Rank>::max());
    v.rank = static_cast<Rank>(rank);
    fields.integer("exit_code", v.exit_code, std::numeric_limits<std::int32_t>::min(), kInt32Max);
    fields.integer("signal", v.signal, 0, 255);
    fields.text("cause", v.cause, {4096, TextRule::Kind::kAny});
  });
}

Json finding_json(const Finding& v) {
  return {{"check", v.check},
          {"severity", word(v.severity)},
          {"remedy", word(v.remedy)},
          {"device", v.device < 0 ? Json(nullptr) : Json(v.device)},
          {"evidence", v.evidence}};
}

Finding read_finding_fields(JsonFields& fields) {
  Finding v;
  fields.text("check", v.check, {64, TextRule::Kind::kLine});
  if (v.check.empty()) fields.fail("check", "missing_field", "name the check");
  const int severity = fields.one_of("severity", severities());
  if (severity >= 0) v.severity = static_cast<Severity>(severity);
  const int remedy = fields.one_of("remedy", remedies());
  if (remedy >= 0) v.remedy = static_cast<Remedy>(remedy);
  fields.integer("device", v.device, -1, kDevicesMax - 1);
  fields.text("evidence", v.evidence, {1024, TextRule::Kind::kLine});
  return v;
}

Result<Finding> read_finding(const Json& value) {
  return read_lenient<Finding>(value, [](JsonFields& fields, Finding& v) {
    v = read_finding_fields(fields);
    fields.allow_unknown();
  });
}

Json topology_json(const std::vector<TopologyUnit>& topology) {
  Json units = Json::array();
  for (const TopologyUnit& unit : topology) {
    units.push_back({{"level", unit.level}, {"name", unit.name}});
  }
  return units;
}

Json foreign_json(const ForeignAllocation& v) {
  Json object{{"id", v.id},
              {"cores", v.cores.ids()},
              {"devices", v.devices},
              {"memory_bytes", v.memory_bytes},
              {"user", v.user},
              {"account", v.account},
              {"name", v.name},
              {"partition", v.partition},
              {"priority", v.priority},
              {"may_requeue", v.may_requeue}};
  put_instant(object, "started_at", v.started_at);
  put_instant(object, "ends_by", v.ends_by);
  return object;
}

}  // namespace dove::codec
