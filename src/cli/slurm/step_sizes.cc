#include "cli/slurm/step_sizes.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/client/endpoint.h"
#include "cli/client/submission.h"
#include "cli/client/views.h"
#include "cli/terminal/output.h"
#include "jobfiles/amounts.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// The options as given, with those that Slurm's variables stand for.
class Given {
 public:
  explicit Given(const Invocation& invocation) : invocation_(invocation) {}

  bool has(const std::string& name) const { return invocation_.has(name); }
  std::string text(const std::string& name) const { return invocation_.get(name); }
  bool flag(const std::string& name, const char* variable) const {
    if (has(name)) return true;
    const std::string value = environment_value(variable);
    return !value.empty() && value != "0" && value != "no";
  }
  Result<std::int64_t> count(const std::string& name) const {
    if (!has(name)) return std::int64_t{0};
    return count_of(name, text(name));
  }
  Result<void> put(const char* option, const char* field, json& into) const {
    TRY_ASSIGN(const std::int64_t value, count(option));
    if (value > 0) into[field] = value;
    return {};
  }

 private:
  const Invocation& invocation_;
};

Error contradicts(const std::string& what) { return usage_error(what); }

struct Gpus {
  std::optional<std::int64_t> per_node, per_task, total;
  std::int64_t tasks_per_gpu = 0;
  std::string model;
  bool asked() const { return per_node || per_task || total || tasks_per_gpu > 0; }
};

Result<void> read_gpus(const std::string& name, const std::string& value,
                       std::optional<std::int64_t>& into, Gpus& gpus) {
  // Zero is "none", which a job cannot ask for.
  if (value == "0") {
    into = 0;
    return {};
  }
  Result<dove::Request> request = jobfiles::parse_gpus(value);
  if (!request.ok()) return usage_error(fmt::format("--{}: {}", name, request.error().message));
  into = request->gpus;
  if (!request->gpu_model.empty()) gpus.model = request->gpu_model;
  return {};
}

// gpu[:TYPE][:N], and what else the job has to hold.
Result<void> read_gres(const std::string& value, Gpus& gpus, json& sizes) {
  std::string rest;
  for (const std::string& item : comma_list(value)) {
    if (item == "none" || item == "gpu:0") {
      gpus.per_node = 0;
    } else {
      rest += (rest.empty() ? "" : ",") + item;
    }
  }
  if (rest.empty()) return {};
  Result<dove::Request> request = jobfiles::parse_gres(rest);
  if (!request.ok()) return usage_error(fmt::format("--gres: {}", request.error().message));
  if (!request->slice.empty() || request->share_milli > 0) {
    return usage_error(
        "--gres: a step gets slices and shares of GPUs as its job has them; count "
        "them with --gpus-per-node");
  }
  if (request->gpus > 0) gpus.per_node = request->gpus;
  if (!request->gpu_model.empty()) gpus.model = request->gpu_model;
  for (const Countable& one : request->countables) sizes["countables"][one.name] = one.amount;
  return {};
}

// "--ntasks=4" where --gpus=4 and --ntasks-per-gpu=1 say so.
Result<void> agree(json& sizes, const char* field, std::int64_t wanted, const std::string& why) {
  const std::int64_t given = sizes.value(field, std::int64_t{0});
  if (given != 0 && given != wanted) {
    return contradicts(fmt::format("{}, and {} were asked for", why, given));
  }
  sizes[field] = wanted;
  return {};
}

// Two ways to say how many there are must agree, and say what is missing.
Result<void> join_gpus(Gpus& gpus, json& sizes) {
  if (gpus.tasks_per_gpu > 0) {
    if (gpus.per_task || sizes.contains("tasks_per_node")) {
      return contradicts("--ntasks-per-gpu excludes --gpus-per-task and --ntasks-per-node");
    }
    if (gpus.total && *gpus.total > 0) {
      const std::int64_t tasks = *gpus.total * gpus.tasks_per_gpu;
      TRY(agree(sizes, "tasks", tasks,
                fmt::format("--gpus={} with --ntasks-per-gpu={} means {} tasks", *gpus.total,
                            gpus.tasks_per_gpu, tasks)));
      gpus.total.reset();
    }
  }
  if (gpus.per_task && *gpus.per_task > 0 && gpus.total) {
    if (*gpus.total % *gpus.per_task != 0) {
      return contradicts(fmt::format("--gpus={} cannot be split into --gpus-per-task={}",
                                     *gpus.total, *gpus.per_task));
    }
    TRY(agree(sizes, "tasks", *gpus.total / *gpus.per_task,
              fmt::format("--gpus={} with --gpus-per-task={} means {} tasks", *gpus.total,
                          *gpus.per_task, *gpus.total / *gpus.per_task)));
    gpus.total.reset();
  }
  if (gpus.per_task && *gpus.per_task > 0 && gpus.per_node) {
    if (*gpus.per_node % *gpus.per_task != 0) {
      return contradicts(fmt::format("{} GPUs on each node cannot be split into --gpus-per-task={}",
                                     *gpus.per_node, *gpus.per_task));
    }
    if (!sizes.contains("tasks")) {
      TRY(agree(sizes, "tasks_per_node", *gpus.per_node / *gpus.per_task,
                fmt::format("{} GPUs on each node with --gpus-per-task={} means {} tasks there",
                            *gpus.per_node, *gpus.per_task, *gpus.per_node / *gpus.per_task)));
    }
    gpus.per_node.reset();
  }
  if (gpus.per_node && *gpus.per_node > 0 && gpus.total) {
    if (*gpus.total % *gpus.per_node != 0) {
      return contradicts(fmt::format("--gpus={} is not a whole number of nodes with {} each",
                                     *gpus.total, *gpus.per_node));
    }
    TRY(agree(sizes, "nodes", *gpus.total / *gpus.per_node,
              fmt::format("--gpus={} with {} on each node means {} nodes", *gpus.total,
                          *gpus.per_node, *gpus.total / *gpus.per_node)));
    gpus.total.reset();
  }
  return {};
}

