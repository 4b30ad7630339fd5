// The options of slurm.conf outside lines of nodes and partitions, and what becomes of each.
#include "slurm/migrate/option_table.h"

namespace dove::slurm {
namespace {

constexpr Verdict kCarried = Verdict::kCarried;
constexpr Verdict kApproximated = Verdict::kApproximated;
constexpr Verdict kNone = Verdict::kNone;

// Who may use what, in which order.
const OptionGroup kPolicies[] = {
    {kCarried, "array_max of the cluster", "MaxArraySize"},
    {kCarried, "jobs_max of the cluster", "MaxJobCount"},
    {kCarried, "fair_share_half_life of the cluster", "PriorityDecayHalfLife"},
    {kCarried, "countables of the cluster", "Licenses"},
    {kApproximated, "order of the cluster: multifactor, or priority_fifo for priority/basic",
     "PriorityType"},
    {kCarried, "age of the cluster's multifactor: docs/guide/queues.md", "PriorityWeightAge"},
    {kApproximated,
     "age_span of the cluster's multifactor; a job that waits longer goes on gaining, so that none "
     "starves",
     "PriorityMaxAge"},
    {kApproximated,
     "fair_share of the cluster's multifactor: a user who recently used the whole cluster loses it",
     "PriorityWeightFairshare"},
    {kApproximated, "size of the cluster's multifactor, for each GPU, or ten cores, of a job",
     "PriorityWeightJobSize"},
    {kApproximated, "queue_priority of the cluster's multifactor, for each point of the queue's",
     "PriorityWeightQOS"},
    {kCarried, "size of the cluster's multifactor is below 0", "PriorityFavorSmall"},
    {kNone, "projects and pools have no priority of their own: give queues one",
     "PriorityWeightAssoc PriorityWeightPartition"},
    {kNone, "size of the cluster's multifactor weighs GPUs and cores", "PriorityWeightTRES"},
    {kNone, "the order multifactor has no flags: docs/guide/queues.md",
     "PriorityFlags PriorityParameters"},
    {kNone, "usage halves with time and is never set back",
     "PriorityUsageResetPeriod PriorityCalcPeriod FairShareDampeningFactor"},
    {kNone, "a policy of your own can order jobs: docs/recipes/policy.md",
     "PrioritySiteFactorParameters PrioritySiteFactorPlugin"},
    {kApproximated,
     "preemption of the cluster is on or off; bands of queues and a job's own word (preempt) "
     "decide "
     "who gives way",
     "PreemptType PreemptMode"},
    {kNone, "an attempt runs for at least ten minutes before it is stopped for another's sake",
     "PreemptExemptTime"},
    {kApproximated, "job_visibility of the cluster is members when it names jobs or all",
     "PrivateData"},
    {kApproximated, "limits of pools and projects are checked at submission",
     "EnforcePartLimits AccountingStorageEnforce"},
    {kApproximated, "backfill with promised starts is always on: docs/guide/backfill.md",
     "SchedulerType SchedulerParameters"},
    {kNone, "queues are not served by time slices", "SchedulerTimeSlice"},
    {kApproximated, "cores, memory and devices are always counted, each core and device by its id",
     "SelectType SelectTypeParameters GresTypes"},
    {kApproximated, "the order of jobs is decided by queues; say it with order, band and weight",
     "MCSPlugin MCSParameters"},
    {kNone, "reservations have no programs and end on time", "ResvEpilog ResvProlog ResvOverRun"},
    {kNone, "submissions are not rewritten; docs/guide/sbatch.md says what each option does",
     "JobSubmitPlugins CliFilterPlugins"},
    {kNone, "a job says how much memory and how many cores it needs",
     "DefMemPerCPU DefMemPerNode DefMemPerGPU DefCpuPerGPU JobDefaults"},
    {kNone, "give projects or queues limits of memory", "MaxMemPerCPU MaxMemPerNode"},
    {kNone, "root's jobs are jobs like others", "DisableRootJobs"},
    {kNone, "a job ends at its time limit", "OverTimeLimit"},
    {kNone, "Dovetail's limits: docs/guide/sbatch.md",
     "MaxStepCount MaxTasksPerNode MaxNodeCount FirstJobId MaxJobId"},
    {kNone, "work is counted by project", "TrackWCKey"},
    {kNone, "one controller; a federation is Slurm's own", "FederationParameters"},
    {kNone, "dependencies have no settings", "DependencyParameters"},
};

// How jobs run on nodes.
const OptionGroup kNodesAndTasks[] = {
    {kApproximated, "each task has a cgroup with its cores, memory and devices",
     "ProctrackType TaskPlugin TaskPluginParam JobAcctGatherParams VSizeFactor"},
    {kApproximated, "containers: docs/operate/containers.md", "JobContainerType"},
    {kApproximated, "programs in the agent's --checks directory, run every 30 s",
     "HealthCheckProgram HealthCheckInterval HealthCheckNodeState"},
    {kApproximated, "program `reboot` in the agent's --hooks directory: docs/operate/health.md",
     "RebootProgram"},
    {kApproximated, "programs in the agent's --preflight directory try a node before a job starts",
     "Prolog PrologSlurmctld PrologFlags PrologEpilogTimeout PrEpPlugins PrEpParameters"},
    {kNone, "no program of the site runs after a job; put it into the agent's --checks",
     "Epilog EpilogSlurmctld EpilogMsgTime"},
    {kNone, "no program of the site runs around tasks and steps",
     "TaskProlog TaskEpilog SrunProlog SrunEpilog"},
    {kApproximated, "a job says whether it may run again",
     "JobRequeue RequeueExit RequeueExitHold"},
    {kApproximated, "a job's grace before it is killed: `--signal`, docs/guide/sbatch.md",
     "KillWait"},
    {kApproximated, "silent_after, disconnect_grace and fence of the cluster",
     "SlurmctldTimeout SlurmdTimeout ReturnToService"},
    {kApproximated, "topology of kind Node: docs/guide/placement.md",
     "TopologyPlugin TopologyParam RoutePlugin"},
    {kApproximated, "agents watch and report what tasks use; nothing is to be set",
     "AcctGatherNodeFreq AcctGatherEnergyType AcctGatherInterconnectType "
     "AcctGatherInfinibandType AcctGatherFilesystemType AcctGatherProfileType JobAcctGatherType "
     "JobAcctGatherFrequency"},
    {kApproximated, "cores_reserved and memory_reserved of kind Node keep some for the system",
     "AllowSpecResourcesUsage CoreSpecPlugin"},
    {kApproximated, "Open MPI starts its ranks through dove; other launchers find their hosts",
     "MpiDefault MpiParams"},
    {kNone, "no clocks of cores and devices are set", "CpuFreqDef CpuFreqGovernors GpuFreqDef"},
    {kNone, "no power is measured or saved by switching nodes off",
     "PowerParameters PowerPlugin SuspendExcNodes SuspendExcParts SuspendProgram SuspendRate "
     "SuspendTime SuspendTimeout ResumeFailProgram ResumeProgram ResumeRate ResumeTimeout "
     "ExtSensorsType ExtSensorsFreq"},
    {kNone, "no burst buffers", "BurstBufferType BurstBufferParameters"},
    {kNone, "features of nodes are declared, never changed for a job", "NodeFeaturesPlugins"},
    {kNone, "docs/operate/network.md says how nodes reach each other",
     "SwitchType SwitchParameters"},
    {kNone, "limits of the submitter's shell are not handed on",
     "PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept"},
    {kNone, "the agent ends what is left, and reports what cannot be ended",
     "UnkillableStepProgram UnkillableStepTimeout"},
    {kNone, "a gang ends when one of its tasks fails", "KillOnBadExit WaitTime"},
    {kNone, "attempts have output files of their own", "JobFileAppend"},
    {kNone, "tasks run in no PAM session", "UsePAM"},
    {kNone, "windows are forwarded by `dove port-forward`", "X11Parameters"},
    {kNone, "jobs have a directory of their own on their node", "TmpFS"},
    {kNone, "programs are not copied by the scheduler",
     "BcastExclude BcastParameters "
     "SbcastParameters"},
    {kNone, "no periodic jobs", "ScronParameters"},
    {kNone, "`salloc` and `srun` work as docs/guide/slurm_commands.md says",
     "InteractiveStepOptions LaunchParameters LaunchType SallocDefaultCommand"},
    {kNone, "a notebook or a shell runs until its time limit", "InactiveLimit"},
};

// Slurm's own daemons, files and connections.
const OptionGroup kDaemons[] = {
    {kApproximated, "all accounting is in the controller's log; `sacct` reads it",
     "AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost "
     "AccountingStorageLoc AccountingStorageParameters AccountingStoragePass "
     "AccountingStoragePort AccountingStorageTRES AccountingStorageType AccountingStorageUser "
     "AccountingStoreFlags AccountingStoreJobComment JobCompHost JobCompLoc JobCompParams "
     "JobCompPass JobCompPort JobCompType JobCompUser MaxDBDMsgs"},
    {kApproximated, "tokens, keys and certificates: docs/operate/tls.md, docs/operate/people.md",
     "AuthAltTypes AuthAltParameters AuthInfo AuthType CredType CryptoType "
     "JobCredentialPrivateKey JobCredentialPublicCertificate"},
    {kApproximated, "ended jobs stay in lists for ended_jobs_kept of the cluster", "MinJobAge"},
    {kNone, "the cluster keeps the name that `dove server` gave it", "ClusterName"},
    {kNone, "settings of Slurm's daemons; `dove server --help` and `dove agent --help` have theirs",
     "SlurmctldHost SlurmctldAddr SlurmctldPort SlurmctldParameters SlurmctldPidFile "
     "SlurmctldPlugstack SlurmctldLogFile SlurmctldDebug SlurmctldSyslogDebug "
     "SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmdLogFile SlurmdDebug SlurmdParameters "
     "SlurmdPidFile SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdUser SlurmUser "
     "SlurmSchedLogFile SlurmSchedLogLevel StateSaveLocation ControlMachine ControlAddr "
     "BackupController BackupAddr PluginDir PlugStackConfig DebugFlags LogTimeFormat "
     "ReconfigFlags SchedulerAuth FastSchedule SlurmEventHandlerLogfile"},
    {kNone, "agents dial out to the controller; nothing is to be set",
     "CommunicationParameters TreeWidth TCPTimeout MessageTimeout KeepAliveTime EioTimeout "
     "SrunPortRange BatchStartTimeout CompleteWait GetEnvTimeout"},
    {kNone, "Linux users and groups are looked up when they are needed",
     "GroupUpdateForce GroupUpdateTime"},
    {kNone, "people choose what they hear about: `dove notices`, docs/operate/notices.md",
     "MailProg MailDomain"},
};

}  // namespace

const std::vector<OptionGroup>& global_option_groups() {
  static const std::vector<OptionGroup> kAll = [] {
    std::vector<OptionGroup> all(std::begin(kPolicies), std::end(kPolicies));
    all.insert(all.end(), std::begin(kNodesAndTasks), std::end(kNodesAndTasks));
    all.insert(all.end(), std::begin(kDaemons), std::end(kDaemons));
    return all;
  }();
  return kAll;
}

}  // namespace dove::slurm
