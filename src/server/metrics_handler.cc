// What the controller tells Prometheus: the cluster, its queues and projects, the goodput of its
// GPUs, and how the server itself does.
#include "accounts/access.h"
#include "core/state/books.h"
#include "core/state/cores.h"
#include "server/context.h"
#include "server/executors/executor_metrics.h"
#include "server/handlers.h"
#include "telemetry/exposition.h"
#include "telemetry/metrics.h"

namespace dove::server {
namespace {

using Kind = telemetry::Exposition::Kind;

// For queues and projects each; further ones have no series.
constexpr std::size_t kSeriesMax = 2'000;
// For countables of nodes; further ones have none.
constexpr std::size_t kCountablesMax = 10'000;

struct Nodes {
  int total = 0;
  int connected = 0;
  int drained = 0;
  int lost = 0;
  std::int64_t gpus = 0;
  std::int64_t gpus_free_milli = 0;
  std::int64_t gpus_lost = 0;
};

Nodes nodes_of(const core::State& state) {
  Nodes nodes;
  for (const core::Node& node : state.nodes) {
    if (node.removed) continue;
    ++nodes.total;
    nodes.connected += node.contact == Contact::kConnected;
    nodes.drained += node.declared.drained;
    nodes.lost += node.contact == Contact::kLost;
    for (std::size_t i = 0; i < node.inventory->devices.size(); ++i) {
      const bool is_gpu = node.inventory->devices[i].kind == "gpu";
      nodes.gpus += is_gpu ? 1 : 0;
      nodes.gpus_free_milli += is_gpu ? node.device_free_milli[i] : 0;
      nodes.gpus_lost += node.inventory->devices[i].kind == "lost" ? 1 : 0;
    }
  }
  return nodes;
}

// Running placements with devices on a NUMA node of which they hold no core.
std::int64_t placements_far_from_devices(const core::State& state) {
  std::int64_t count = 0;
  for (const core::Node& node : state.nodes) {
    if (node.inventory == nullptr) continue;
    for (const JobId id : node.jobs) {
      const core::Job* job = state.find_job(id);
      if (job == nullptr || job->attempts.empty()) continue;
      for (const core::PlacementRecord& record : job->attempts.back().placements) {
        if (record.placement->node != node.id || record.placement->devices.empty()) continue;
        if (core::numa_nodes_without_core(*node.inventory, record.placement) > 0) ++count;
      }
    }
  }
  return count;
}

// `label`: what the map's keys are.
void add_usage(const char* label, const std::map<std::string, core::Usage>& usage,
               const std::function<bool(const std::string&)>& shows, telemetry::Exposition& out) {
  const std::string prefix = std::string("dove_") + label;
  const auto each = [&](auto add) {
    std::size_t count = 0;
    for (const auto& [name, used] : usage) {
      if (!shows(name)) continue;
      if (++count > kSeriesMax) return;
      add(name, used);
    }
  };
  out.family(prefix + "_jobs", Kind::kGauge, "Jobs that wait and that hold resources.");
  each([&](const std::string& name, const core::Usage& used) {
    out.add({{label, name}, {"state", "waiting"}}, used.jobs_waiting);
    out.add({{label, name}, {"state", "running"}}, used.jobs_running);
  });
  out.family(prefix + "_gpus_milli", Kind::kGauge, "Thousandths of GPUs that are held.");
  each([&](const std::string& name, const core::Usage& used) {
    out.add({{label, name}}, static_cast<double>(used.gpus_milli));
  });
  out.family(prefix + "_cores", Kind::kGauge, "Cores that are held.");
  each([&](const std::string& name, const core::Usage& used) {
    out.add({{label, name}}, static_cast<double>(used.cores));
  });
}

// What nodes only count, by node, and what there is once for all: how much, and how much is held.
void add_countables(const core::State& state, telemetry::Exposition& out) {
  struct Counted {
    const std::string* node;
    std::string_view name;
    double amount;
    double held;
  };
  std::vector<Counted> all;
  for (const core::Node& node : state.nodes) {
    if (node.removed) continue;
    std::map<std::string_view, std::int64_t> amounts;
    for (const Countable& one : node.inventory->countables) amounts[one.name] += one.amount;
    for (const Countable& one : node.declared.countables) amounts[one.name] += one.amount;
    for (const Countable& one : node.countables_free) amounts[one.name] += 0;
    for (const auto& [name, amount] : amounts) {
      if (all.size() == kCountablesMax) break;
      const std::int64_t free = core::amount_of(node.countables_free, name);
      all.push_back(
          {&node.name, name, static_cast<double>(amount), static_cast<double>(amount - free)});
    }
  }
  out.family("dove_node_countable", Kind::kGauge, "How much of a countable a node has.");
  for (const Counted& one : all) {
    out.add({{"node", *one.node}, {"countable", std::string(one.name)}}, one.amount);
  }
  out.family("dove_node_countable_held", Kind::kGauge, "How much of a node's countable jobs hold.");
  for (const Counted& one : all) {
    out.add({{"node", *one.node}, {"countable", std::string(one.name)}}, one.held);
  }
  out.family("dove_cluster_countable", Kind::kGauge, "How much of a countable the cluster has.");
  for (const Countable& one : state.settings.countables) {
    out.add({{"countable", one.name}}, static_cast<double>(one.amount));
  }
  out.family("dove_cluster_countable_held", Kind::kGauge,
             "How much of the cluster's countable jobs hold.");
  for (const Countable& one : state.settings.countables) {
    const auto held = state.usage.countables.find(one.name);
    const std::int64_t amount = held == state.usage.countables.end() ? 0 : held->second;
    out.add({{"countable", one.name}}, static_cast<double>(amount));
  }
}

}  // namespace

void get_metrics(Context& context, CallPtr call) {
  const core::State& state = context.state();
  const Nodes nodes = nodes_of(state);
  telemetry::Metrics& metrics = telemetry::metrics();
  metrics.gauge("dove_jobs_waiting", "Jobs that wait.").set(state.usage.jobs_waiting);
  metrics.gauge("dove_jobs_running", "Jobs that hold resources.").set(state.usage.jobs_running);
  metrics.gauge("dove_nodes", "Nodes that are not removed.").set(nodes.total);
  metrics.gauge("dove_nodes_connected", "Nodes whose agent is connected.").set(nodes.connected);
  metrics.gauge("dove_nodes_drained", "Nodes that are given no new work.").set(nodes.drained);
  metrics.gauge("dove_nodes_lost", "Nodes on which nothing can still be running.").set(nodes.lost);
  metrics.gauge("dove_gpus_lost", "GPUs that their node does not find at the moment.")
      .set(nodes.gpus_lost);
  metrics.gauge("dove_gpus", "GPUs of all nodes.").set(nodes.gpus);
  metrics.gauge("dove_gpus_free_milli", "Thousandths of GPUs that are free.")
      .set(nodes.gpus_free_milli);
  metrics
      .gauge("dove_placements_far_from_devices",
             "Placements with devices on a NUMA node of which they hold no core.")
      .set(placements_far_from_devices(state));
  metrics.gauge("dove_log_head", "Position of the last record.")
      .set(static_cast<std::int64_t>(state.head.value));
  metrics.gauge("dove_event_followers", "Open streams of events.")
      .set(static_cast<std::int64_t>(context.feed.followers()));
  metrics.gauge("dove_controller_leads", "1 where this controller leads, 0 where it stands by.")
      .set(context.elsewhere ? 0 : 1);
  if (!context.elsewhere) context.office.measure();
  telemetry::Exposition out;
  const Caller& caller = call->caller;
  const auto shows_user = [&](const std::string& user) { return may_see_user(caller, user); };
  const auto shows_project = [&](const std::string& project) {
    return may_see_project(state, caller, project);
  };
  add_usage(
      "queue", state.usage_by_queue, [](const std::string&) { return true; }, out);
  add_usage("project", state.usage_by_project, shows_project, out);
  add_countables(state, out);
  add_executors(state, out);
  if (!context.elsewhere) {
    context.desk.projection.goodput().add_to(out, state, shows_user);
    context.nodes.observed.add_to(out, shows_user);
  }
  call->responder->send(
      wire::Response{200,
                     {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                     out.text() + metrics.render()});
}

}  // namespace dove::server
