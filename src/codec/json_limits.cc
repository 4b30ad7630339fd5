// Limits and guarantees as JSON: {"gpus": 4, "memory": "64Gi", "slices": {"1g.10gb": 2}}.
#include <fmt/format.h>

#include <algorithm>

#include "codec/json_parts.h"
#include "codec/quantity.h"
#include "model/resource_names.h"

namespace dove::codec {
namespace {

constexpr std::int64_t kAmountMax = 2'000'000'000;
constexpr std::int64_t kGpusMax = 1'000'000;
constexpr std::int64_t kHour_ms = 3600 * 1000;
constexpr std::int64_t kMonthMax = 1'000'000'000 * kHour_ms;
constexpr std::size_t kNamesMax = 256;
constexpr std::string_view kKubernetesSlice = "nvidia.com/mig-";

bool is_slice(const Countable& one) { return one.name.starts_with(kBySlice); }

void put(Json& object, const Countable& one) {
  if (is_slice(one)) {
    object["slices"][one.name.substr(kBySlice.size())] = one.amount;
  } else {
    object["countables"][one.name] = one.amount;
  }
}

// 2, "2", "0.5", "500m": thousandths.
void read_gpus(JsonFields& fields, std::string_view name, std::int32_t& milli) {
  const Json* value = fields.find(name);
  if (value == nullptr) return;
  if (!value->is_string()) {
    std::int32_t gpus = 0;
    fields.integer(name, gpus, 0, kGpusMax);
    milli = gpus * kWholeDevice_milli;
    return;
  }
  const auto parsed = parse_milli(value->get_ref<const std::string&>());
  if (!parsed.ok()) return fields.failure().set(parsed.error(), fields.path_of(name));
  if (*parsed > kGpusMax * kWholeDevice_milli) {
    return fields.fail(name, "out_of_range", fmt::format("over the limit of {}", kGpusMax));
  }
  milli = static_cast<std::int32_t>(*parsed);
}

void add(JsonFields& fields, std::string_view name, Countable one, std::vector<Countable>& out) {
  const auto at = std::lower_bound(out.begin(), out.end(), one,
                                   [](const auto& a, const auto& b) { return a.name < b.name; });
  if (at != out.end() && at->name == one.name) {
    return fields.fail(name, "given_twice", fmt::format("names {} twice", one.name));
  }
  out.insert(at, std::move(one));
}

// Calls read(entries, key) for each name that the object has; the entries refuse nothing else.
template <class Read>
void each_name(JsonFields& fields, std::string_view name, Read read) {
  const Json* value = fields.find(name);
  if (value == nullptr) return;
  fields.object(name, [&](JsonFields& entries) {
    if (!value->is_object()) return;
    if (value->size() > kNamesMax) {
      return fields.fail(name, "too_many", fmt::format("more than {} names", kNamesMax));
    }
    for (const auto& [key, amount] : value->items()) {
      if (auto error = check_text(key, {64, TextRule::Kind::kName})) {
        return fields.failure().set(std::move(*error), fields.path_of(name));
      }
      read(entries, key);
    }
  });
}

// GPUs by model, whole ones or thousandths. A model is written as the nodes name it, in any case.
void read_models(JsonFields& fields, std::vector<Countable>& out) {
  each_name(fields, "gpus_milli_by_model", [&](JsonFields& entries, const std::string& model) {
    std::int32_t milli = 0;
    entries.integer(model, milli, 0, kAmountMax);
    add(fields, "gpus_milli_by_model", {model_key(model), milli}, out);
  });
  each_name(fields, "gpus_by_model", [&](JsonFields& entries, const std::string& model) {
    std::int32_t milli = 0;
    read_gpus(entries, model, milli);
    add(fields, "gpus_by_model", {model_key(model), milli}, out);
  });
}

void put_slices(JsonFields& fields, std::string_view name, const std::string& profile,
                std::int64_t slices, std::vector<Countable>& out) {
  const auto slice = parse_slice(profile);
  if (!slice.ok()) return fields.failure().set(slice.error(), fields.path_of(name));
  add(fields, name, {fmt::format("{}{}", kBySlice, *slice), slices}, out);
}

// "slices": {"1g.10gb": 2}, or the countable "nvidia.com/mig-1g.10gb": 2.
void read_slices(JsonFields& fields, std::vector<Countable>& out) {
  std::vector<Countable> kept;
  for (Countable& one : std::exchange(out, {})) {
    if (one.name.starts_with(kKubernetesSlice)) {
      put_slices(fields, "countables", one.name, one.amount, kept);
    } else {
      add(fields, "countables", std::move(one), kept);
    }
  }
  each_name(fields, "slices", [&](JsonFields& entries, const std::string& profile) {
    std::int64_t slices = 0;
    entries.integer(profile, slices, 0, kAmountMax);
    put_slices(fields, "slices", profile, slices, kept);
  });
  out = std::move(kept);
}

}  // namespace

namespace {

Json job_limits_json(const JobLimits& v) {
  Json object = Json::object();
  if (v.nodes >= 0) object["nodes"] = v.nodes;
  if (v.cores >= 0) object["cores"] = v.cores;
  if (v.gpus_milli >= 0) object["gpus_milli"] = v.gpus_milli;
  if (v.memory_bytes >= 0) object["memory_bytes"] = v.memory_bytes;
  if (v.time_limit.us > 0) put_span(object, "time_limit", v.time_limit);
  return object;
}

// GPUs, whole ones or thousandths; one of the two names.
void read_gpu_limit(JsonFields& fields, std::int32_t& milli) {
  fields.integer("gpus_milli", milli, -1, kAmountMax);
  if (!fields.has("gpus")) return;
  if (fields.has("gpus_milli")) {
    fields.fail("gpus", "given_twice", "gpus and gpus_milli say the same: give one of them");
  }
  read_gpus(fields, "gpus", milli);
}

void read_job_limits(JsonFields& fields, JobLimits& v) {
  fields.integer("nodes", v.nodes, -1, kAmountMax);
  fields.integer("cores", v.cores, -1, kAmountMax);
  read_gpu_limit(fields, v.gpus_milli);
  fields.bytes("memory", v.memory_bytes, -1);
  fields.span("time_limit", v.time_limit);
}

}  // namespace

Json limits_json(const Limits& v) {
  Json object = Json::object();
  if (v.jobs_running >= 0) object["jobs_running"] = v.jobs_running;
  if (v.jobs_waiting >= 0) object["jobs_waiting"] = v.jobs_waiting;
  if (v.cores >= 0) object["cores"] = v.cores;
  if (v.gpus_milli >= 0) object["gpus_milli"] = v.gpus_milli;
  if (v.memory_bytes >= 0) object["memory_bytes"] = v.memory_bytes;
  for (const Countable& one : v.countables) put(object, one);
  if (!v.gpus_by_model.empty()) object["gpus_milli_by_model"] = countables_json(v.gpus_by_model);
  if (v.gpu_ms_month >= 0) object["gpu_ms_month"] = v.gpu_ms_month;
  if (v.job != JobLimits{}) object["job"] = job_limits_json(v.job);
  return object;
}

void read_limits(JsonFields& fields, Limits& v) {
  fields.integer("jobs_running", v.jobs_running, -1, kAmountMax);
  fields.integer("jobs_waiting", v.jobs_waiting, -1, kAmountMax);
  auto cores = static_cast<std::int32_t>(v.cores);
  auto gpus_milli = static_cast<std::int32_t>(v.gpus_milli);
  if (const Json* said = fields.find("cores"); said != nullptr && said->is_string()) {
    fields.whole("cores", cores, kAmountMax);
  } else {
    fields.integer("cores", cores, -1, kAmountMax);
  }
  read_gpu_limit(fields, gpus_milli);
  v.cores = cores;
  v.gpus_milli = gpus_milli;
  fields.bytes("memory", v.memory_bytes, -1);
  fields.integer("gpu_ms_month", v.gpu_ms_month, -1, kMonthMax);
  if (fields.has("gpu_hours_month")) {
    std::int64_t hours = 0;
    fields.integer("gpu_hours_month", hours, 0, kMonthMax / kHour_ms);
    v.gpu_ms_month = hours * kHour_ms;
  }
  fields.object("job", [&](JsonFields& inner) { read_job_limits(inner, v.job); });
  fields.countables("countables", v.countables, JsonFields::Zeros::kKept);
  read_slices(fields, v.countables);
  read_models(fields, v.gpus_by_model);
}

Json quota_json(const Quota& v) {
  Json object = Json::object();
  if (v.cores > 0) object["cores"] = v.cores;
  if (v.gpus_milli > 0) object["gpus_milli"] = v.gpus_milli;
  if (v.memory_bytes > 0) object["memory_bytes"] = v.memory_bytes;
  for (const Countable& one : v.countables) put(object, one);
  if (!v.gpus_by_model.empty()) object["gpus_milli_by_model"] = countables_json(v.gpus_by_model);
  return object;
}

// A quota is written as limits are; what is left out is not guaranteed.
void read_quota(JsonFields& fields, Quota& v) {
  Limits limits;
  read_limits(fields, limits);
  if (limits.jobs_running >= 0 || limits.jobs_waiting >= 0) {
    fields.fail(limits.jobs_running >= 0 ? "jobs_running" : "jobs_waiting", "unknown_field",
                "cannot be guaranteed: give cores, gpus, memory or countables");
  }
  if (limits.gpu_ms_month >= 0 || limits.job != JobLimits{}) {
    fields.fail(limits.gpu_ms_month >= 0 ? "gpu_hours_month" : "job", "unknown_field",
                "cannot be guaranteed: give cores, gpus, memory or countables");
  }
  v.cores = std::max<std::int64_t>(limits.cores, 0);
  v.gpus_milli = std::max<std::int64_t>(limits.gpus_milli, 0);
  v.memory_bytes = std::max<std::int64_t>(limits.memory_bytes, 0);
  v.countables = std::move(limits.countables);
  v.gpus_by_model = std::move(limits.gpus_by_model);
  const auto is_nothing = [](const Countable& one) { return one.amount == 0; };
  std::erase_if(v.countables, is_nothing);
  std::erase_if(v.gpus_by_model, is_nothing);
}

Json write(const QueueWeights& v) {
  Json object = Json::object();
  if (v.cores != 0) object["cores"] = v.cores;
  if (v.gpus != 0) object["gpus"] = v.gpus;
  if (v.memory != 0) object["memory"] = v.memory;
  return object;
}

void read(JsonFields& fields, QueueWeights& v) {
  fields.integer("cores", v.cores, 1, kQueueWeight_max);
  fields.integer("gpus", v.gpus, 1, kQueueWeight_max);
  fields.integer("memory", v.memory, 1, kQueueWeight_max);
}

}  // namespace dove::codec
