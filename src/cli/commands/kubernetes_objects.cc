#include "cli/commands/kubernetes_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "cli/terminal/output.h"
#include "codec/quantity.h"

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kGpus = {"nvidia.com/gpu", "amd.com/gpu", "gpu",
                                                   "habana.ai/gaudi"};
constexpr std::string_view kSlice = "nvidia.com/mig-";

Error wrong(const std::string& where, const std::string& why) {
  return Error{ErrorKind::kInvalid, "bad_value", fmt::format("{}: {}", where, why), where};
}

const json& at(const json& object, const char* name) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

// A quantity is a number or a text.
std::string quantity_text(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// What limits and guarantees are made of.
class Amounts {
 public:
  // Adds this amount of the resource; false: it has no counterpart here.
  Result<bool> add(const std::string& resource, const json& value, const std::string& where) {
    const std::string text = quantity_text(value);
    if (resource == "memory") {
      const auto bytes = codec::parse_bytes(text);
      if (!bytes.ok()) return wrong(where, bytes.error().message);
      add_to("memory", *bytes);
      return true;
    }
    const bool gpu = std::find(kGpus.begin(), kGpus.end(), resource) != kGpus.end();
    if (resource != "cpu" && !gpu && !is_countable(resource)) return false;
    const auto milli = codec::parse_milli(text);
    if (!milli.ok()) return wrong(where, milli.error().message);
    if (resource == "cpu") {
      add_to("cores", (*milli + 999) / 1000);
    } else if (gpu) {
      add_to("gpus_milli", *milli);
    } else if (resource.starts_with(kSlice)) {
      add_to("slices", resource.substr(kSlice.size()), *milli / 1000);
    } else {
      add_to("countables", resource, *milli / 1000);
    }
    return true;
  }
  // With null for what the object does not name: what was declared of it before is taken back.
  json take() const {
    json whole = amounts_;
    for (const char* name : {"cores", "gpus_milli", "memory", "slices", "countables"}) {
      if (!whole.contains(name)) whole[name] = nullptr;
    }
    return whole;
  }

 private:
  // What nodes offer has a name of a vendor or a device; the rest are objects of Kubernetes.
  static bool is_countable(const std::string& resource) {
    return resource.find('/') != std::string::npos && !resource.starts_with("count/") &&
           resource.find("storage") == std::string::npos;
  }
  void add_to(const char* name, std::int64_t amount) {
    amounts_[name] = amounts_.value(name, std::int64_t{0}) + amount;
  }
  void add_to(const char* map, const std::string& name, std::int64_t amount) {
    json named = amounts_.value(map, json::object());
    named[name] = named.value(name, std::int64_t{0}) + amount;
    amounts_[map] = std::move(named);
  }

  json amounts_ = json::object();
};

void warn_unused(const json& spec, std::initializer_list<std::string_view> used,
                 const std::string& who, std::vector<std::string>& warnings) {
  for (const auto& [name, value] : spec.items()) {
    if (std::find(used.begin(), used.end(), name) != used.end()) continue;
    if (value.empty()) continue;
    warnings.push_back(fmt::format("{}: spec.{} has no effect", who, name));
  }
}

// "requests.cpu" and "limits.cpu" are one thing here, as jobs have what they ask for: the smaller.
Result<json> project_of(const json& document, const std::string& name,
                        std::vector<std::string>& warnings) {
  const std::string space = text_of(at(document, "metadata"), "namespace");
  const std::string who = fmt::format("ResourceQuota {}{}", space.empty() ? "" : space + "/", name);
  std::map<std::string, std::pair<std::string, json>> chosen;
  const json& hard = at(at(document, "spec"), "hard");
  if (!hard.is_object()) return wrong(who, "spec.hard names no resources");
  json limits{{"jobs_waiting", nullptr}};
  for (const auto& [key, value] : hard.items()) {
    if (key == "count/jobs.batch") {
      const auto milli = codec::parse_milli(quantity_text(value));
      if (!milli.ok()) return wrong(who + ": spec.hard." + key, milli.error().message);
      limits["jobs_waiting"] = *milli / 1000;
      continue;
    }
    std::string resource = key;
    for (const std::string_view prefix : {"requests.", "limits."}) {
      if (resource.starts_with(prefix)) resource = resource.substr(prefix.size());
    }
    const auto [entry, added] = chosen.try_emplace(resource, key, value);
    if (added) continue;
    const auto before = codec::parse_milli(quantity_text(entry->second.second));
    const auto now = codec::parse_milli(quantity_text(value));
    const auto bytes_before = codec::parse_bytes(quantity_text(entry->second.second));
    const auto bytes = codec::parse_bytes(quantity_text(value));
    const bool smaller = resource == "memory"
                             ? bytes.ok() && bytes_before.ok() && *bytes < *bytes_before
                             : now.ok() && before.ok() && *now < *before;
    if (smaller) entry->second = {key, value};
  }
  Amounts amounts;
  for (const auto& [resource, from] : chosen) {
    TRY_ASSIGN(const bool known, amounts.add(resource, from.second,
                                             fmt::format("{}: spec.hard.{}", who, from.first)));
    if (!known) warnings.push_back(fmt::format("{}: spec.hard.{} has no effect", who, from.first));
  }
  warn_unused(at(document, "spec"), {"hard"}, who, warnings);
  limits.update(amounts.take());
  return json{{"kind", "Project"}, {"name", space.empty() ? name : space}, {"limits", limits}};
}

// All lists of resources that the spec has, in whichever shape.
std::vector<json> resources_of(const json& spec) {
  std::vector<json> found;
  const auto take = [&](const json& holder) {
    for (const json& resource : list_of(holder, "resources")) found.push_back(resource);
  };
  take(spec);
  for (const json& flavor : list_of(spec, "flavors")) take(flavor);
  for (const json& group : list_of(spec, "resourceGroups")) {
    for (const json& flavor : list_of(group, "flavors")) take(flavor);
  }
  return found;
}

std::size_t flavors_of(const json& spec) {
  std::size_t most = list_of(spec, "flavors").size();
  for (const json& group : list_of(spec, "resourceGroups")) {
    most = std::max(most, list_of(group, "flavors").size());
  }
  return most;
}

// Without a cohort nothing can be borrowed: what is guaranteed is the limit too.
Result<void> read_quotas(const json& spec, bool borrows, const std::string& who, json& queue,
                         std::vector<std::string>& warnings) {
  Amounts guaranteed;
  Amounts limits;
  for (const json& resource : resources_of(spec)) {
    const std::string name = text_of(resource, "name");
    const std::string where = fmt::format("{}: {}", who, name);
    const json& nominal = at(resource, "nominalQuota");
    if (nominal.is_null()) return wrong(where, "it has no nominalQuota");
    TRY_ASSIGN(const bool known, guaranteed.add(name, nominal, where));
    if (!known) {
      warnings.push_back(fmt::format("{} has no effect", where));
      continue;
    }
    const json& borrowed = at(resource, "borrowingLimit");
    if (!borrows || !borrowed.is_null()) TRY(limits.add(name, nominal, where));
    if (borrows && !borrowed.is_null()) TRY(limits.add(name, borrowed, where));
    if (!at(resource, "lendingLimit").is_null()) {
      warnings.push_back(fmt::format(
          "{}: lendingLimit has no effect: what is idle is lent, and taken back", where));
    }
  }
  if (flavors_of(spec) > 1) {
    warnings.push_back(fmt::format(
        "{}: its flavors are added up; gpus_by_model of a Queue tells models apart", who));
  }
  queue["guaranteed"] = guaranteed.take();
  queue["limits"] = limits.take();
  return {};
}

Result<json> queue_of(const json& document, const std::string& kind, const std::string& name,
                      std::vector<std::string>& warnings) {
  const json& spec = at(document, "spec");
  const std::string who = fmt::format("{} {}", kind, name);
  std::string parent;
  for (const char* field : {"cohort", "cohortName", "parent", "parentName"}) {
    if (parent.empty()) parent = text_of(spec, field);
  }
  json queue{{"kind", "Queue"}, {"name", name}, {"order", nullptr}, {"weight", nullptr}};
  queue["parent"] = parent.empty() ? json() : json(parent);
  TRY(read_quotas(spec, kind == "Cohort" || !parent.empty(), who, queue, warnings));
  const std::string strategy = text_of(spec, "queueingStrategy");
  if (strategy == "StrictFIFO") queue["order"] = "strict_fifo";
  if (strategy == "BestEffortFIFO") queue["order"] = "priority_fifo";
  const json& weight = at(at(spec, "fairSharing"), "weight");
  if (!weight.is_null()) {
    const auto milli = codec::parse_milli(quantity_text(weight));
    if (!milli.ok()) return wrong(who + ": fairSharing.weight", milli.error().message);
    queue["weight"] = std::max<std::int64_t>((*milli + 999) / 1000, 1);
  }
  warn_unused(spec,
              {"cohort", "cohortName", "parent", "parentName", "resourceGroups", "flavors",
               "resources", "queueingStrategy", "fairSharing"},
              who, warnings);
  return queue;
}

}  // namespace

bool is_kubernetes_object(const json& document) {
  return document.is_object() && document.contains("apiVersion");
}

Result<json> from_kubernetes(const json& document, std::vector<std::string>& warnings) {
  const std::string kind = text_of(document, "kind");
  const std::string name = text_of(at(document, "metadata"), "name");
  if (name.empty()) return wrong(kind, "metadata.name is missing");
  if (kind == "ResourceQuota") return project_of(document, name, warnings);
  if (kind == "ClusterQueue" || kind == "Cohort") {
    return queue_of(document, kind, name, warnings);
  }
  return wrong(kind,
               "of Kubernetes' objects ResourceQuota, ClusterQueue and Cohort can be applied");
}

}  // namespace dove::cli
