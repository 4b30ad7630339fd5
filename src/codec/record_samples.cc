#include "codec/record_samples.h"

namespace dove::codec {

JobSpec sample_spec() {
  Request per_task;
  per_task.cores = 4;
  per_task.memory_bytes = std::int64_t{64} << 30;
  per_task.gpus = 2;
  per_task.gpu_model = "H200";
  per_task.gpu_memory_bytes = std::int64_t{80} << 30;
  per_task.countables = {{"rdma", 1}};
  Request per_node;
  per_node.memory_bytes = std::int64_t{1} << 20;
  per_node.share_milli = 250;
  Request sliced;
  sliced.slice = "1g.18gb";
  sliced.slices = 3;
  JobSpec spec;
  spec.name = "train";
  spec.user = "ada";
  spec.project = "vision";
  spec.queue = "long";
  spec.pool = "gpu";
  spec.priority = -5;
  spec.launch = LaunchMode::kBatch;
  spec.groups = {TaskGroup{"workers", 16, 2, 4, 8, per_task, per_node},
                 TaskGroup{"server", 1, 0, 0, 0, sliced, {}, Affinity::kInterleaved}};
  spec.cluster_requests = {{"licence:matlab", 2}};
  spec.time_limit = seconds(7200);
  spec.kill_grace = seconds(15);
  spec.begin_at = Instant{1'700'000'000'000'000};
  spec.dependencies = {{DependencyKind::kAfter, JobId{7}, seconds(60)},
                       {DependencyKind::kSingleton, JobId{}, {}}};
  spec.any_dependency = true;
  spec.array = {{0, 1, 5, 100}, 2};
  spec.retries_max = 3;
  spec.requeue = false;
  spec.hold = true;
  spec.exclusive = true;
  spec.features = {"nvlink", "ib"};
  spec.nodes_wanted = {"gpu-001", "gpu-002"};
  spec.nodes_excluded = {"gpu-009"};
  spec.exec_digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  spec.preempt = Preempt::kCheckpoint;
  spec.checkpoint_signal = 10;
  spec.checkpoint_grace = seconds(45);
  spec.slice_min = seconds(1800);
  spec.deadline = Instant{1'700'000'900'000'000};
  spec.reservation = "maintenance";
  spec.spread = Spread::kPack;
  spec.domain = "rack";
  spec.domain_required = true;
  spec.label = "trainer";
  spec.near_labels = {"cache"};
  spec.apart_labels = {"trainer"};
  spec.parent = JobId{12};
  spec.executor = "slurm";
  spec.foreign_job = "4711";
  spec.mail_about = {NoticeAbout::kJobEnded};
  spec.mail_to = "lab@example.org";
  spec.secrets = {{"hub", "HUB_TOKEN", ""}, {"deploy", "", "id_ed25519"}};
  return spec;
}

Inventory sample_inventory() {
  Inventory inventory;
  inventory.numa = {{{0, 1, 2, 3}, std::int64_t{32} << 30}, {{4, 5, 6, 7}, std::int64_t{32} << 30}};
  inventory.devices = {{"gpu", "nvidia", "H200", "GPU-1", std::int64_t{141} << 30, 0},
                       {"gpu", "amd", "MI300X", "GPU-2", std::int64_t{192} << 30, 1}};
  inventory.links = {{0, 1, "NV18"}};
  inventory.countables = {{"rdma", 8}};
  inventory.memory_bytes = std::int64_t{64} << 30;
  inventory.has_overlay = true;
  inventory.thread_order = {0, 2, 1, 3};
  inventory.threads_per_core = 2;
  return inventory;
}

Placement sample_placement() {
  Placement placement;
  placement.node = NodeId{3};
  placement.node_rank = 1;
  placement.cores = {0, 1, 2, 3};
  placement.devices = {{0, 1000, {}}, {1, 250, {4, 2, 1}}};
  placement.memory_bytes = std::int64_t{16} << 30;
  placement.countables = {{"rdma", 1}};
  placement.tasks = {{4, 0, 0, {0, 1}, {{0, 1000}}}, {5, 0, 1, {2, 3}, {{1, 250}}}};
  return placement;
}

ForeignUse sample_use() {
  return {"1235", "lab", Instant{1'700'000'000'000'000}, Instant{1'700'000'060'000'000},
          8,      1500,  std::int64_t{4} << 30};
}

ForeignAllocation sample_allocation() {
  ForeignAllocation allocation;
  allocation.id = "1234";
  allocation.cores = {0, 1};
  allocation.devices = {0, 1};
  allocation.memory_bytes = std::int64_t{4} << 30;
  allocation.user = "ada";
  allocation.account = "lab";
  allocation.name = "train";
  allocation.partition = "gpu";
  allocation.priority = 100;
  allocation.started_at = Instant{1'700'000'000'000'000};
  allocation.ends_by = Instant{1'700'000'900'000'000};
  allocation.may_requeue = true;
  return allocation;
}

namespace {

ClusterSettings sample_settings() {
  ClusterSettings settings;
  settings.name = "alpha";
  settings.fence = seconds(7);
  settings.disconnect_grace = seconds(400);
  settings.outage_grace = seconds(40'000);
  settings.silent_after = seconds(11);
  settings.effect_deadline = seconds(61);
  settings.array_max = 99;
  settings.jobs_max = 1234;
  settings.ended_jobs_kept = seconds(3600);
  settings.ended_jobs_max = 50;
  settings.requeues_max = 7;
  settings.max_unavailable = 3;
  settings.node_tests = true;
  settings.preflight = true;
  settings.lemon_faults = 5;
  settings.lemon_window = seconds(86400);
  settings.countables = {{"licence:matlab", 5}};
  settings.order = "fair_share";
  settings.fair_share_half_life = seconds(3600);
  settings.preemption = false;
  settings.placement = "fgd";
  settings.hang_after = seconds(900);
  settings.on_hang = OnHang::kRetry;
  settings.slow_percent = 150;
  settings.slow_reports = 5;
  settings.job_visibility = JobVisibility::kMembers;
  settings.affinity = Affinity::kInterleaved;
  settings.job_link_votes = false;
  settings.multifactor = {1000, seconds(14 * 86400), 100'000, -2, 500, 10};
  return settings;
}

UserDeclaration sample_user() {
  return UserDeclaration{"ada",
                         "ada_l",
                         true,
                         "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                         "corp",
                         true,
                         "vision",
                         "https://id.example.org 248289761001",
                         {"ssh-ed25519 AAAAC3Nz ada@laptop"},
                         {{NoticeBy::kMail, "ada@example.org", {NoticeAbout::kJobFailed}}},
                         "$argon2id$v=19$m=65536,t=3,p=1$c2FsdA$aGFzaA",
                         Instant{1'800'000'000'000'000}};
}

std::vector<StampedEvent> executor_events(const Cause& full) {
  return {
      {ForeignAllocationObserved{"slurm", NodeId{3}, sample_allocation()}, full},
      {ForeignAllocationEnded{"slurm", NodeId{3}, "1234"}, full},
      {PlaceholderMoved{"slurm", JobId{8}, 2, NodeId{3}, PlaceholderStage::kRefused, "1300",
                        "Resources", CoreSet{2, 3}},
       full},
      {ExecutorContactChanged{"slurm", ExecutorContact::kMute, "slurmctld is down"}, full},
      {ExecutorNodeObserved{"slurm", NodeId{3}, ExecutorNodeState::kDrained, "fan", {"ib"}}, full},
      {ForeignWatchResumed{"slurm", Instant{1'700'000'000'000'000}}, full},
      {ForeignUseFound{"slurm",
                       Instant{1'700'000'100'000'000},
                       Instant{1'700'000'000'000'000},
                       Instant{1'700'000'090'000'000},
                       {sample_use()}},
       full},
  };
}

std::vector<StampedEvent> session_events(const Cause& full) {
  return {{IdleObserved{JobId{8}, 2, IdleCheck::kUse, "tabs", "1 % of its GPUs, under 5 %",
                        seconds(600)},
           {}},
          {IdleEnded{JobId{8}, 2}, {}},
          {JobKept{JobId{8}, Instant{1'800'000'000'000'000}}, full},
          {JobShared{JobId{8}, {"bob", "eve"}}, full},
          {ClusterRestored{3, "the controller's disk failed"}, full},
          {ClockLeapt{seconds(-86'400), false}, full},
          {ClockAccepted{}, full},
          {LevelRaised{2}, full}};
}

// The kinds that came after the first ones.
std::vector<Declared> later_objects() {
  return {
      Executor{"slurm",
               "slurm-1",
               {"gpu-[001-004]"},
               false,
               {{"lab", "long"}},
               true,
               true,
               {{{"gpu-[001-002]"}, {0, 3}, 16, std::int64_t{1} << 38}},
               {"batch"},
               {"inference"}},
      App{"jupyter", "JupyterLab", "", "vision", R"({"gpus":1})"},
      Settings{"vision", "", "vision", R"({"queue":"long"})", {"queue"}},
      Secret{"token", "ada", "", "c2VhbGVk", Instant{1'700'000'000'000'000}},
      IdleRule{"tabs",
               {"ada"},
               {"vision"},
               {"code", "notebook"},
               true,
               false,
               seconds(3600),
               seconds(600),
               5,
               10,
               15,
               true,
               seconds(43'200),
               seconds(60),
               seconds(120)},
      BootConfig{"gpu",
                 {"gpu-[001-004]"},
                 "https://10.0.0.1:7717",
                 "http://10.0.0.2/vmlinuz",
                 "http://10.0.0.2/initrd",
                 "console=ttyS0",
                 "http://10.0.0.2/root.squashfs",
                 std::string(64, 'a'),
                 {"10.0.1.0/24"},
                 false,
                 std::string(64, 'f'),
                 seconds(300)},
  };
}

}  // namespace

std::vector<Declared> sample_objects() {
  const Limits limits{10,
                      100,
                      64,
                      8000,
                      std::int64_t{1} << 40,
                      {{"rdma", 4}},
                      {{"h200", 4000}},
                      std::int64_t{3'600'000},
                      {4, 32, 16'000, std::int64_t{1} << 38, seconds(7200)}};
  std::vector<Declared> objects = {
      sample_settings(),
      Pool{"gpu",
           {"gpu-[001-004]", "extra"},
           true,
           seconds(3600),
           seconds(86400),
           false,
           {"ada"},
           {"vision"},
           {"corp"},
           RunAs::kVirtual,
           PoolSwitch::kOn,
           true},
      Queue{"long",
            3,
            limits,
            false,
            "research",
            {32, 4000, std::int64_t{1} << 39, {{"rdma", 2}}, {{"h200", 2000}}},
            5,
            1,
            "drf",
            7,
            {2, 6, 0}},
      NodeDeclaration{"gpu-001",
                      true,
                      "fan",
                      {"ib"},
                      {{"rdma", 2}},
                      2,
                      std::int64_t{4} << 30,
                      {{"block", "b1"}, {"rack", "r12"}}},
      UserLimit{"ada", limits},
      sample_user(),
      Project{"vision", "corp", {"ada", "bob"}, limits},
      Reservation{"maintenance",
                  {"gpu-[001-002]"},
                  Instant{1'800'000'000'000'000},
                  Instant{1'800'003'600'000'000},
                  true,
                  {"ada"},
                  {"vision"}},
      Reservation{"spares", {"gpu-[003-004]"}, Instant{}, kNever, false, {}, {"vision"}, 16},
      Domain{"corp", "The Corporation", limits},
      Group{"staff", "corp", {"ada", "bob"}, {"interns"}},
      Binding{"visionaries", Role::kManager, "", "vision", {"ada"}, {"staff"}},
  };
  for (Declared& each : later_objects()) objects.push_back(std::move(each));
  for (Declared& each : objects) {
    std::visit([](auto& object) { object.labels = {{"room", "2"}, {"team", ""}}; }, each);
  }
  return objects;
}

std::vector<StampedEvent> sample_events() {
  const Cause full{"ada", "corp", "vision", "long", "r-1", "key-1", std::string(64, 'a'), Seq{41}};
  const TaskExit exit{2, 3, 9, "fenced"};
  NodeRegistered registered{"gpu-001",
                            "boot-1",
                            "native",
                            "10.0.0.7:7000",
                            std::string(64, 'b'),
                            std::make_shared<const Inventory>(sample_inventory()),
                            std::string(32, 'd'),
                            "boot-0"};
  std::vector<StampedEvent> events = {
      {ControllerStarted{"build-1", "policy-1", 2}, {}},
      {TimeReached{}, {}},
      {JobSubmitted{std::make_shared<const JobSpec>(sample_spec())}, full},
      {JobCancelRequested{JobId{8}}, full},
      {JobHeld{JobId{9}}, full},
      {JobReleased{JobId{9}}, full},
      {JobRequeueRequested{JobId{10}}, full},
      {JobPriorityChanged{JobId{11}, -7}, full},
      {registered, full},
      {NodeConnected{NodeId{3}, "boot-1", "0.2.0", 7001}, {}},
      {NodeDisconnected{NodeId{3}, true}, {}},
      {NodeRemoved{NodeId{4}}, full},
      {PlacementPrepared{JobId{8}, 2, NodeId{3}}, {}},
      {PlacementStarted{JobId{8}, 2, NodeId{3}, seconds(4)}, {}},
      {TaskEnded{JobId{8}, 2, NodeId{3}, exit}, {}},
      {PlacementEnded{JobId{8}, 2, NodeId{3}, {exit, TaskExit{}}, 123'456, 789, seconds(3)}, {}},
      {LaunchFailed{JobId{8}, 2, NodeId{3}, "no such user"}, {}},
      {UnknownTaskObserved{NodeId{3}, JobId{77}, 1}, {}},
      {ObjectDeleted{"pool", "old"}, full},
      {JoinTokenIssued{std::string(64, 'c'), "gpu-009", Instant{1'800'000'000'000'000}}, full},
      {BootArmed{"gpu-009", Instant{1'800'000'000'000'000}}, full},
      {BootTokenIssued{std::string(64, 'c'), "gpu-009", Instant{1'800'000'000'000'000}, "10.0.1.9"},
       {}},
      {KeyIssued{std::string(64, 'd'),
                 Key{"dddddddddddd", "ada", "ci", KeyScope::kJobs, Instant{1'700'000'000'000'000},
                     Instant{1'800'000'000'000'000}}},
       full},
      {KeyIssued{std::string(64, 'e'),
                 Key{"eeeeeeeeeeee", "admin", "", KeyScope::kAll, Instant{1'700'000'000'000'000},
                     Instant{1'800'000'000'000'000}, KeyKind::kSession, true}},
       full},
      {KeyRevoked{"dddddddddddd"}, full},
      {CallsRefused{"ada", "10.0.0.7", "drainNode", "admin_only", 3}, {}},
      {CheckpointTaken{JobId{8}, 2}, {}},
      {FindingReported{NodeId{3}, {"xid", Severity::kCritical, Remedy::kReset, 2, "XID 79"}}, {}},
      {NodeActionRequested{NodeId{3}, NodeAction::kReboot, true, Instant{1'700'000'000'000'000},
                           "kernel"},
       full},
      {NodeTested{NodeId{3}, true, "4 of 4"}, {}},
      {RemedyEnded{NodeId{3}, Remedy::kReboot, true, "booted"}, {}},
      {PreflightFailed{JobId{8}, 2, NodeId{3}, NodeId{4}, "all_reduce", "timed out"}, {}},
      {ProgressReported{JobId{8}, 2, NodeId{3}, 1200, milliseconds(250), 5, 8, milliseconds(120)},
       {}},
      {ExecStarted{JobId{8}, 2, NodeId{3}, 5, true, "bash"}, {}},
      {HangObserved{JobId{8}, 2, NodeId{3}, true, 5, 16, 1200, seconds(1800)}, {}},
      {HangEnded{JobId{8}, 2}, {}},
      {LinkBlamed{JobId{8}, 2, NodeId{3}, NodeId{4}, 5, 9}, {}},
      {NodeDeclaredOff{NodeId{4}, "the rack has no power"}, full},
  };
  for (StampedEvent& event : executor_events(full)) events.push_back(std::move(event));
  for (StampedEvent& event : session_events(full)) events.push_back(std::move(event));
  for (const Declared& object : sample_objects()) events.push_back({ObjectApplied{object}, full});
  return events;
}

std::vector<Decision> sample_decisions() {
  Placement other = sample_placement();
  other.node = NodeId{4};
  other.node_rank = 2;
  return {
      Launch{JobId{8}, 2, {sample_placement(), other}},
      Start{JobId{8}, 2},
      Stop{JobId{8}, 2, StopReason::kPreempted, Purpose::kFairness, JobId{9}},
      DeclareNodeLost{NodeId{3}},
      Requeue{JobId{8}, StopReason::kNodeLost, true, true, Span{20'000'000}},
      EndJob{JobId{8}, Outcome::kFailed, 137},
      ForgetJob{JobId{8}, true},
      Promise{JobId{9}, Instant{1'700'000'100'000'000}, {sample_placement()}, true},
      Withdraw{JobId{9}},
      MoveNode{NodeId{3}, LifeStage::kRepair, Remedy::kReboot, "XID 79", "ada"},
  };
}

}  // namespace dove::codec
