#include "slurm/gate/gate_seen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "slurm/gres.h"
#include "slurm/json_values.h"
#include "text/words.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kNiceMax = 1'000'000;  // as the controller takes it

// "gres:gpu:2,gres:nic:1" or "gpu=2": the number of GPUs. None: it is not understood.
std::optional<int> gpus_in(std::string_view request) {
  int gpus = 0;
  while (!request.empty()) {
    std::string_view part = request.substr(0, request.find(','));
    request.remove_prefix(std::min(part.size() + 1, request.size()));
    if (part.starts_with("gres:") || part.starts_with("gres/")) part.remove_prefix(5);
    if (!part.starts_with("gpu")) continue;
    part.remove_prefix(3);
    int count = 1;
    if (!part.empty()) {
      if (part[0] != ':' && part[0] != '=') continue;  // "gpu_mem"
      const auto end = std::from_chars(part.data() + 1, part.data() + part.size(), count);
      // The gate took the types out.
      if (end.ec != std::errc() || end.ptr != part.data() + part.size() || count < 0) {
        return std::nullopt;
      }
    }
    if (count > kDevicesMax - gpus) return std::nullopt;
    gpus += count;
  }
  return gpus;
}

// Without "cpu:4" and "cpu=4", by which --cpus-per-task is there too, since 23.11: `cpus` counts
// those.
std::string without_cpus(std::string_view request) {
  std::vector<std::string_view> others = text::words_of(request, ",");
  std::erase_if(others, [](std::string_view part) {
    return part.starts_with("cpu:") || part.starts_with("cpu=");
  });
  return fmt::format("{}", fmt::join(others, ","));
}

// "gres:gpu:4" or "gpu=4" of --cpus-per-gpu and --mem-per-gpu: the amount for each GPU. None: it
// is not understood.
std::optional<std::int64_t> amount_by_gpu(std::string_view text) {
  if (text.starts_with("gres:") || text.starts_with("gres/")) text.remove_prefix(5);
  if (!text.starts_with("gpu:") && !text.starts_with("gpu=")) return std::nullopt;
  text.remove_prefix(4);
  std::int64_t amount = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || amount < 0) {
    return std::nullopt;
  }
  return amount;
}

// As Slurm 22.05 computes it: the CPUs and the memory that a node must have for its GPUs.
void read_by_gpu(const json& object, GateSeen& gate,
                 const std::function<void(const char*)>& cannot) {
  constexpr std::int64_t kCpusMax = 1 << 20;
  if (const std::string text = text_of(object, "cpus_per_tres"); !text.empty()) {
    const auto cpus = amount_by_gpu(text);
    if (!cpus || *cpus > kCpusMax) return cannot("CPUs by GPU in a form that is not understood");
    const std::int64_t all = *cpus * gate.gpus_per_node * gate.nodes;
    gate.cpus = static_cast<int>(std::clamp<std::int64_t>(all, gate.cpus, 1 << 30));
  }
  if (const std::string text = text_of(object, "memory_per_tres"); !text.empty()) {
    const auto memory = amount_by_gpu(text);
    if (!memory) return cannot("memory by GPU in a form that is not understood");
    gate.memory_per_node = std::min(*memory, kMemoryMax_mib) * gate.gpus_per_node;
  }
  if (number_of(object, "threads_per_core").value_or(0) != 0) {
    cannot("a number of threads of a core (--threads-per-core, --hint)");
  }
}

// For --gpus: each node gives as many. Where Slurm could choose, fences leave it no other way.
void read_gpus_of_job(const json& object, GateSeen& gate,
                      const std::function<void(const char*)>& cannot) {
  const std::string text = text_of(object, "tres_per_job");
  const std::optional<int> gpus = gpus_in(text);
  if (!gpus) return cannot("GPUs in a form that is not understood");
  if (!text.empty() && text.find("gpu") == std::string::npos) {
    return cannot("generic resources other than GPUs");
  }
  if (*gpus % gate.nodes != 0) {
    return cannot("more GPUs on one node than on the next (--gpus: make it a multiple of --nodes)");
  }
  if (gate.gpus_per_node + *gpus / gate.nodes > kDevicesMax) {
    return cannot("more GPUs than a node can have");
  }
  gate.gpus_per_node += *gpus / gate.nodes;
  gate.divides_gpus = *gpus > 0 && gate.nodes > 1;
}

