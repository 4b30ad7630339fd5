#include "agent/attempts/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/words.h"
#include "containers/network.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

Error malformed(const std::string& what) {
  return Error{ErrorKind::kInvalid, "malformed_order",
               fmt::format("the controller sent an order that this agent cannot read: {}; "
                           "compare `dove version` on both machines",
                           what),
               ""};
}

std::vector<PeerNode> read_peers(const Json& list) {
  std::vector<PeerNode> peers;
  for (const Json& item : list) {
    PeerNode peer;
    peer.name = item.at("node").get<std::string>();
    peer.address = peer.underlay = item.value("address", "");
    peer.node_rank = item.at("node_rank").get<std::int32_t>();
    peer.ranks = item.at("ranks").get<std::vector<Rank>>();
    peer.cores = item.value("cores", 0);
    peer.preflight_port = item.value("preflight_port", 0);
    peer.devices = item.value("devices", std::vector<std::int32_t>{});
    peers.push_back(std::move(peer));
  }
  return peers;
}

Result<void> read_run_as(const std::string& text, LaunchOrder& order) {
  const auto words = codec::run_as_modes();
  const auto at = std::find(words.begin(), words.end(), text);
  if (at == words.end()) return malformed(fmt::format("run_as {}", text));
  order.run_as = static_cast<RunAs>(at - words.begin());
  const bool own = order.run_as == RunAs::kAgent || order.run_as == RunAs::kVirtual;
  if (own) order.linux_user.clear();
  return {};
}

void give_gang_addresses(std::vector<PeerNode>& nodes) {
  for (PeerNode& node : nodes) {
    if (!node.ranks.empty()) node.address = containers::network_address(node.ranks.front());
  }
}

// Where the job left the choice to us, one node decides for itself; several would have to agree, so
// the controller decided when the job came, if it could (server/job_writes.cc).
void choose_network(bool has_network, LaunchOrder& order) {
  const ContainerSpec& container = order.exec.container;
  if (container.image.empty()) return;
  switch (container.network) {
    case ContainerNetwork::kDefault:
      order.in_network = order.nodes.size() == 1 && has_network;
      if (order.nodes.size() > 1) {
        order.no_network =
            "containers have the nodes' own network: when the job came not all nodes of the "
            "cluster offered one that leads to others (dove nodes NAME); --container-network says "
            "which one is wanted";
      } else if (!has_network) {
        order.no_network =
            "containers have the node's own network: it offers none of the gang's (dove nodes "
            "NAME); --container-network says which one is wanted";
      }
      break;
    case ContainerNetwork::kHost:
      break;
    case ContainerNetwork::kGang:
      order.in_network = true;
      break;
  }
  if (order.in_network) give_gang_addresses(order.nodes);
}

void read_spec(const Json& spec, LaunchOrder& order) {
  order.job_name = spec.value("name", "job");
  order.user = spec.value("user", "");
  order.project = spec.value("project", "");
  order.queue = spec.value("queue", "");
  order.pool = spec.value("pool", "");
  order.launch =
      spec.value("launch", "each_task") == "batch" ? LaunchMode::kBatch : LaunchMode::kEachTask;
  order.time_limit_us = spec.value("time_limit_us", std::int64_t{0});
  order.kill_grace_us = spec.value("kill_grace_us", std::int64_t{30'000'000});
  order.checkpoint_signal = spec.value("checkpoint_signal", 0);
  order.checkpoint_grace_us = spec.value("checkpoint_grace_us", std::int64_t{0});
  order.array = JobId(spec.value("array", std::uint64_t{0}));
  order.array_index = spec.value("array_index", 0);
  order.tasks = spec.value("tasks", 1);
  order.cpus_per_task = spec.value("cpus_per_task", 1);
  order.group_names = spec.value("group_names", std::vector<std::string>{});
}

