// Nodes, tasks, cores, memory and GPUs, as sbatch writes them.
#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/option_setters.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

constexpr std::int64_t kCountMax = 1'000'000;

Result<std::int32_t> positive(std::string_view text) {
  auto number = to_number(text, kCountMax);
  if (!number || *number == 0) {
    return invalid(fmt::format("\"{}\" is not a number from 1 to {}", shown(text), kCountMax));
  }
  return static_cast<std::int32_t>(*number);
}

template <class T>
void put(std::optional<Size<T>>& size, T value, const Draft& draft, const Option& option) {
  size = Size<T>{std::move(value), option.place, draft.level};
}

Result<void> put_count(std::optional<Size<std::int32_t>>& size, const Draft& draft,
                       const Option& option) {
  TRY_ASSIGN(std::int32_t count, positive(option.value));
  put(size, count, draft, option);
  return {};
}

// Two ways to say the same number of GPUs, of one type if either names one.
bool same_gpus(const Request& a, const Request& b) {
  return a.gpus == b.gpus &&
         (a.gpu_model.empty() || b.gpu_model.empty() || a.gpu_model == b.gpu_model);
}

std::string said_by(const char* message, const Place& other) {
  return fmt::format("{} (the other is {} {})", message, other.line > 0 ? "at" : "on the",
                     to_text(other));
}

// The highest level wins where several options mean one thing; two at one level contradict.
template <class T>
Result<void> only_one(std::optional<Size<T>>& other, const Draft& draft, const char* message) {
  if (!other) return {};
  if (other->level == draft.level) {
    return invalid(said_by(message, other->place), "exclusive_options");
  }
  other.reset();
  return {};
}

constexpr const char* kOneMemory =
    "--mem, --mem-per-cpu and --mem-per-gpu exclude each other: keep one of them";
constexpr const char* kOneCpus =
    "--cpus-per-task and --cpus-per-gpu exclude each other: keep one of them";
constexpr const char* kOneGpusPerNode =
    "--gres=gpu and --gpus-per-node both say how many GPUs of a node: keep one of them";

}  // namespace

Result<void> set_nodes(Draft& draft, const Option& option) {
  TRY_ASSIGN(NodeCount count, parse_node_count(option.value));
  put(draft.sizes.nodes, count, draft, option);
  return {};
}

Result<void> set_tasks(Draft& draft, const Option& option) {
  return put_count(draft.sizes.tasks, draft, option);
}

Result<void> set_tasks_per_node(Draft& draft, const Option& option) {
  if (option.value == "0") {  // sbatch takes it for "not given"
    draft.sizes.tasks_per_node.reset();
    return {};
  }
  return put_count(draft.sizes.tasks_per_node, draft, option);
}

Result<void> set_tasks_per_gpu(Draft& draft, const Option& option) {
  return put_count(draft.sizes.tasks_per_gpu, draft, option);
}

Result<void> set_cpus_per_task(Draft& draft, const Option& option) {
  TRY(only_one(draft.sizes.cpus_per_gpu, draft, kOneCpus));
  return put_count(draft.sizes.cpus_per_task, draft, option);
}

Result<void> set_cpus_per_gpu(Draft& draft, const Option& option) {
  TRY(only_one(draft.sizes.cpus_per_task, draft, kOneCpus));
  return put_count(draft.sizes.cpus_per_gpu, draft, option);
}

Result<void> set_memory(Draft& draft, const Option& option) {
  TRY_ASSIGN(std::int64_t bytes, parse_memory(option.value));
  TRY(only_one(draft.sizes.memory_per_cpu, draft, kOneMemory));
  TRY(only_one(draft.sizes.memory_per_gpu, draft, kOneMemory));
  put(draft.sizes.memory_per_node, bytes, draft, option);
  return {};
}

Result<void> set_memory_per_cpu(Draft& draft, const Option& option) {
  TRY_ASSIGN(std::int64_t bytes, parse_memory(option.value));
  TRY(only_one(draft.sizes.memory_per_node, draft, kOneMemory));
  TRY(only_one(draft.sizes.memory_per_gpu, draft, kOneMemory));
  put(draft.sizes.memory_per_cpu, bytes, draft, option);
  return {};
}

Result<void> set_memory_per_gpu(Draft& draft, const Option& option) {
  TRY_ASSIGN(std::int64_t bytes, parse_memory(option.value));
  TRY(only_one(draft.sizes.memory_per_node, draft, kOneMemory));
  TRY(only_one(draft.sizes.memory_per_cpu, draft, kOneMemory));
  put(draft.sizes.memory_per_gpu, bytes, draft, option);
  return {};
}

Result<void> set_gres(Draft& draft, const Option& option) {
  TRY_ASSIGN(Request request, parse_gres(option.value));
  auto& other = draft.sizes.gpus_per_node;
  const bool agrees = other && request.slices == 0 && same_gpus(request, other->value);
  if (request.gpus + request.slices > 0 && !agrees) {
    TRY(only_one(other, draft, kOneGpusPerNode));
  } else if (agrees) {
    if (other->value.gpu_model.empty()) other->value.gpu_model = request.gpu_model;
    request.gpus = 0;
    request.gpu_model.clear();
  }
  put(draft.sizes.gres, std::move(request), draft, option);
  return {};
}