// "matlab:2,fluent@server".
void read_licences(std::string_view text, GateSeen& gate,
                   const std::function<void(const char*)>& cannot) {
  constexpr std::size_t kLicencesMax = 64;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find_first_of(",;"));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t colon = one.find(':');
    std::int32_t count = 1;
    bool is_read = true;
    if (colon != std::string_view::npos) {
      const auto end = std::from_chars(one.data() + colon + 1, one.data() + one.size(), count);
      is_read = end.ec == std::errc() && end.ptr == one.data() + one.size() && count >= 0;
    }
    const std::string_view name = one.substr(0, one.find_first_of("@:"));
    if (!is_read || name.empty() || gate.licences.size() >= kLicencesMax) {
      return cannot("licences in a form that is not understood");
    }
    if (count > 0) gate.licences[std::string(name)] += count;
  }
}

// In MiB. Memory given by GPU counts before memory given by CPU, which may be Slurm's default.
std::int64_t memory_of(const json& object, const GateSeen& gate) {
  // By GPU. 24.11 says the same number at the node, too.
  if (gate.memory_per_node > 0) return gate.memory_per_node;
  if (const auto memory = number_of(object, "memory_per_node").value_or(0); memory > 0) {
    return memory;
  }
  const std::int64_t per_cpu = number_of(object, "memory_per_cpu").value_or(0);
  return std::min(per_cpu, kMemoryMax_mib) * (gate.cpus / gate.nodes);
}

int count_of(const json& object, const char* name, std::int64_t otherwise) {
  constexpr std::int64_t kMost = 1 << 30;
  return static_cast<int>(std::min(number_of(object, name).value_or(otherwise), kMost));
}

// Without -N Slurm estimates the least nodes on which the CPUs fit. A few more may be needed so
// that each has as many tasks; not where they would bring more than tasks with them.
int divided(int tasks, const GateSeen& gate, const json& object) {
  constexpr int kEstimate_max = 100'000;
  const bool is_free = gate.nodes <= kEstimate_max && text_of(object, "required_nodes").empty() &&
                       text_of(object, "tres_per_node").empty() &&
                       !has_word(words_of(object, "shared"), "NONE");
  if (!is_free) return gate.nodes;
  for (int nodes = gate.nodes; nodes <= std::min(2 * gate.nodes, tasks); ++nodes) {
    if (tasks % nodes == 0 && gate.cpus % nodes == 0) return nodes;
  }
  return gate.nodes;
}

// How many nodes it has, and CPUs and tasks on each: as many CPUs on one as on the next.
void read_nodes(const json& object, GateSeen& gate,
                const std::function<void(const char*)>& cannot) {
  gate.nodes = std::max(count_of(object, "node_count", 1), 1);
  // Until its nodes have registered, Slurm estimates as many as it has CPUs. Each has a task.
  const int said = count_of(object, "tasks", 0);
  if (said > 0) gate.nodes = std::min(gate.nodes, said);
  const int tasks = said > 0 ? said : gate.nodes;
  gate.cpus = std::max(count_of(object, "cpus", 1), 1);
  const int tasks_of_node = count_of(object, "tasks_per_node", 0);
  // It rounds down: 10 tasks, 4 of them on a node at most, would be on two.
  const int nodes_max = count_of(object, "max_nodes", 0);
  if (tasks_of_node > 0 && nodes_max == 0) {
    gate.nodes = std::max(gate.nodes, (tasks - 1) / tasks_of_node + 1);
  }
  // -N2 -n3 -c2: its estimate is of CPUs, and knows no bound.
  if (nodes_max > 0) gate.nodes = std::min(gate.nodes, nodes_max);
  if (gate.nodes > 1 && nodes_max == 0) gate.nodes = divided(tasks, gate, object);
  gate.may_have_more_nodes = nodes_max == 0 ? tasks > 1 : nodes_max > gate.nodes;
  const int most_tasks = (tasks - 1) / gate.nodes + 1;
  gate.has_equal_tasks = tasks % gate.nodes == 0;
  if (tasks_of_node > 0 && most_tasks > tasks_of_node) {
    cannot("more tasks than its nodes may have (--ntasks-per-node)");
  }
  gate.tasks = tasks;
  gate.cpus_said = gate.cpus;
  gate.cpus_least = std::max(count_of(object, "minimum_cpus_per_node", 1), 1);
  const std::int64_t all = std::int64_t{cpus_on_each(gate, gate.nodes)} * gate.nodes;
  gate.cpus = static_cast<int>(std::min<std::int64_t>(all, 1 << 30));
}

