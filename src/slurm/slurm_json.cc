#include "slurm/slurm_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

#include "codec/json.h"
#include "slurm/gate/gate_seen.h"
#include "slurm/gate/mark.h"
#include "slurm/gres.h"
#include "slurm/json_values.h"
#include "text/utf8.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

constexpr std::size_t kNodesMax = 100'000;
constexpr std::size_t kJobsMax = 1'000'000;
constexpr std::size_t kReservationsMax = 10'000;
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kCoresMax = 65'536;  // of a node
constexpr std::int64_t kMemoryMax_mib = std::int64_t{1} << 40;

Error not_understood(std::string what) {
  return Error{ErrorKind::kInvalid, "slurm_output",
               fmt::format("Slurm's answer is not understood: {}; this version of Slurm may be one "
                           "that dove does not know (tested: 22.05, 24.11)",
                           what),
               ""};
}

// Users name their jobs with any bytes, and Slurm prints them as they are.
std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = text::utf8_bytes(text);
    out += text.substr(0, good);
    if (good < text.size()) out += '?';
    text.remove_prefix(std::min(good + 1, text.size()));
  }
  return out;
}

// The document's list, when Slurm reports no error.
Result<json> list_of(std::string_view text, const char* name, std::size_t most) {
  TRY_ASSIGN(json document, codec::parse_json(as_utf8(text), kJsonBytesMax));
  if (!document.is_object()) return not_understood("it is not an object");
  if (const auto errors = document.find("errors");
      errors != document.end() && errors->is_array() && !errors->empty()) {
    const json& first = errors->front();
    const std::string said = first.is_object() ? text_of(first, "error") : first.dump();
    return Error{ErrorKind::kUnavailable, "slurm_error", "Slurm reports an error: " + said, ""};
  }
  const auto list = document.find(name);
  if (list == document.end() || !list->is_array()) {
    return not_understood(fmt::format("it has no list '{}'", name));
  }
  if (list->size() > most) return not_understood(fmt::format("more than {} {}", most, name));
  return std::move(*list);
}

// A node's: a list with commas, or (since v0.0.39) of texts. In 22.05 those that are active stand
// beside all that it may have.
std::vector<std::string> features_of(const json& object) {
  std::set<std::string> features;
  const char* name = object.contains("active_features") ? "active_features" : "features";
  if (const auto list = object.find(name); list != object.end() && list->is_array()) {
    for (const json& one : *list) {
      if (one.is_string()) features.insert(one.get<std::string>());
    }
  }
  const std::string text = text_of(object, name);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    features.insert(text.substr(at, end - at));
    at = end + 1;
  }
  features.erase("");
  return {features.begin(), features.end()};
}

NodeSeen::State node_state(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 9> kDown{"DOWN",          "ERROR",          "UNKNOWN",
                                                  "FUTURE",        "NOT_RESPONDING", "POWERED_DOWN",
                                                  "POWERING_DOWN", "REBOOT_ISSUED",  "INVALID_REG"};
  constexpr std::array<std::string_view, 4> kDrained{"DRAIN", "FAIL", "PLANNED_DOWN", "POWER_DOWN"};
  for (const std::string_view word : kDown) {
    if (has_word(words, word)) return NodeSeen::State::kDown;
  }
  for (const std::string_view word : kDrained) {
    if (has_word(words, word)) return NodeSeen::State::kDrained;
  }
  return NodeSeen::State::kUp;
}

// The amount of "cpu=6,mem=16000M,billing=6".
std::optional<std::int64_t> cpus_of(std::string_view tres) {
  constexpr std::string_view kName = "cpu=";
  if (!tres.starts_with(kName)) return std::nullopt;
  tres.remove_prefix(kName.size());
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(tres.data(), tres.data() + tres.size(), count);
  if (error != std::errc()) return std::nullopt;
  return count;
}

// How many of its CPUs a core has, and how many cores jobs cannot have: a node's TRES count no CPU
// that is set aside.
void read_cpus(const json& object, NodeSeen& node) {
  const std::int64_t cores = node.cores();
  const std::int64_t threads = number_of(object, "threads").value_or(1);
  const std::int64_t cpus = number_of(object, "cpus").value_or(cores * threads);
  const std::int64_t each = std::clamp<std::int64_t>(cpus / cores, 1, 256);
  node.cpus_per_core = static_cast<int>(each);
  const std::int64_t for_jobs = cpus_of(text_of(object, "tres")).value_or(cpus);
  node.cores_set_aside =
      static_cast<int>(std::clamp<std::int64_t>((cpus - for_jobs) / each, 0, cores - 1));
}

