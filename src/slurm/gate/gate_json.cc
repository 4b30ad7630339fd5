#include "slurm/gate/gate_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/quantity.h"
#include "model/resource_names.h"
#include "slurm/gate/mark.h"
#include "slurm/sync.h"
#include "text/feature_expression.h"
#include "text/hostlist.h"
#include "text/utf8.h"
#include "text/words.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

constexpr std::size_t kJobsMax = 200'000;
constexpr std::size_t kHostlistBytesMax = 4096;
constexpr std::size_t kLineBytesMax = 256;
constexpr std::size_t kNamedBytesMax = 100;
constexpr std::int64_t kNumberMax = std::int64_t{1} << 53;

std::string line_of(std::string_view text) {
  std::string line(text.substr(0, text::utf8_bytes(text.substr(0, kLineBytesMax))));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

// The nodes that its user named.
std::string nodes_named(const JobSeen& job) {
  return read_mark(job.mark).nodes.value_or(job.gate->nodes_wanted);
}

std::vector<std::string> expanded(const std::string& hostlist) {
  return text::expand_hostlist(hostlist.substr(0, kHostlistBytesMax));
}

struct ByPartition {
  std::vector<std::string> inside;   // the nodes in partitions of the job
  std::vector<std::string> outside;  // those in none of them
};

ByPartition nodes_by_partition(const JobSeen& job, const std::vector<NodeSeen>& nodes) {
  const std::vector<std::string> partitions = text::split(job.partition, ",");
  ByPartition found;
  for (const NodeSeen& node : nodes) {
    const bool is_in = std::any_of(
        node.partitions.begin(), node.partitions.end(), [&](const std::string& partition) {
          return std::find(partitions.begin(), partitions.end(), partition) != partitions.end();
        });
    (is_in ? found.inside : found.outside).push_back(node.name);
  }
  return found;
}

// The least of the nodes that it may run on: enough cores on each. The controller counts threads by
// the same nodes (server/executors/waiting_job.cc).
int cpus_per_core(const std::vector<NodeSeen>& nodes, const std::vector<std::string>& wanted,
                  const std::vector<std::string>& excluded, int count) {
  const auto [fewest, most] = std::minmax_element(nodes.begin(), nodes.end(),
                                                  [](const NodeSeen& one, const NodeSeen& other) {
                                                    return one.cpus_per_core < other.cpus_per_core;
                                                  });
  if (fewest == nodes.end()) return 1;
  if (fewest->cpus_per_core == most->cpus_per_core) return fewest->cpus_per_core;
  const bool names_all = wanted.size() >= static_cast<std::size_t>(count);
  const std::set<std::string_view> named(wanted.begin(), wanted.end());
  const std::set<std::string_view> without(excluded.begin(), excluded.end());
  int least = 0;
  for (const NodeSeen& node : nodes) {
    if (names_all ? !named.contains(node.name) : without.contains(node.name)) continue;
    least = least == 0 ? node.cpus_per_core : std::min(least, node.cpus_per_core);
  }
  return std::max(least, 1);
}

// REQUIRES: why_not_placed() has nothing against it.
std::vector<std::string> features_of(const GateSeen& gate) {
  return text::read_feature_expression(gate.features).value_or(std::vector<std::string>{});
}

json job_json(const JobSeen& job, const std::vector<NodeSeen>& nodes) {
  const GateSeen& gate = *job.gate;
  std::vector<std::string> wanted = expanded(nodes_named(job));
  std::vector<std::string> excluded = expanded(gate.nodes_excluded);
  ByPartition of_nodes = nodes_by_partition(job, nodes);
  if (wanted.empty() && !of_nodes.outside.empty()) wanted = std::move(of_nodes.inside);
  if (!wanted.empty() && wanted.size() < static_cast<std::size_t>(gate.nodes)) {
    // These are among its nodes; the others are of its partitions, too.
    excluded.insert(excluded.end(), of_nodes.outside.begin(), of_nodes.outside.end());
  }
  const std::vector<std::string> partitions = text::split(job.partition, ",");
  const int each = cpus_per_core(nodes, wanted, excluded, gate.nodes);
  const int cpus = (gate.cpus + gate.nodes - 1) / gate.nodes;
  json made{{"id", std::to_string(job.id)},
            {"submitted_at", codec::rfc3339(Instant{gate.submitted_s * 1'000'000})},
            {"restarts", gate.restarts},
            {"user", line_of(job.user)},
            {"account", line_of(job.account)},
            {"qos", line_of(gate.qos)},
            {"nice", gate.nice},
            {"name", line_of(job.name)},
            {"partition", line_of(partitions.empty() ? "" : partitions.front())},
            {"nodes", gate.nodes},
            {"cores", (cpus + each - 1) / each},
            {"gpus", gate.gpus_per_node},
            {"gpu_model", line_of(read_mark(job.mark).model)},
            {"memory_bytes", gate.memory_per_node},
            {"exclusive", gate.is_exclusive},
            {"time_limit_s", gate.limit_minutes * 60},
            {"features", features_of(gate)},
            {"reservation", line_of(gate.reservation)},
            {"nodes_wanted", wanted},
            {"nodes_excluded", excluded},
            {"requeue", gate.may_requeue},
            {"batch", gate.is_batch}};
  // Older controllers know no such field.
  if (!gate.licences.empty()) {
    std::map<std::string, std::int64_t> amounts;
    for (const auto& [name, count] : gate.licences) amounts[licence_name(name)] += count;
    made["cluster_requests"] = amounts;
  }
  return made;
}

}  // namespace