// "none", "single:2", "per_task:1", "map_gpu:0,1", "mask_gpu:0x3,0xc"; "verbose," may be before it.
Result<json> read_bind(std::string value) {
  for (const char* loud : {"verbose,", "v,"}) {
    if (value.starts_with(loud)) value.erase(0, std::string_view(loud).size());
  }
  if (value.empty() || value == "closest" || value == "verbose" || value == "v") return json();
  if (value == "none") return json{{"kind", "all"}};
  const std::size_t colon = value.find(':');
  const std::string kind = value.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : value.substr(colon + 1);
  if (kind == "single" || kind == "per_task") {
    TRY_ASSIGN(const std::int64_t count, count_of("gpu-bind", rest));
    if (count > 0) return json{{"kind", kind}, {"count", count}};
  }
  if (kind == "map_gpu" || kind == "mask_gpu") {
    json list = json::array();
    for (const std::string& word : comma_list(rest)) {
      const bool hex = word.starts_with("0x");
      std::uint64_t number = 0;
      const char* const end = word.data() + word.size();
      const auto read = std::from_chars(word.data() + (hex ? 2 : 0), end, number,
                                        hex || kind == "mask_gpu" ? 16 : 10);
      if (read.ec != std::errc() || read.ptr != end) {
        return usage_error(fmt::format("--gpu-bind={}: \"{}\" is not a number", value, word));
      }
      list.push_back(number);
    }
    if (!list.empty()) return json{{"kind", kind == "map_gpu" ? "map" : "mask"}, {"list", list}};
  }
  return usage_error(fmt::format(
      "--gpu-bind={}: write none, closest, single:N, per_task:N, map_gpu:LIST or mask_gpu:LIST",
      value));
}

Result<void> add_gpus(const Given& given, json& sizes) {
  Gpus gpus;
  if (given.has("gpus")) TRY(read_gpus("gpus", given.text("gpus"), gpus.total, gpus));
  if (given.has("gpus-per-task")) {
    TRY(read_gpus("gpus-per-task", given.text("gpus-per-task"), gpus.per_task, gpus));
  }
  if (given.has("gpus-per-node")) {
    TRY(read_gpus("gpus-per-node", given.text("gpus-per-node"), gpus.per_node, gpus));
  }
  if (given.has("gres")) {
    const std::optional<std::int64_t> before = gpus.per_node;
    TRY(read_gres(given.text("gres"), gpus, sizes));
    if (before && gpus.per_node && *before != *gpus.per_node) {
      return contradicts(fmt::format("--gpus-per-node={} and --gres={} contradict each other",
                                     *before, given.text("gres")));
    }
  }
  TRY_ASSIGN(gpus.tasks_per_gpu, given.count("ntasks-per-gpu"));
  const std::string of_job = environment_value("SLURM_GPUS_PER_TASK");
  if (!gpus.asked() && !of_job.empty()) {
    TRY(read_gpus("gpus-per-task", of_job, gpus.per_task, gpus));
  }
  TRY(join_gpus(gpus, sizes));
  json devices = json::object();
  if (gpus.per_task) {
    devices["per_task"] = *gpus.per_task;
  } else if (gpus.per_node) {
    devices["per_node"] = *gpus.per_node;
  } else if (gpus.total) {
    devices["total"] = *gpus.total;
  }
  if (gpus.tasks_per_gpu > 0) devices["tasks_per_device"] = gpus.tasks_per_gpu;
  if (!gpus.model.empty()) devices["model"] = gpus.model;
  const std::string bind =
      given.has("gpu-bind") ? given.text("gpu-bind") : environment_value("SLURM_GPU_BIND");
  TRY_ASSIGN(json how, read_bind(bind));
  if (!how.is_null()) devices["bind"] = std::move(how);
  if (!devices.empty()) sizes["devices"] = std::move(devices);
  return {};
}