Result<NodeSeen> read_node(const json& object) {
  NodeSeen node;
  node.name = text_of(object, "name");
  if (node.name.empty() || node.name.size() > 256) return not_understood("a node without a name");
  std::vector<std::string> words = words_of(object, "state");
  if (words.empty()) return not_understood(fmt::format("node {} has no state", node.name));
  const std::vector<std::string> flags = words_of(object, "state_flags");
  words.insert(words.end(), flags.begin(), flags.end());
  node.state = node_state(words);
  node.settles =
      !has_word(words, "DOWN") && (has_word(words, "UNKNOWN") || has_word(words, "NOT_RESPONDING"));
  node.registered = number_of(object, "slurmd_start_time") != 0;
  node.is_in_reservation = has_word(words, "RESERVED");
  node.is_in_maintenance = has_word(words, "MAINTENANCE");
  if (node.state != NodeSeen::State::kUp) {
    node.reason = text_of(object, "reason");
    if (node.reason.empty()) node.reason = fmt::format("{}", fmt::join(words, " "));
  }
  TRY_ASSIGN(node.device_types, device_types(text_of(object, "gres")));
  node.devices_bound = binds_devices(text_of(object, "gres"));
  const auto cores = number_of(object, "cores");
  if (!cores || *cores < 1 || *cores > kCoresMax) {
    return not_understood(fmt::format("node {} has no number of cores", node.name));
  }
  node.cores_per_socket = static_cast<int>(*cores);
  node.sockets = static_cast<int>(
      std::clamp<std::int64_t>(number_of(object, "sockets").value_or(1), 1, kCoresMax / *cores));
  read_cpus(object, node);
  node.memory_bytes =
      std::clamp<std::int64_t>(number_of(object, "real_memory").value_or(0), 0, kMemoryMax_mib)
      << 20;
  if (const auto list = object.find("partitions"); list != object.end() && list->is_array()) {
    for (const json& name : *list) {
      if (name.is_string()) node.partitions.push_back(name.get<std::string>());
    }
  }
  node.features = features_of(object);
  return node;
}

std::optional<JobPhase> phase_of(const std::vector<std::string>& words) {
  // UPDATE_DB is none of these (until 24.11): a job of any state has it until slurmdbd has heard.
  constexpr std::array<std::string_view, 6> kWaiting{
      "PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUE_FED", "RESV_DEL_HOLD"};
  constexpr std::array<std::string_view, 8> kHolding{"RUNNING",  "SUSPENDED",    "CONFIGURING",
                                                     "RESIZING", "SIGNALING",    "STAGE_OUT",
                                                     "STOPPED",  "POWER_UP_NODE"};
  constexpr std::array<std::string_view, 11> kEnded{
      "COMPLETED", "CANCELLED", "FAILED",        "TIMEOUT", "NODE_FAIL",    "PREEMPTED",
      "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED"};
  if (has_word(words, "COMPLETING")) return JobPhase::kEnding;
  const auto any = [&](const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](auto word) { return has_word(words, word); });
  };
  if (any(kWaiting)) return JobPhase::kWaiting;
  if (any(kEnded)) return JobPhase::kEnded;
  if (any(kHolding)) return JobPhase::kHolding;
  return std::nullopt;
}

Result<void> add_core(std::int64_t socket, std::int64_t core, int cores_per_socket,
                      std::vector<int>& cores) {
  if (socket < 0 || socket > 1024) return not_understood("the cores of a job");
  if (core < 0 || core >= cores_per_socket) return not_understood("the number of a core of a job");
  cores.push_back(static_cast<int>(socket * cores_per_socket + core));
  return {};
}

