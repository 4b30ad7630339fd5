#include "cli/slurm/config_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/client/views.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"
#include "wire/address.h"

namespace dove::cli {
namespace {

using nlohmann::json;

std::string seconds(const json& settings, const char* name) {
  return fmt::format("{} sec", span_us_of(settings, name) / 1'000'000);
}

std::string licences(const json& settings) {
  std::string text;
  if (!settings.contains("countables") || !settings["countables"].is_object()) return "(null)";
  for (const auto& [name, amount] : settings["countables"].items()) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name, amount.dump());
  }
  return text.empty() ? "(null)" : text;
}

}  // namespace

std::string config_page(const json& cluster, const json& objects, const std::string& url,
                        std::int64_t now_us) {
  const json& list = items_of(objects, "objects");
  const json settings = list.empty() ? json::object() : list[0];
  const bool preempts = flag_of(settings, "preemption");
  const Result<wire::ServerUrl> parsed = wire::parse_server_url(url);
  const wire::ServerUrl server = parsed.ok() ? *parsed : wire::ServerUrl{};
  std::string out = fmt::format("Configuration data as of {}\n", local_time_text(now_us));
  const auto line = [&](const char* name, const std::string& value) {
    out += fmt::format("{:<23} = {}\n", name, value.empty() ? "(null)" : value);
  };
  line("AccountingStorageEnforce", "none");
  line("AccountingStorageHost", server.host);
  line("AccountingStorageTRES", "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu");
  line("AccountingStorageType", "accounting_storage/slurmdbd");
  line("ClusterName", text_of(cluster, "name"));
  line("DefMemPerNode", "UNLIMITED");
  line("EnforcePartLimits", "ALL");
  line("FirstJobId", "1");
  line("GresTypes", "gpu");
  line("InactiveLimit", "0 sec");
  line("JobAcctGatherType", "jobacct_gather/none");
  line("JobCompType", "jobcomp/none");
  line("JobRequeue", "1");
  line("KillOnBadExit", "0");
  line("Licenses", licences(settings));
  line("MaxArraySize", std::to_string(number_of(settings, "array_max")));
  line("MaxJobCount", std::to_string(number_of(settings, "jobs_max")));
  line("MaxMemPerNode", "UNLIMITED");
  line("MinJobAge", seconds(settings, "ended_jobs_kept"));
  line("MpiDefault", "none");
  line("OverTimeLimit", "0 min");
  line("PreemptMode", preempts ? "REQUEUE" : "OFF");
  line("PreemptType", preempts ? "preempt/qos" : "preempt/none");
  line("PriorityDecayHalfLife", clock_text(span_us_of(settings, "fair_share_half_life")));
  const json weights = settings.value("multifactor", json::object());
  const auto points = [&](const char* name) { return std::to_string(number_of(weights, name)); };
  const std::int64_t size = number_of(weights, "size");
  line("PriorityFavorSmall", size < 0 ? "Yes" : "No");
  line("PriorityMaxAge", clock_text(span_us_of(weights, "age_span")));
  line("PriorityType", "priority/multifactor");
  line("PriorityWeightAge", points("age"));
  line("PriorityWeightAssoc", "0");
  line("PriorityWeightFairShare", points("fair_share"));
  line("PriorityWeightJobSize", std::to_string(size < 0 ? -size : size));
  line("PriorityWeightPartition", "0");
  line("PriorityWeightQOS", points("queue_priority"));
  line("PriorityWeightTRES", "(null)");
  line("PrivateData", "none");
  line("ProctrackType", "proctrack/cgroup");
  line("SchedulerType", "sched/backfill");
  line("SelectType", "select/cons_tres");
  line("SelectTypeParameters", "CR_CORE_MEMORY");
  line("SlurmctldHost[0]", server.host);
  line("SlurmctldPort", std::to_string(server.port));
  line("SlurmdTimeout", seconds(settings, "silent_after"));
  line("SLURM_VERSION", fmt::format("22.05.8 (dove {})", text_of(cluster, "version")));
  line("SwitchType", "switch/none");
  line("TaskPlugin", "task/affinity");
  line("TmpFS", "/tmp");
  line("TopologyPlugin", "topology/tree");
  line("WaitTime", "0 sec");
  return out + fmt::format("\nSlurmctld(primary) at {} is UP\n", server.host);
}

}  // namespace dove::cli