Result<TaskGrant> read_grant(const Json& value) {
  TaskGrant grant;
  grant.rank = value.at("rank").get<Rank>();
  grant.local_rank = value.value("local_rank", 0);
  for (const std::int32_t core : value.value("cores", std::vector<std::int32_t>{})) {
    if (core < 0 || core >= CoreSet::kEnd) return malformed(fmt::format("core {}", core));
    grant.cores.insert(core);
  }
  if (value.contains("grants")) {
    TRY_ASSIGN(grant.devices, codec::read_grants(value.at("grants")));
    return grant;
  }
  // Of a controller that names devices only.
  for (std::int32_t device : value.value("devices", std::vector<std::int32_t>{})) {
    grant.devices.push_back(DeviceGrant{device, kWholeDevice_milli, {}});
  }
  return grant;
}

}  // namespace

std::string AttemptKey::text() const { return fmt::format("{}.{}", job.value, attempt); }

Result<LaunchOrder> read_launch_order(const Json& line, bool has_network) {
  try {
    LaunchOrder order;
    order.key = {JobId(line.at("job").get<std::uint64_t>()),
                 line.at("attempt").get<AttemptNumber>()};
    order.restart_count = line.value("restart_count", 0);
    order.barrier = line.value("barrier", false);
    order.preflight = line.value("preflight", false);
    TRY_ASSIGN(order.placement, codec::read_placement(line.at("placement")));
    order.nodes = read_peers(line.at("placements"));
    read_spec(line.at("spec"), order);
    TRY_ASSIGN(order.exec, codec::decode_exec(line.at("exec")));
    choose_network(line.value("has_network", has_network), order);
    order.linux_user = line.value("linux_user", "");
    TRY(read_run_as(line.value("run_as", "node"), order));
    order.job_token = line.value("job_token", "");
    return order;
  } catch (const Json::exception& e) {
    return malformed(e.what());
  }
}

Result<StepOrder> read_step_order(const Json& step) {
  try {
    StepOrder order;
    order.relay_id = step.at("id").get<std::string>();
    order.key = {JobId(step.at("job").get<std::uint64_t>()),
                 step.at("attempt").get<AttemptNumber>()};
    order.step = step.at("step").get<std::int32_t>();
    for (const Json& task : step.at("tasks")) {
      TRY_ASSIGN(TaskGrant grant, read_grant(task));
      order.tasks.push_back(std::move(grant));
    }
    order.devices_given = step.value("devices_given", false);
    order.tasks_total = step.at("tasks_total").get<std::int32_t>();
    order.nodes = step.at("nodes").get<std::vector<std::string>>();
    order.tasks_per_node = step.value("tasks_per_node", std::vector<std::int32_t>{});
    order.node_rank = step.value("node_rank", 0);
    order.command = step.at("command").get<std::vector<std::string>>();
    order.environment = step.value("environment", std::map<std::string, std::string>{});
    order.workdir = step.value("workdir", "");
    if (step.contains("container")) {
      TRY_ASSIGN(const ExecSpec exec,
                 codec::decode_exec(
                     Json{{"command", order.command}, {"container", step.at("container")}}));
      order.container = exec.container;
    }
    order.stdout_path = step.value("stdout_path", "");
    order.stderr_path = step.value("stderr_path", "");
    order.stdin_text = step.value("stdin", "none");
    order.stdin_rank = step.value("stdin_rank", -1);
    return order;
  } catch (const Json::exception& e) {
    return malformed(e.what());
  }
}

Result<StepAttach> read_step_attach(const Json& line) {
  try {
    StepAttach attach;
    attach.relay_id = line.at("id").get<std::string>();
    attach.key = {JobId(line.at("job").get<std::uint64_t>()),
                  line.at("attempt").get<AttemptNumber>()};
    attach.step = line.at("step").get<std::int32_t>();
    attach.ranks = line.at("ranks").get<std::vector<Rank>>();
    attach.stdout_path = line.value("stdout_path", "");
    attach.stderr_path = line.value("stderr_path", "");
    for (const Json& each : line.value("seen", Json::array())) {
      attach.seen[{each.at("rank").get<Rank>(), each.value("stream", "") == "stderr"}] =
          each.at("bytes").get<std::int64_t>();
    }
    return attach;
  } catch (const Json::exception& e) {
    return malformed(e.what());
  }
}

}  // namespace dove::agent