// {"0": {"cores": {"3": "allocated"}}}: those that it has.
Result<void> read_cores(const json& sockets, int cores_per_socket, std::vector<int>& cores) {
  const auto number = [](const std::string& text) {
    int value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  for (const auto& [socket, inner] : sockets.items()) {
    const auto list = inner.is_object() ? inner.find("cores") : inner.end();
    if (!inner.is_object() || list == inner.end() || !list->is_object()) {
      return not_understood("the cores of a job");
    }
    for (const auto& [core, unused] : list->items()) {
      TRY(add_core(number(socket), number(core), cores_per_socket, cores));
    }
  }
  std::sort(cores.begin(), cores.end());
  return {};
}

// Since v0.0.41: [{"index": 0, "cores": [{"index": 3, "status": ["ALLOCATED"]}]}], with those that
// it does not have.
Result<void> read_listed_cores(const json& sockets, int cores_per_socket, std::vector<int>& cores) {
  for (const json& socket : sockets) {
    const auto list = socket.is_object() ? socket.find("cores") : socket.end();
    if (!socket.is_object() || list == socket.end() || !list->is_array()) {
      return not_understood("the cores of a job");
    }
    for (const json& core : *list) {
      if (!core.is_object()) return not_understood("the cores of a job");
      const std::vector<std::string> status = words_of(core, "status");
      if (has_word(status, "UNALLOCATED") || !has_word(status, "ALLOCATED")) continue;
      TRY(add_core(number_of(socket, "index").value_or(-1), number_of(core, "index").value_or(-1),
                   cores_per_socket, cores));
    }
  }
  std::sort(cores.begin(), cores.end());
  return {};
}

// What a job holds, node by node; null: it is not there.
const json* held_by_node(const json& resources) {
  const auto list = resources.find("allocated_nodes");
  if (list != resources.end()) return &*list;
  // Since v0.0.41.
  const auto nodes = resources.find("nodes");
  if (nodes == resources.end() || !nodes->is_object()) return nullptr;
  const auto inner = nodes->find("allocation");
  return inner == nodes->end() ? nullptr : &*inner;
}

std::int64_t memory_mib(const json& held) {
  const auto memory = held.find("memory");
  const bool is_new = memory != held.end() && memory->is_object();
  return (is_new ? number_of(*memory, "allocated") : number_of(held, "memory_allocated"))
      .value_or(0);
}

using NodesByName = std::unordered_map<std::string_view, const NodeSeen*>;

// `details`: the GRES of the job, node by node in the order of its nodes.
Result<void> read_held(const json& resources, const json& details, const NodesByName& nodes,
                       JobSeen& job) {
  const json* const list = held_by_node(resources);
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > kNodesMax) {
    return not_understood(fmt::format("job {} runs on no nodes", job.id));
  }
  job.devices_known = !job.wants_devices || details.size() == list->size();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& one = (*list)[i];
    if (!one.is_object()) return not_understood(fmt::format("the nodes of job {}", job.id));
    NodeAllocation held;
    held.node = text_of(one, one.contains("nodename") ? "nodename" : "name");
    const auto node = nodes.find(held.node);
    if (node == nodes.end()) {
      return not_understood(
          fmt::format("job {} is on node '{}', which is not listed", job.id, held.node));
    }
    const auto sockets = one.find("sockets");
    const int each = node->second->cores_per_socket;
    if (sockets != one.end() && sockets->is_object()) TRY(read_cores(*sockets, each, held.cores));
    if (sockets != one.end() && sockets->is_array()) {
      TRY(read_listed_cores(*sockets, each, held.cores));
    }
    held.memory_bytes = memory_mib(one) * kMebibyte;
    if (i < details.size() && details[i].is_string()) {
      const auto devices = device_indices(details[i].get_ref<const std::string&>());
      if (!devices) job.devices_known = false;
      if (devices) held.devices = *devices;
    }
    job.allocations.push_back(std::move(held));
  }
  return {};
}

bool asks_for_devices(const json& object) {
  for (const char* name : {"tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task"}) {
    if (text_of(object, name).find("gpu") != std::string::npos) return true;
  }
  return text_of(object, "tres_alloc_str").find("gres/gpu") != std::string::npos;
}

