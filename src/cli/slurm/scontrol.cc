// scontrol under its own name: show, hold, release, requeue, and the updates that have an effect.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/client/pages.h"
#include "cli/commands/job_list.h"
#include "cli/face.h"
#include "cli/families.h"
#include "cli/slurm/config_page.h"
#include "cli/slurm/job_page.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"
#include "telemetry/clock.h"
#include "text/hostlist.h"

namespace dove::cli {
namespace {

using nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::string slurm_node_text(const NodeView& node) {
  std::string state = slurm_node_state(node, true);
  std::transform(state.begin(), state.end(), state.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (node.state == "drained") state = "IDLE+DRAIN";
  if (node.state == "draining") state = "MIXED+DRAIN";
  std::string out = fmt::format("NodeName={} Arch=x86_64\n", node.name);
  out += fmt::format("   CPUAlloc={} CPUEfctv={} CPUTot={} CPULoad=N/A\n",
                     node.cores - node.cores_free, node.cores, node.cores);
  const std::string features =
      node.features.empty() ? "(null)" : fmt::format("{}", fmt::join(node.features, ","));
  out += fmt::format("   AvailableFeatures={}\n   ActiveFeatures={}\n", features, features);
  out += fmt::format("   Gres={}\n", node.gpus == 0 ? "(null)" : fmt::format("gpu:{}", node.gpus));
  out += fmt::format("   NodeAddr={} NodeHostName={}\n", node.address, node.name);
  out +=
      fmt::format("   RealMemory={} AllocMem={} FreeMem={}\n", node.memory_bytes >> 20,
                  (node.memory_bytes - node.memory_free_bytes) >> 20, node.memory_free_bytes >> 20);
  out += fmt::format("   State={} ThreadsPerCore=1\n", state);
  if (!node.drain_reason.empty()) out += fmt::format("   Reason={}\n", node.drain_reason);
  return out;
}

std::string slurm_partition_text(const PartitionView& partition) {
  std::vector<std::string> names;
  std::int64_t cores = 0;
  for (const NodeView& node : partition.nodes) {
    names.push_back(node.name);
    cores += node.cores;
  }
  return fmt::format(
      "PartitionName={}\n   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n   Default={}\n"
      "   MaxNodes=UNLIMITED MaxTime={} MinNodes=0\n   Nodes={}\n   State={} TotalCPUs={} "
      "TotalNodes={}\n",
      partition.name, partition.is_default ? "YES" : "NO",
      partition.time_limit_max_us == 0 ? "UNLIMITED" : clock_text(partition.time_limit_max_us),
      text::fold_sorted_hostlist(names), partition.open ? "UP" : "INACTIVE", cores, names.size());
}

std::string on_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n   ", at)) != std::string::npos;) {
    text.replace(at, 4, " ");
  }
  return text;
}

Result<int> show_jobs(Api& api, const std::string& id, bool oneliner) {
  std::vector<json> found;
  if (id.empty()) {
    TRY_ASSIGN(found, list_jobs(api, {}));
  } else {
    TRY_ASSIGN(found, find_jobs(api, id));
  }
  std::vector<JobView> jobs;
  for (const json& one : found) {
    // Entries of lists leave out what only a job's own page says.
    const Result<json> whole =
        found.size() > 50 ? Result<json>(one) : api.get(job_target(text_of(one, "id")));
    jobs.push_back(read_job(whole.ok() ? *whole : one));
  }
  fetch_reasons(api, jobs, 50);
  if (jobs.empty()) print("No jobs in the system\n");
  for (const JobView& job : jobs) {
    const std::string text = job_page(job, telemetry::now_us());
    print(oneliner ? on_one_line(text) : text + "\n");
  }
  return 0;
}

Result<int> show_nodes(Api& api, const std::string& names) {
  if (names.empty()) {
    TRY_ASSIGN(const json answer, get_all(api, "/v1/nodes", "nodes"));
    for (const json& node : items_of(answer, "nodes"))
      print(slurm_node_text(read_node(node)) + "\n");
    return 0;
  }
  for (const std::string& name : text::expand_hostlist(names)) {
    TRY_ASSIGN(const json node, api.get(node_target(name)));
    print(slurm_node_text(read_node(node)) + "\n");
  }
  return 0;
}

Result<int> show_partitions(Api& api, const std::string& name) {
  TRY_ASSIGN(const std::vector<PartitionView> partitions, read_partitions(api));
  bool shown = false;
  for (const PartitionView& partition : partitions) {
    if (!name.empty() && partition.name != name) continue;
    print(slurm_partition_text(partition) + "\n");
    shown = true;
  }
  if (!shown)
    return Error{ErrorKind::kNotFound, "not_found", fmt::format("Partition {} not found", name),
                 ""};
  return 0;
}

// "show hostnames" and "show hostlist" are for scripts inside jobs and need no server.
Result<int> run_show(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.operands;
  std::string what = words.size() > 1 ? lower(words[1]) : "";
  std::string which = words.size() > 2 ? words[2] : "";
  if (const std::size_t equals = what.find('='); equals != std::string::npos) {
    which = words[1].substr(equals + 1);
    what.resize(equals);
  }
  if (what == "hostnames" || what == "hostname") {
    if (which.empty()) which = environment_value("SLURM_JOB_NODELIST");
    for (const std::string& name : text::expand_hostlist(which)) print(name + "\n");
    return 0;
  }
  if (what == "hostlist" || what == "hostlistsorted") {
    std::vector<std::string> names = text::expand_hostlist(which);
    if (what == "hostlistsorted") std::sort(names.begin(), names.end());
    print(text::fold_hostlist(names) + "\n");
    return 0;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  if (what == "job" || what == "jobs" || what == "jobid")
    return show_jobs(api, which, invocation.has("oneliner"));
  if (what == "node" || what == "nodes" || what == "nodename") return show_nodes(api, which);
  if (what == "partition" || what == "partitions" || what == "partitionname")
    return show_partitions(api, which);
  if (what == "config") {
    TRY_ASSIGN(const json cluster, api.get("/v1/cluster"));
    TRY_ASSIGN(const json settings, api.get("/v1/objects?kind=Cluster"));
    print(config_page(cluster, settings, api.endpoint().url, telemetry::now_us()));
    return 0;
  }
  return usage_error(
      fmt::format("show {}: there are job, node, partition, config, hostnames and hostlist", what));
}

Result<int> run_action(const Invocation& invocation, const std::string& action) {
  if (invocation.operands.size() < 2) return usage_error(fmt::format("{}: name the jobs", action));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  for (std::size_t i = 1; i < invocation.operands.size(); ++i) {
    for (std::string id : comma_list(invocation.operands[i])) {
      const std::size_t equals = id.find('=');
      if (equals != std::string::npos) id.erase(0, equals + 1);
      TRY(api.send("POST", job_target(id, "/" + action), json::object()));
    }
  }
  return 0;
}

Result<int> update_node(Api& api, std::map<std::string, std::string>& values) {
  const std::string state = lower(values["state"]);
  const bool drain = state == "drain";
  if (!drain && state != "resume" && state != "undrain") {
    return usage_error(
        "for a node, only State=DRAIN (with Reason=) and State=RESUME can be set here; see `dove "
        "apply`");
  }
  for (const std::string& name : text::expand_hostlist(values["nodename"])) {
    json body = json::object();
    if (drain) body["reason"] = values["reason"];
    TRY(api.send("POST", node_target(name, drain ? "/drain" : "/undrain"), body));
  }
  return 0;
}

Result<int> run_update(const Invocation& invocation) {
  std::map<std::string, std::string> values;
  for (std::size_t i = 1; i < invocation.operands.size(); ++i) {
    const std::string& word = invocation.operands[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      return usage_error(fmt::format("update: '{}' is not NAME=VALUE", word));
    values[lower(word.substr(0, equals))] = word.substr(equals + 1);
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  if (values.count("nodename") != 0) return update_node(api, values);
  const std::string job = values.count("jobid") != 0 ? values["jobid"] : values["job"];
  const std::string priority = values["priority"];
  const bool only_priority = values.size() == 2 && !priority.empty() && !job.empty() &&
                             priority.find_first_not_of("-0123456789") == std::string::npos;
  if (!only_priority) {
    return usage_error(
        "for a job, only Priority=NUMBER can be changed after submission; for anything else, "
        "cancel it and submit it again");
  }
  TRY(api.send("POST", job_target(job, "/priority"),
               json{{"priority", std::atoll(priority.c_str())}}));
  return 0;
}

Result<int> run_scontrol(const Invocation& invocation) {
  if (invocation.has("version")) {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  const std::string verb = invocation.operands.empty() ? "" : lower(invocation.operands[0]);
  if (verb == "show") return run_show(invocation);
  if (verb == "hold" || verb == "uhold") return run_action(invocation, "hold");
  if (verb == "release" || verb == "requeue") return run_action(invocation, verb);
  if (verb == "update") return run_update(invocation);
  if (verb == "ping") {
    TRY_ASSIGN(Api api, Api::connect(invocation));
    TRY(api.get("/v1/cluster"));
    print(fmt::format("Slurmctld(primary) at {} is UP\n", api.endpoint().url));
    return 0;
  }
  if (verb == "version") {
    print("slurm 22.05 (dove)\n");
    return 0;
  }
  return usage_error(fmt::format(
      "'{}' is not supported: there are show, hold, release, requeue, update, ping and version",
      verb));
}

}  // namespace

std::vector<Command> scontrol_commands() {
  CommandSpec spec;
  spec.name = "scontrol";
  spec.summary = "Show and change jobs and nodes (as Slurm's)";
  spec.group = kFaceGroup;
  spec.operands = "show|hold|release|requeue|update|ping [ARGUMENT...]";
  spec.operands_max = -1;
  spec.description =
      "show job [ID] | node [NAMES] | partition [NAME] | config | hostnames LIST | hostlist "
      "NAMES;\n"
      "hold, release, requeue ID...; update JobId=ID Priority=N; update NodeName=N "
      "State=DRAIN|RESUME.";
  spec.options = {{"oneliner", 'o', "", "each job on one line"},
                  {"details", 'd', "", "accepted"},
                  {"all", 'a', "", "accepted"},
                  {"version", 'V', "", "print the version"}};
  return {{spec, guarded_face("scontrol", run_scontrol)}};
}

}  // namespace dove::cli