// What a node of the job has to give; gate.cannot says what we do not place.
void read_shape(const json& object, GateSeen& gate) {
  const auto cannot = [&](const char* what) {
    if (gate.cannot.empty()) gate.cannot = what;
  };
  read_nodes(object, gate, cannot);
  const int tasks = std::max(count_of(object, "tasks", 1), 1);
  const auto gpus = [&](const char* name, int times) {
    const std::string text = without_cpus(text_of(object, name));
    const std::optional<int> count = gpus_in(text);
    if (!count) return cannot("GPUs in a form that is not understood");
    const std::int64_t all = gate.gpus_per_node + std::int64_t{*count} * times;
    if (all > kDevicesMax) return cannot("more GPUs than a node can have");
    gate.gpus_per_node = static_cast<int>(all);
    if (text.find("gpu") == std::string::npos && !text.empty()) {
      cannot("generic resources other than GPUs");
    }
  };
  gpus("tres_per_node", 1);
  gpus("tres_per_task", std::max(tasks / gate.nodes, 1));
  if (!gate.has_equal_tasks && text_of(object, "tres_per_task").find("gpu") != std::string::npos) {
    cannot(
        "more GPUs on one node than on the next (--gpus-per-task: make --ntasks a multiple of "
        "--nodes)");
  }
  read_gpus_of_job(object, gate, cannot);
  if (!text_of(object, "tres_per_socket").empty()) cannot("GPUs by socket");
  read_by_gpu(object, gate, cannot);
  const std::int64_t memory = memory_of(object, gate);
  const std::vector<std::string> shared = words_of(object, "shared");
  gate.is_exclusive = has_word(shared, "NONE");
  // What it may share its nodes with; since v0.0.39 "oversubscribe" instead of "shared".
  const bool is_any = has_word(shared, "SHARED") || has_word(shared, "OVERSUBSCRIBE");
  if (!shared.empty() && !is_any && !gate.is_exclusive) {
    cannot("nodes for one user, or one label (--exclusive=user, =mcs)");
  }
  // Without an amount a job gets all the memory, and other jobs with it none.
  if (memory == 0 && !gate.is_exclusive) cannot("all the memory of its nodes (give --mem)");
  gate.memory_per_node = std::min(memory, kMemoryMax_mib) * kMebibyte;
  gate.reservation = text_of(object, "resv_name");
  read_licences(text_of(object, "licenses"), gate, cannot);
  if (number_of(object, "het_job_id").value_or(0) != 0) {
    cannot("a heterogeneous job (submit its parts as jobs of their own)");
  }
}

// 22.05 writes what is below 0 as an unsigned number of 32 bits.
std::int64_t nice_of(const json& object) {
  const auto at = object.find("nice");
  const bool is_plain = at != object.end() && at->is_number_integer();
  std::int64_t nice = is_plain ? at->get<std::int64_t>() : number_of(object, "nice").value_or(0);
  if (nice > INT32_MAX) nice -= 1LL << 32;
  return std::clamp<std::int64_t>(nice, -kNiceMax, kNiceMax);
}

}  // namespace

GateSeen read_gate(const json& object) {
  GateSeen gate;
  const auto number = [&](const char* name) { return number_of(object, name).value_or(0); };
  gate.is_held = number("priority") == 0;
  gate.is_batch = is_set(object, "batch_flag");
  gate.may_requeue = is_set(object, "requeue");
  gate.restarts = static_cast<int>(std::min<std::int64_t>(number("restart_cnt"), 1 << 30));
  gate.wait_status = wait_status_of(object, "exit_code");
  gate.submitted_s = number("submit_time");
  gate.begins_s = number("eligible_time");
  gate.limit_minutes = number("time_limit");
  gate.nice = nice_of(object);
  gate.qos = text_of(object, "qos");
  gate.reason = text_of(object, "state_reason");
  gate.comment = text_of(object, "comment");
  gate.array_tasks = text_of(object, "array_task_string");
  gate.array_job = number("array_job_id");
  gate.handle = handle_of(object);
  gate.depends = !text_of(object, "dependency").empty();
  gate.nodes_wanted = text_of(object, "required_nodes");
  gate.nodes_excluded = text_of(object, "excluded_nodes");
  gate.features = text_of(object, "features");
  read_shape(object, gate);
  return gate;
}

int cpus_on_each(const GateSeen& gate, int nodes) {
  // Once it had a place, 22.05 says what that place gives.
  const std::int64_t least = gate.cpus_least;
  if (gate.cpus_said == least * nodes) return gate.cpus_least;
  // Where CPUs are not divided among tasks (--overcommit), each gives its part.
  const std::int64_t most_tasks = (gate.tasks - 1) / nodes + 1;
  const std::int64_t each = gate.cpus_said % gate.tasks == 0
                                ? gate.cpus_said / gate.tasks * most_tasks
                                : (gate.cpus_said - 1) / nodes + 1;
  // 22.05 leaves --mincpus out of `cpus`.
  return static_cast<int>(std::min<std::int64_t>(std::max(each, least), 1 << 30));
}

}  // namespace dove::slurm