Result<JobSeen> read_job(const json& object, const NodesByName& nodes) {
  JobSeen job;
  const auto id = number_of(object, "job_id");
  if (!id || *id == 0) return not_understood("a job without an id");
  job.id = *id;
  const std::vector<std::string> words = words_of(object, "job_state");
  const std::optional<JobPhase> phase = phase_of(words);
  job.state = fmt::format("{}", fmt::join(words, ","));
  if (!phase) return not_understood(fmt::format("job {} is '{}'", job.id, job.state));
  job.phase = *phase;
  job.name = text_of(object, "name");
  job.mark = text_of(object, "admin_comment");
  if (is_of_gate(job.mark)) job.gate = read_gate(object);
  if (job.phase == JobPhase::kWaiting && !job.gate) {
    job.reason = text_of(object, "state_reason");
    job.partition = text_of(object, "partition");
    job.priority = number_of(object, "priority").value_or(0);
    // Thousands may wait behind the few of this reason.
    if (job.reason != kLacksRoom) return job;
    job.asks = read_gate(object);
  }
  job.user = text_of(object, "user_name");
  if (job.user.empty()) job.user = std::to_string(number_of(object, "user_id").value_or(0));
  job.account = text_of(object, "account");
  job.partition = text_of(object, "partition");
  job.priority = number_of(object, "priority").value_or(0);
  if (job.phase == JobPhase::kWaiting) return job;
  job.started_s = number_of(object, "start_time").value_or(0);
  if (number_of(object, "time_limit")) job.ends_s = number_of(object, "end_time").value_or(0);
  if (job.phase == JobPhase::kEnded) {
    // It holds nothing; these are the nodes where it was, as a hostlist.
    const std::string nodes_then = text_of(object, "nodes");
    if (!nodes_then.empty()) job.allocations.push_back({nodes_then, {}, {}, 0});
    return job;
  }
  job.reservation = text_of(object, "resv_name");
  const bool is_part = number_of(object, "het_job_id").value_or(0) != 0;
  job.may_requeue =
      !job.gate && !is_part && is_set(object, "batch_flag") && is_set(object, "requeue");
  job.restarts = number_of(object, "restart_cnt").value_or(0);
  job.handle = handle_of(object);
  job.wants_devices = asks_for_devices(object);
  const auto resources = object.find("job_resources");
  if (resources == object.end() || !resources->is_object()) {
    return not_understood(fmt::format("job {} is {} without resources", job.id, job.state));
  }
  const auto details = object.find("gres_detail");
  const json none = json::array();
  TRY(read_held(*resources, details != object.end() && details->is_array() ? *details : none, nodes,
                job));
  return job;
}

}  // namespace

Result<std::vector<NodeSeen>> read_nodes(std::string_view text) {
  TRY_ASSIGN(const json list, list_of(text, "nodes", kNodesMax));
  std::vector<NodeSeen> nodes;
  for (const json& object : list) {
    if (!object.is_object()) return not_understood("a node that is not an object");
    TRY_ASSIGN(NodeSeen node, read_node(object));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<std::vector<ReservationSeen>> read_reservations(std::string_view text) {
  TRY_ASSIGN(const json list, list_of(text, "reservations", kReservationsMax));
  std::vector<ReservationSeen> all;
  for (const json& object : list) {
    if (!object.is_object()) return not_understood("a reservation that is not an object");
    ReservationSeen one;
    one.name = text_of(object, "name");
    one.nodes = text_of(object, "node_list");
    one.starts_s = number_of(object, "start_time").value_or(0);
    one.ends_s = number_of(object, "end_time").value_or(0);
    one.is_active = one.starts_s <= std::time(nullptr);
    one.cores = number_of(object, "core_count").value_or(0);
    one.floats = has_word(words_of(object, "flags"), "TIME_FLOAT");
    const bool has_all = !one.name.empty() && !one.nodes.empty() && one.ends_s > one.starts_s;
    if (has_all) all.push_back(std::move(one));
  }
  return all;
}

Result<std::vector<JobSeen>> read_jobs(std::string_view text, const std::vector<NodeSeen>& nodes) {
  TRY_ASSIGN(const json list, list_of(text, "jobs", kJobsMax));
  NodesByName by_name;
  for (const NodeSeen& node : nodes) by_name.emplace(node.name, &node);
  std::vector<JobSeen> jobs;
  for (const json& object : list) {
    if (!object.is_object()) return not_understood("a job that is not an object");
    TRY_ASSIGN(JobSeen job, read_job(object, by_name));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace dove::slurm