Result<void> set_gpus(Draft& draft, const Option& option) {
  draft.sizes.gpus.reset();
  if (option.value.empty()) return {};
  TRY_ASSIGN(Request request, parse_gpus(option.value));
  put(draft.sizes.gpus, std::move(request), draft, option);
  return {};
}

Result<void> set_gpus_per_node(Draft& draft, const Option& option) {
  draft.sizes.gpus_per_node.reset();
  if (option.value.empty()) return {};
  TRY_ASSIGN(Request request, parse_gpus(option.value));
  if (draft.sizes.gres && draft.sizes.gres->value.gpus + draft.sizes.gres->value.slices > 0) {
    Request& gres = draft.sizes.gres->value;
    if (gres.slices == 0 && same_gpus(gres, request)) {
      if (request.gpu_model.empty()) request.gpu_model = gres.gpu_model;
    } else if (draft.sizes.gres->level == draft.level) {
      return invalid(said_by(kOneGpusPerNode, draft.sizes.gres->place), "exclusive_options");
    }
    gres.gpus = 0;
    gres.slices = 0;
    gres.slice.clear();
    gres.gpu_model.clear();
  }
  put(draft.sizes.gpus_per_node, std::move(request), draft, option);
  return {};
}

Result<void> set_gpus_per_task(Draft& draft, const Option& option) {
  draft.sizes.gpus_per_task.reset();
  if (option.value.empty()) return {};
  TRY_ASSIGN(Request request, parse_gpus(option.value));
  put(draft.sizes.gpus_per_task, std::move(request), draft, option);
  return {};
}

// Slurm 23.11's meaning of --cpus-per-task and --gpus-per-task.
Result<void> set_tres_per_task(Draft& draft, const Option& option) {
  constexpr std::string_view kGpu = "gres/gpu";
  for (std::size_t from = 0; from <= option.value.size();) {
    const std::size_t end = std::min(option.value.find(',', from), option.value.size());
    const std::string item = option.value.substr(from, end - from);
    const std::size_t equals = item.find_first_of("=:", item.starts_with(kGpu) ? kGpu.size() : 0);
    const std::string name = item.substr(0, equals);
    if (equals == std::string::npos || (name != "cpu" && name != kGpu)) {
      return invalid(
          fmt::format("\"{}\": write cpu=N or gres/gpu[:TYPE]=N; memory is asked for "
                      "with --mem-per-cpu, countables with --gres",
                      shown(item)));
    }
    Option each{name == "cpu" ? "cpus-per-task" : "gpus-per-task", item.substr(equals + 1),
                option.place};
    std::replace(each.value.begin(), each.value.end(), '=', ':');
    TRY(name == "cpu" ? set_cpus_per_task(draft, each) : set_gpus_per_task(draft, each));
    from = end + 1;
  }
  return {};
}

// NODES[:SOCKETS[:CORES]][,pack]: what Slurm calls sockets is `affinity` here.
Result<void> set_distribution(Draft& draft, const Option& option) {
  draft.affinity = Affinity::kDefault;
  if (option.value.empty()) return {};
  const std::vector<std::string_view> parts =
      split(std::string_view(option.value).substr(0, option.value.find(',')), ':');
  const auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto is_over_cores = [&](std::string_view word) {
    return is_one_of(word, {"*", "block", "cyclic", "fcyclic"});
  };
  const std::string nodes = lower(parts[0]);
  const bool is_known = is_one_of(nodes, {"*", "block", "cyclic", "arbitrary"}) ||
                        nodes == "plane" || nodes.starts_with("plane=");
  if (!is_known || parts.size() > 3 ||
      !std::all_of(parts.begin() + 1, parts.end(),
                   [&](std::string_view part) { return is_over_cores(lower(part)); })) {
    return invalid(
        fmt::format("\"{}\" is not a distribution: write block, or block:cyclic to "
                    "spread cores and devices over the NUMA nodes",
                    shown(option.value)));
  }
  if (parts.size() > 1 && parts[1] != "*") {
    draft.affinity = lower(parts[1]) == "block" ? Affinity::kSingle : Affinity::kInterleaved;
  }
  const bool is_plain = is_one_of(nodes, {"*", "block"}) && parts.size() < 3 &&
                        option.value.find(',') == std::string::npos;
  if (is_plain) return {};
  draft.warn(option.place, "read_as",
             fmt::format("--distribution={} is read as block{}: ranks fill one node after the "
                         "other, and the rest has no effect",
                         shown(option.value),
                         parts.size() > 1 ? fmt::format(":{}", parts[1]) : std::string()));
  return {};
}

}  // namespace dove::jobfiles
