#include "cli/face.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/client/pages.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

struct StateRow {
  const char* state;
  const char* compact;
  const char* full;
};
constexpr std::array<StateRow, 13> kStates = {{{"waiting", "PD", "PENDING"},
                                               {"held", "PD", "PENDING"},
                                               {"preparing", "CF", "CONFIGURING"},
                                               {"running", "R", "RUNNING"},
                                               {"stopping", "CG", "COMPLETING"},
                                               {"completed", "CD", "COMPLETED"},
                                               {"failed", "F", "FAILED"},
                                               {"cancelled", "CA", "CANCELLED"},
                                               {"timed_out", "TO", "TIMEOUT"},
                                               {"stopped_idle", "TO", "TIMEOUT"},
                                               {"node_lost", "NF", "NODE_FAIL"},
                                               {"dependency_never_met", "CA", "CANCELLED"},
                                               {"deadline_missed", "DL", "DEADLINE"}}};

struct ReasonRow {
  const char* kind;
  const char* slurm;
};
constexpr ReasonRow kReasons[] = {{"held", "JobHeldUser"},
                                  {"begin_time", "BeginTime"},
                                  {"dependency", "Dependency"},
                                  {"array_limit", "JobArrayTaskLimit"},
                                  {"queue_limit", "QOSGrpLimit"},
                                  {"user_limit", "AssocGrpLimit"},
                                  {"project_limit", "AssocGrpLimit"},
                                  {"domain_limit", "AssocGrpLimit"},
                                  {"cluster_limit", "Licenses"},
                                  {"pool_closed", "PartitionInactive"},
                                  {"time_limit", "PartitionTimeLimit"},
                                  {"resources", "Resources"},
                                  {"never_fits", "BadConstraints"},
                                  {"nodes_unavailable", "ReqNodeNotAvail"},
                                  {"ahead", "Priority"},
                                  {"excluded", "ReqNodeNotAvail"},
                                  {"domain", "Resources"},
                                  {"fragmented", "Resources"},
                                  {"labels", "Resources"},
                                  {"promised", "Priority"},
                                  {"reserved", "ReqNodeNotAvail"},
                                  {"reservation", "Reservation"},
                                  {"no_plan", "Resources"},
                                  {"preemption", "Resources"}};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

}  // namespace

std::function<int(const Invocation&)> guarded_face(
    std::string name, std::function<Result<int>(const Invocation&)> body) {
  return [name = std::move(name), body = std::move(body)](const Invocation& invocation) {
    const Result<int> result = body(invocation);
    if (result.ok()) return *result;
    const Error& error = result.error();
    const bool named = error.field.empty() || error.message.find(error.field) != std::string::npos;
    face_says(name, "error: " + (named ? "" : error.field + ": ") + error.message);
    return 1;
  };
}

void face_says(const std::string& name, const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: {}\n", name, message);
}

StateWord slurm_state(const JobView& job) {
  for (const StateRow& row : kStates) {
    if (job.state == row.state) return {row.compact, row.full};
  }
  return {"??", upper(job.state)};
}

std::vector<std::string> states_of_slurm(const std::string& word) {
  std::vector<std::string> states;
  const std::string wanted = upper(word);
  for (const StateRow& row : kStates) {
    if (wanted == row.compact || wanted == row.full || wanted == upper(row.state)) {
      states.emplace_back(row.state);
    }
  }
  return states;
}

std::string slurm_reason(const JobView& job) {
  if (job.state == "held") return "JobHeldUser";
  if (job.state == "dependency_never_met") return "DependencyNeverSatisfied";
  if (job.state == "deadline_missed") return "DeadLine";
  if (job.state == "failed" || job.state == "timed_out") {
    return job.state == "failed" ? "NonZeroExitCode" : "TimeLimit";
  }
  if (!job.waiting() || job.reasons.empty()) return "None";
  const auto has = [&](const char* kind) {
    return std::any_of(job.reasons.begin(), job.reasons.end(),
                       [&](const ReasonView& reason) { return reason.kind == kind; });
  };
  // Slurm says Resources of the first in line and Priority of those behind it.
  const std::string& first = job.reasons.front().kind;
  if (first == "resources" && has("ahead")) return "Priority";
  for (const ReasonRow& row : kReasons) {
    if (first == row.kind) return row.slurm;
  }
  return "None";
}

std::string slurm_node_state(const NodeView& node, bool full) {
  if (node.state == "draining") return full ? "draining" : "drng";
  if (node.state == "drained") return full ? "drained" : "drain";
  if (!node.up()) return "down*";
  if (!node.busy()) return "idle";
  if (node.cores_free == 0) return full ? "allocated" : "alloc";
  return full ? "mixed" : "mix";
}

void fetch_reasons(Api& api, std::vector<JobView>& jobs, int count) {
  for (JobView& job : jobs) {
    if (!job.waiting() || !job.reasons.empty() || count-- <= 0) continue;
    const Result<json> why = api.get(job_target(job.id, "/why"));
    if (!why.ok()) continue;
    for (const json& reason : list_of(*why, "reasons")) {
      job.reasons.push_back({text_of(reason, "kind"), with_local_times(text_of(reason, "text"))});
    }
  }
}

Result<std::vector<PartitionView>> read_partitions(Api& api) {
  TRY_ASSIGN(const json nodes, get_all(api, "/v1/nodes", "nodes"));
  TRY_ASSIGN(const json pools, get_all(api, "/v1/pools", "pools"));
  std::vector<NodeView> all;
  for (const json& node : items_of(nodes, "nodes")) all.push_back(read_node(node));
  std::vector<PartitionView> partitions;
  for (const json& pool : items_of(pools, "pools")) {
    PartitionView partition;
    partition.name = text_of(pool, "name");
    partition.is_default = flag_of(pool, "default");
    partition.open = !pool.contains("open") || flag_of(pool, "open");
    partition.time_limit_max_us = span_us_of(pool, "time_limit_max");
    std::vector<std::string> names;
    bool every = false;
    for (const json& entry : list_of(pool, "nodes")) {
      const std::string text = entry.is_string() ? entry.get<std::string>() : "";
      every = every || text == "*";
      for (std::string& name : text::expand_hostlist(text)) names.push_back(std::move(name));
    }
    for (const NodeView& node : all) {
      if (every || std::find(names.begin(), names.end(), node.name) != names.end()) {
        partition.nodes.push_back(node);
      }
    }
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

}  // namespace dove::cli
