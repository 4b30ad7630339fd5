// Requests and task groups as JSON.
#include <fmt/format.h>

#include <array>

#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "codec/words.h"

namespace dove::codec {
namespace {

constexpr std::int64_t kCoresMax = 1'000'000;
constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::int64_t kTasksMax = 100'000;
constexpr std::int64_t kNodesMax = 100'000;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 60;

constexpr std::array<std::string_view, 11> kRequestFields{
    "cores",     "memory",     "memory_bytes",     "gpus",      "share_milli", "slice", "slices",
    "gpu_model", "gpu_memory", "gpu_memory_bytes", "countables"};
constexpr std::string_view kKubernetesSlice = "nvidia.com/mig-";

// "gpus": 2, "2", or a part of one device: "0.5", "500m".
void read_gpus(JsonFields& fields, Request& request) {
  const Json* value = fields.find("gpus");
  if (value == nullptr || !value->is_string()) {
    fields.integer("gpus", request.gpus, 0, kGpusMax);
    return;
  }
  auto milli = parse_milli(value->get_ref<const std::string&>());
  if (!milli.ok()) return fields.failure().set(milli.error(), fields.path_of("gpus"));
  if (*milli > kGpusMax * 1000) {
    return fields.fail("gpus", "out_of_range", fmt::format("over the limit of {}", kGpusMax));
  }
  if (*milli % 1000 == 0) {
    request.gpus = static_cast<std::int32_t>(*milli / 1000);
  } else if (*milli < 1000) {
    request.share_milli = static_cast<std::int32_t>(*milli);
  } else {
    fields.fail("gpus", "bad_value",
                "ask for whole GPUs, or for a part of one (\"0.5\"), not for both");
  }
}

void put_slices(JsonFields& fields, std::string_view name, std::string_view text,
                std::int64_t slices, Request& request) {
  auto slice = parse_slice(text);
  if (!slice.ok()) return fields.failure().set(slice.error(), fields.path_of(name));
  if (request.slices > 0) {
    return fields.fail(name, "given_twice", "ask for slices of one profile, once");
  }
  request.slice = std::move(*slice);
  request.slices = static_cast<std::int32_t>(std::min(slices, kGpusMax + 1));
  if (slices > kGpusMax) {
    fields.fail(name, "out_of_range", fmt::format("over the limit of {}", kGpusMax));
  }
}

// "slice": "1g.10gb" with "slices": 2, or the countable "nvidia.com/mig-1g.10gb": 2.
void read_slices(JsonFields& fields, Request& request) {
  std::string text;
  std::int32_t slices = 1;
  fields.text("slice", text, {64, TextRule::Kind::kLine});
  const bool counted = fields.has("slices");
  fields.integer("slices", slices, 1, kGpusMax);
  if (text.empty() && counted) {
    return fields.fail("slices", "bad_value", R"(name their profile: "slice": "1g.10gb")");
  }
  if (!text.empty()) put_slices(fields, "slice", text, slices, request);
  for (const Countable& one : request.countables) {
    if (!one.name.starts_with(kKubernetesSlice) || one.amount == 0) continue;
    put_slices(fields, "countables", one.name, one.amount, request);
  }
  std::erase_if(request.countables,
                [](const Countable& one) { return one.name.starts_with(kKubernetesSlice); });
}

void check_bytes(JsonFields& fields, std::string_view name, std::int64_t bytes) {
  if (bytes > kBytesMax) fields.fail(name, "out_of_range", "over the limit of 1 EiB");
}

void read_nodes(JsonFields& fields, TaskGroup& group) {
  const Json* nodes = fields.find("nodes");
  fields.integer("nodes_min", group.nodes_min, 0, kNodesMax);
  fields.integer("nodes_max", group.nodes_max, 0, kNodesMax);
  if (nodes == nullptr) return;
  if (nodes->is_string()) {
    const auto& text = nodes->get_ref<const std::string&>();
    const std::size_t dash = text.find('-');
    auto low = parse_milli(text.substr(0, dash));
    auto high = dash == std::string::npos ? low : parse_milli(text.substr(dash + 1));
    if (!low.ok() || !high.ok() || *low % 1000 != 0 || *high % 1000 != 0 || *low > *high ||
        *high > kNodesMax * 1000) {
      return fields.fail("nodes", "bad_value", R"(write a number, or a range as in "2-4")");
    }
    group.nodes_min = static_cast<std::int32_t>(*low / 1000);
    group.nodes_max = static_cast<std::int32_t>(*high / 1000);
    return;
  }
  fields.integer("nodes", group.nodes_min, 0, kNodesMax);
  group.nodes_max = group.nodes_min;
}

void check_group(JsonFields& fields, const TaskGroup& group) {
  if (group.nodes_max > 0 && group.nodes_max < group.nodes_min) {
    fields.fail(
        "nodes_max", "bad_value",
        fmt::format("nodes_max {} is less than nodes_min {}", group.nodes_max, group.nodes_min));
  }
  if (group.nodes_min > group.tasks) {
    fields.fail("tasks", "bad_value",
                fmt::format("{} tasks cannot spread over {} nodes: ask for at least as many tasks "
                            "as nodes",
                            group.tasks, group.nodes_min));
  }
  if (group.tasks_per_node > 0 && group.tasks % group.tasks_per_node != 0) {
    fields.fail("tasks_per_node", "bad_value",
                fmt::format("{} tasks cannot be {} on each node: make tasks a multiple",
                            group.tasks, group.tasks_per_node));
  }
  if (group.tasks_per_node > 0 && group.nodes_min > 0 &&
      static_cast<std::int64_t>(group.tasks_per_node) * group.nodes_min > group.tasks) {
    fields.fail("tasks_per_node", "bad_value",
                fmt::format("{} tasks on each of {} nodes are more than {} tasks",
                            group.tasks_per_node, group.nodes_min, group.tasks));
  }
}

}  // namespace

Json countables_json(const std::vector<Countable>& countables) {
  Json object = Json::object();
  for (const Countable& countable : countables) object[countable.name] = countable.amount;
  return object;
}

Json request_json(const Request& v) {
  Json object{{"cores", v.cores}};
  if (v.memory_bytes != 0) object["memory_bytes"] = v.memory_bytes;
  if (v.gpus != 0) object["gpus"] = v.gpus;
  if (v.share_milli != 0) object["share_milli"] = v.share_milli;
  if (v.slices != 0) object["slice"] = v.slice;
  if (v.slices != 0) object["slices"] = v.slices;
  if (!v.gpu_model.empty()) object["gpu_model"] = v.gpu_model;
  if (v.gpu_memory_bytes != 0) object["gpu_memory_bytes"] = v.gpu_memory_bytes;
  if (!v.countables.empty()) object["countables"] = countables_json(v.countables);
  return object;
}

void read_request(JsonFields& fields, Request& v) {
  fields.whole("cores", v.cores, kCoresMax);
  fields.bytes("memory", v.memory_bytes);
  check_bytes(fields, "memory", v.memory_bytes);
  fields.integer("share_milli", v.share_milli, 0, kWholeDevice_milli - 1);
  read_gpus(fields, v);
  fields.text("gpu_model", v.gpu_model, {64, TextRule::Kind::kLine});
  fields.bytes("gpu_memory", v.gpu_memory_bytes);
  check_bytes(fields, "gpu_memory", v.gpu_memory_bytes);
  fields.countables("countables", v.countables);
  read_slices(fields, v);
  if (v.gpus > 0 && v.share_milli > 0) {
    fields.fail("share_milli", "bad_value", "ask for whole GPUs or for a share of one, not both");
  }
  if (v.slices > 0 && (v.gpus > 0 || v.share_milli > 0)) {
    fields.fail("slice", "bad_value", "ask for slices, for whole GPUs or for a share: one of them");
  }
}

bool has_request(JsonFields& fields) {
  bool any = false;
  for (std::string_view name : kRequestFields) any = fields.has(name) || any;
  return any;
}

Json group_json(const TaskGroup& v) {
  Json object{{"name", v.name}, {"tasks", v.tasks}, {"per_task", request_json(v.per_task)}};
  if (v.nodes_min != 0) object["nodes_min"] = v.nodes_min;
  if (v.nodes_max != 0) object["nodes_max"] = v.nodes_max;
  if (v.tasks_per_node != 0) object["tasks_per_node"] = v.tasks_per_node;
  if (v.per_node != Request{}) object["per_node"] = request_json(v.per_node);
  if (v.affinity != Affinity::kDefault) object["affinity"] = word(v.affinity);
  return object;
}

void read_affinity(JsonFields& fields, Affinity& affinity) {
  const int found = fields.one_of("affinity", affinities());
  if (found >= 0) affinity = static_cast<Affinity>(found);
}

void read_group(JsonFields& fields, TaskGroup& v) {
  read_affinity(fields, v.affinity);
  read_nodes(fields, v);
  fields.integer("tasks_per_node", v.tasks_per_node, 0, kTasksMax);
  const std::int64_t whole_nodes =
      static_cast<std::int64_t>(std::max(v.nodes_min, 1)) * std::max(v.tasks_per_node, 1);
  v.tasks = static_cast<std::int32_t>(std::min(whole_nodes, kTasksMax + 1));
  fields.integer("tasks", v.tasks, 1, kTasksMax);
  if (v.tasks > kTasksMax) {
    fields.fail("tasks", "out_of_range",
                fmt::format("nodes x tasks_per_node is over the limit of {} tasks", kTasksMax));
  }
  bool per_node_cores = false;
  fields.object("per_node", [&](JsonFields& inner) {
    per_node_cores = inner.has("cores");
    read_request(inner, v.per_node);
  });
  v.per_task.cores = per_node_cores ? 0 : 1;
  const bool nested = fields.has("per_task");
  const bool flat = has_request(fields);
  if (nested && flat) {
    return fields.fail("per_task", "given_twice",
                       "give what a task gets either in per_task or beside it, not in both");
  }
  if (nested) {
    fields.object("per_task", [&](JsonFields& inner) { read_request(inner, v.per_task); });
  } else {
    read_request(fields, v.per_task);
  }
  if (!fields.failure().any()) check_group(fields, v);
}

}  // namespace dove::codec
