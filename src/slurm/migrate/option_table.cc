#include "slurm/migrate/option_table.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "slurm/migrate/conf_file.h"

namespace dove::slurm {
namespace {

constexpr Verdict kCarried = Verdict::kCarried;
constexpr Verdict kApproximated = Verdict::kApproximated;
constexpr Verdict kNone = Verdict::kNone;
constexpr const char kFound[] = "the agent of the node finds it";

const std::vector<OptionGroup> kNodeOptions = {
    {kCarried, "the node's name; its agent joins by it (dove join-token create)", "NodeName"},
    {kCarried, "features of kind Node", "Features Feature"},
    {kCarried, "cores_reserved of kind Node", "CoreSpecCount"},
    {kCarried, "memory_reserved of kind Node", "MemSpecLimit"},
    {kApproximated, "drained of kind Node, for DOWN, DRAIN and FAIL", "State"},
    {kApproximated, "drain_reason of kind Node, where the node is drained", "Reason"},
    {kApproximated, "the agent finds GPUs; other resources are countables of kind Node", "Gres"},
    {kApproximated, kFound,
     "CPUs Procs Boards Sockets SocketsPerBoard CoresPerSocket ThreadsPerCore RealMemory TmpDisk"},
    {kApproximated, "say how many cores to reserve (cores_reserved): the lowest are kept",
     "CpuSpecList"},
    {kNone, "placement has its own order: docs/guide/placement.md", "Weight"},
    {kNone, "the agent dials out: nobody needs to know where a node is",
     "NodeHostname NodeAddr BcastAddr Port"},
    {kNone, "tasks are bound to the cores that they were given", "CpuBind"},
};

const std::vector<OptionGroup> kPartitionOptions = {
    {kCarried, "a pool", "PartitionName"},
    {kCarried, "nodes of the pool", "Nodes"},
    {kCarried, "default of the pool", "Default"},
    {kCarried, "time_limit_max of the pool", "MaxTime"},
    {kCarried, "time_limit_default of the pool", "DefaultTime"},
    {kCarried, "projects of the pool", "AllowAccounts"},
    {kCarried, "users of the pool: root", "RootOnly"},
    {kApproximated, "open of the pool is false for DOWN, DRAIN and INACTIVE", "State"},
    {kApproximated, "users of the pool: the group's members of today", "AllowGroups"},
    {kApproximated,
     "exclusive of the pool for EXCLUSIVE; devices and cores are never oversubscribed",
     "OverSubscribe Shared"},
    {kNone, "pools have no priority: give queues a band or a priority",
     "PriorityTier PriorityJobFactor Priority"},
    {kNone, "a queue, not a pool, says who waits: name it with --qos", "AllowQos DenyQos QOS"},
    {kNone, "list the projects that may use the pool (projects)", "DenyAccounts"},
    {kNone, "preemption is decided by queues, not by pools", "PreemptMode GraceTime"},
    {kNone, "a job says how much it needs; limits are those of queues, projects and users",
     "MaxNodes MinNodes MaxCPUsPerNode MaxMemPerCPU MaxMemPerNode DefMemPerCPU DefMemPerGPU "
     "DefMemPerNode DefCpuPerGPU"},
    {kNone, "submissions come from anywhere", "AllocNodes Hidden Alternate"},
    {kNone, "placement has one policy for the cluster: docs/guide/placement.md",
     "LLN SelectTypeParameters CpuBind ExclusiveUser"},
    {kNone, "usage is counted in cores and GPUs as they are", "TRESBillingWeights"},
    {kNone, "root's jobs are jobs like others", "DisableRootJobs"},
    {kNone, "kind Reservation keeps nodes for users and projects", "ReqResv"},
    {kNone, "a job ends at its time limit", "OverTimeLimit"},
    {kNone, "Dovetail does not switch nodes off", "ResumeTimeout SuspendTime SuspendTimeout"},
};

const std::vector<OptionGroup> kDownOptions = {
    {kCarried, "drained of kind Node", "DownNodes State"},
    {kCarried, "drain_reason of kind Node", "Reason"},
};

const std::vector<OptionGroup> kFrontendOptions = {
    {kNone, "nodes have agents of their own; there are no front ends",
     "FrontendName FrontendAddr AllowGroups AllowUsers DenyGroups DenyUsers Port Reason State"},
};

const std::vector<OptionGroup> kNodeSetOptions = {
    {kCarried, "its nodes are listed in the pools that name it", "NodeSet Nodes Feature"},
};

const std::vector<OptionGroup> kGresOptions = {
    {kApproximated, "the agent finds GPUs by NVML or ROCm, with their links, cores and files",
     "Name Type File Count Cores CPUs Links Flags AutoDetect NodeName MultipleFiles Ignore"},
};

const std::vector<OptionGroup> kAssociationOptions = {
    {kCarried, "a project, and a queue by its weight", "Account"},
    {kCarried, "a user, and a member of the project", "User"},
    {kApproximated,
     "limits of the project, which refuse a submission where Slurm lets it wait, or of the user",
     "GrpTRES"},
    {kCarried, "jobs_running of the project, or of the user", "GrpJobs"},
    {kCarried, "a binding as manager of the project", "Coordinator"},
    {kApproximated,
     "the queue is below its parent's; limits of a parent do not bind its children's projects",
     "Parent"},
    {kApproximated,
     "weight of the account's queue; jobs are counted there that name it (--qos), and "
     "Slurm's by `queues` of the executor",
     "Fairshare"},
    {kApproximated, "jobs_waiting, which counts waiting jobs alone", "GrpSubmitJobs MaxSubmitJobs"},
    {kApproximated, "jobs_running of the user, for all accounts together", "MaxJobs"},
    {kApproximated, "a binding on the cluster: admin for Administrator, manager for Operator",
     "AdminLevel"},
    {kNone, "the cluster keeps its own name; defaults of a cluster are not handed down", "Cluster"},
    {kNone, "limits are on what is held at once; usage decides the order, not whether",
     "GrpTRESMins GrpTRESRunMins GrpCPUMins GrpCPURunMins GrpWall MaxTRESMins MaxTRESMinsPerJob "
     "MaxTRESRunMins MaxCPUMins MaxCPUMinsPerJob"},
    {kNone, "a job has no limits of its own beyond those of its pool, project, user and queue",
     "MaxTRESPerJob MaxTRESPerNode MaxTRES MaxNodes MaxNodesPerJob MaxCPUs MaxCPUsPerJob "
     "MaxWallDurationPerJob MaxWall GrpNodes GrpCPUs GrpMem"},
    {kNone, "all waiting jobs grow older", "GrpJobsAccrue MaxJobsAccrue MinPrioThreshold"},
    {kNone, "any user may name any queue", "QOS DefaultQOS QosLevel"},
    {kNone, "jobs name their project (--account)", "DefaultAccount"},
    {kNone, "priority of jobs is their own, or their queue's", "Priority"},
    {kNone, "words for people",
     "Description Organization Classification Flags DefaultWCKey WCKeys "
     "UserId Partition Comment"},
};

const std::vector<OptionGroup> kQosOptions = {
    {kCarried, "a queue", "Name"},
    {kCarried, "priority of the queue", "Priority"},
    {kCarried, "limits of the queue: cores, memory, GPUs, GPUs by model", "GrpTRES"},
    {kCarried, "jobs_running of the queue", "GrpJobs"},
    {kApproximated, "a higher band than the queues that it may preempt", "Preempt"},
    {kApproximated, "jobs_waiting of the queue, which counts waiting jobs alone",
     "GrpSubmit GrpSubmitJobs"},
    {kNone, "limits of one user in a queue: give the user a Limit",
     "MaxTRESPU MaxTRESPerUser MaxJobsPU MaxJobsPerUser MaxSubmitPU MaxSubmitJobsPerUser "
     "MaxTRESPA MaxTRESPerAccount MaxJobsPA MaxJobsPerAccount MaxSubmitPA "
     "MaxSubmitJobsPerAccount MaxTRESRunMinsPA MaxTRESRunMinsPU MaxJobsAccruePA "
     "MaxJobsAccruePerAccount MaxJobsAccruePU MaxJobsAccruePerUser"},
    {kNone, "limits are on what is held at once",
     "GrpTRESMins GrpTRESRunMins GrpWall GrpJobsAccrue MaxTRESMins MaxTRESMinsPerJob"},
    {kNone, "a job has no limits of its own beyond those of its pool, project, user and queue",
     "MaxTRES MaxTRESPerJob MaxTRESPerNode MaxWall MaxWallDurationPerJob MinTRES MinTRESPerJob "
     "MinPrioThres MinPrioThreshold"},
    {kNone, "how a job gives way is the job's word (preempt: checkpoint, restart)",
     "PreemptMode PreemptExemptTime GraceTime"},
    {kNone, "usage is counted as it is", "UsageFactor UsageThres UsageThreshold LimitFactor"},
    {kNone, "words for people, or of Slurm's own", "Description Flags ID"},
};

std::vector<OptionRule> expand(const std::vector<OptionGroup>& groups) {
  std::vector<OptionRule> rules;
  for (const OptionGroup& group : groups) {
    std::istringstream names(group.names);
    for (std::string name; names >> name;) rules.push_back({name, group.verdict, group.note});
  }
  return rules;
}

}  // namespace

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCarried:
      return "carried over";
    case Verdict::kApproximated:
      return "approximated";
    case Verdict::kNone:
      return "without counterpart";
  }
  return "";
}

const std::vector<OptionRule>& options_of(OptionPlace place) {
  static const std::array<std::vector<OptionRule>, 9> kRules = {
      expand(global_option_groups()), expand(kNodeOptions),        expand(kPartitionOptions),
      expand(kDownOptions),           expand(kFrontendOptions),    expand(kNodeSetOptions),
      expand(kGresOptions),           expand(kAssociationOptions), expand(kQosOptions)};
  return kRules[static_cast<std::size_t>(place)];
}

const OptionRule* find_option(OptionPlace place, std::string_view name) {
  const std::vector<OptionRule>& rules = options_of(place);
  const auto at = std::find_if(rules.begin(), rules.end(),
                               [&](const OptionRule& rule) { return same_word(rule.name, name); });
  return at == rules.end() ? nullptr : &*at;
}

}  // namespace dove::slurm