Result<void> add_memory(const Given& given, json& sizes) {
  if (given.has("mem") && given.has("mem-per-cpu")) {
    return contradicts("--mem and --mem-per-cpu exclude each other");
  }
  for (const auto& [option, field] :
       {std::pair{"mem", "memory_bytes"}, std::pair{"mem-per-cpu", "memory_per_core_bytes"}}) {
    if (!given.has(option)) continue;
    const Result<std::int64_t> bytes = jobfiles::parse_memory(given.text(option));
    if (!bytes.ok()) return usage_error(fmt::format("--{}: {}", option, bytes.error().message));
    if (*bytes > 0) sizes[field] = *bytes;
  }
  return {};
}

Result<void> add_cores(const Given& given, json& sizes) {
  const bool exact = given.has("exact") || given.has("exclusive") || given.has("cpus-per-task") ||
                     given.has("cpus-per-gpu") ||
                     (!given.has("overlap") && given.flag("exact", "SLURM_EXACT"));
  if (given.has("exclusive") && given.has("overlap")) {
    return contradicts("--exclusive and --overlap exclude each other");
  }
  if (given.has("exact") && given.has("whole")) {
    return contradicts("--exact and --whole exclude each other");
  }
  TRY(given.put("cpus-per-task", "cores_per_task", sizes));
  if (!given.has("cpus-per-task")) {
    const std::string inherited = environment_value("SRUN_CPUS_PER_TASK");
    if (!inherited.empty()) {
      TRY_ASSIGN(sizes["cores_per_task"], count_of("cpus-per-task", inherited));
    }
  }
  if (given.has("cpus-per-gpu")) {
    TRY_ASSIGN(const std::int64_t cores, given.count("cpus-per-gpu"));
    const json devices = sizes.value("devices", json::object());
    const std::int64_t gpus = devices.value("per_task", std::int64_t{0});
    if (gpus == 0) return contradicts("--cpus-per-gpu of a step needs --gpus-per-task");
    TRY(agree(sizes, "cores_per_task", cores * gpus,
              fmt::format("--cpus-per-gpu={} means {} cores for each task", cores, cores * gpus)));
  }
  if (exact) sizes["exact"] = true;
  if (given.flag("overlap", "SLURM_OVERLAP")) sizes["overlap"] = true;
  if (given.flag("overcommit", "SLURM_OVERCOMMIT")) sizes["overcommit"] = true;
  for (const char* name : {"cpu-bind", "cpu_bind"}) {
    const std::vector<std::string> words = comma_list(given.text(name));
    for (const std::string& word : words) {
      if (word == "none" || word == "no") sizes["all_cores"] = true;
    }
  }
  return {};
}

}  // namespace

Result<std::int64_t> count_of(const std::string& option, const std::string& given) {
  std::int64_t value = 0;
  const char* const end = given.data() + given.size();
  const auto [at, error] = std::from_chars(given.data(), end, value);
  // "--nodes=2-4" takes the least.
  const bool whole = at == end || (option == "nodes" && *at == '-');
  if (error != std::errc() || !whole || value < 0) {
    return usage_error(fmt::format("--{}={} is no number", option, given));
  }
  return value;
}

Result<json> step_sizes(const Invocation& invocation) {
  const Given given(invocation);
  json sizes = json::object();
  TRY(given.put("ntasks", "tasks", sizes));
  TRY(given.put("nodes", "nodes", sizes));
  TRY(given.put("tasks-per-node", "tasks_per_node", sizes));
  TRY(given.put("ntasks-per-node", "tasks_per_node", sizes));
  TRY(given.put("relative", "relative", sizes));
  const std::vector<std::string> nodes = text::expand_hostlist(given.text("nodelist"));
  if (!nodes.empty()) sizes["nodelist"] = nodes;
  const std::vector<std::string> unwanted = text::expand_hostlist(given.text("exclude"));
  if (!unwanted.empty()) sizes["exclude"] = unwanted;
  // Slurm, too, takes the list for the number of nodes.
  const std::int64_t of_node = sizes.value("tasks_per_node", std::int64_t{0});
  if (!sizes.contains("tasks") && sizes.contains("nodes") && of_node > 0) {
    sizes["tasks"] = sizes["nodes"].get<std::int64_t>() * of_node;
  }
  TRY(add_gpus(given, sizes));
  TRY(add_cores(given, sizes));
  TRY(add_memory(given, sizes));
  if (invocation.has("immediate")) sizes["waits"] = false;
  return sizes;
}

std::int64_t tasks_of_job(const json& sizes) {
  for (const char* own :
       {"tasks", "nodes", "nodelist", "exclude", "relative", "tasks_per_node", "devices"}) {
    if (sizes.contains(own)) return 0;
  }
  // In a task of a step the variable counts the step's.
  if (!environment_value("SLURM_STEP_ID").empty()) return 0;
  const std::string given = environment_value("SLURM_NTASKS");
  std::int64_t tasks = 0;
  std::from_chars(given.data(), given.data() + given.size(), tasks);
  return tasks;
}

}  // namespace dove::cli