std::string why_not_placed(const JobSeen& job) {
  const GateSeen& gate = *job.gate;
  if (!gate.cannot.empty()) return gate.cannot;
  if (!gate.features.empty() && !text::read_feature_expression(gate.features)) {
    return "features in a form that is not understood, or numbers of nodes with each "
           "(--constraint: join features by & and |)";
  }
  const std::string named = nodes_named(job);
  // The mark has to hold it, too.
  if (named.size() > kNamedBytesMax) return "a list of nodes of more than 100 characters";
  if (gate.nodes_excluded.size() > kHostlistBytesMax) return "a long list of excluded nodes";
  if (expanded(named).size() > static_cast<std::size_t>(gate.nodes)) {
    return "more nodes by name than it is to have";
  }
  return "";
}

std::string write_gate_request(const GateRequest& request, const std::vector<NodeSeen>& nodes) {
  json present = json::array();
  for (const GatePresent& one : request.present) {
    json object{{"id", std::to_string(one.id)}};
    if (one.job != 0) object["job"] = one.job;
    if (one.word == UserWord::kHold) object["word"] = "hold";
    if (one.word == UserWord::kRelease) object["word"] = "release";
    if (one.asks_why) object["asks_why"] = true;
    present.push_back(std::move(object));
  }
  json jobs = json::array();
  for (const JobSeen* job : request.jobs) {
    jobs.push_back(job_json(*job, nodes));
    jobs.back()["hold"] = request.user_holds.contains(job->id);
  }
  json object{{"incarnation", request.incarnation},
              {"number", request.number},
              {"present", std::move(present)},
              {"jobs", std::move(jobs)}};
  // Asked for alone: a controller of a former version would refuse it.
  if (request.room) object["room"] = true;
  return codec::dump_json(object);
}

Result<std::vector<GateJob>> read_gate_answer(std::string_view body) {
  constexpr std::array<std::string_view, 5> kStates{"unknown", "waiting", "active", "ended",
                                                    "refused"};
  TRY_ASSIGN(const json value, codec::parse_json(body, kAnswerBytesMax));
  std::vector<GateJob> jobs;
  codec::Failure failure;
  codec::JsonFields fields(value, "", failure);
  fields.allow_unknown();
  fields.objects("jobs", kJobsMax, [&](codec::JsonFields& inner, std::size_t) {
    GateJob& job = jobs.emplace_back();
    inner.allow_unknown();
    std::string id;
    inner.text("id", id, kNameRule);
    std::from_chars(id.data(), id.data() + id.size(), job.id);
    inner.integer("job", job.job, 0, kNumberMax);
    inner.text("why", job.why);
    const int state = inner.one_of("state", kStates);
    if (state > 0) job.state = static_cast<GateJob::State>(state);
  });
  if (failure.any()) return failure.error();
  return jobs;
}

}  // namespace dove::slurm
