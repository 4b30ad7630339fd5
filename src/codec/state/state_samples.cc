#include "codec/state/state_samples.h"

#include "codec/record_samples.h"

namespace dove::codec {
namespace {

core::Node sample_node() {
  core::Node node;
  node.id = NodeId{1};
  node.name = "gpu-001";
  node.boot_id = "boot-1";
  node.backend = "native";
  node.address = "10.0.0.7";
  node.agent_token_sha256 = std::string(64, 'b');
  node.inventory = std::make_shared<const Inventory>(sample_inventory());
  node.declared.features = {"ib"};
  node.declared.countables = {{"rdma", 2}};
  node.contact = Contact::kConnected;
  node.contact_since = Instant{5};
  node.cores_free = {4, 5, 6, 7};
  node.device_free_milli = {0, 750};
  node.memory_free_bytes = 77;
  node.countables_free = {{"rdma", 1}};
  node.jobs = {JobId{1}};
  node.machine_id = "m-1";
  node.awaited = true;
  node.agreed = {seconds(5), seconds(300), seconds(86'400)};
  return node;
}

core::Job sample_job(std::uint64_t id, const std::shared_ptr<const JobSpec>& spec) {
  core::Job job;
  job.id = JobId{id};
  job.spec = spec;
  job.priority = 3;
  job.array = JobId{1};
  job.array_index = static_cast<std::int32_t>(id) - 1;
  job.submitted_at = Instant{1'767'319'445'123'456};
  job.eligible_at = Instant{1'767'319'446'000'000};
  job.submitted_seq = Seq{id};
  return job;
}

void declare_samples(core::State& state) {
  for (const Declared& object : sample_objects()) {
    if (const auto* pool = std::get_if<Pool>(&object)) state.pools[pool->name] = *pool;
    if (const auto* queue = std::get_if<Queue>(&object)) state.queues[queue->name] = *queue;
    if (const auto* user = std::get_if<UserDeclaration>(&object)) state.users[user->name] = *user;
    if (const auto* limit = std::get_if<UserLimit>(&object)) {
      state.user_limits[limit->name] = *limit;
    }
    if (const auto* project = std::get_if<Project>(&object)) {
      state.projects[project->name] = *project;
    }
    if (const auto* domain = std::get_if<Domain>(&object)) state.domains[domain->name] = *domain;
    if (const auto* group = std::get_if<Group>(&object)) state.groups[group->name] = *group;
    if (const auto* binding = std::get_if<Binding>(&object)) {
      state.bindings[binding->name] = *binding;
    }
    if (const auto* rule = std::get_if<IdleRule>(&object)) state.idle_rules[rule->name] = *rule;
    if (const auto* app = std::get_if<App>(&object)) state.apps[app->name] = *app;
    if (const auto* settings = std::get_if<Settings>(&object)) {
      state.job_settings[settings->name] = *settings;
    }
    if (const auto* secret = std::get_if<Secret>(&object)) state.secrets[secret->name] = *secret;
    if (const auto* boot = std::get_if<BootConfig>(&object)) state.boot_configs[boot->name] = *boot;
    if (const auto* one = std::get_if<Reservation>(&object)) state.reservations[one->name] = *one;
  }
}

void note_sessions(core::State& state) {
  state.idle[JobId{1}] = {2,           IdleCheck::kInput, "tabs", "nobody for 3600 s",
                          Instant{45}, Instant{46}};
  state.kept[JobId{1}] = Instant{47};
  state.shared[JobId{1}] = {"bob"};
}

void note_months(core::State& state) {
  state.month_by_user["ada"] = {682, 7'200'000, Instant{48}};
  state.month_by_project["vision"] = {682, 3'600'000, Instant{48}};
  state.month_by_domain["corp"] = {682, 3'600'000, Instant{48}};
  state.month_by_queue["long"] = {682, 1'800'000, Instant{48}};
  state.usage_by_domain["corp"].jobs_running = 2;
  state.asked_by_domain["corp"].jobs_waiting = 3;
  state.incarnation = 2;
  state.restored_at = Instant{49};
  state.forgotten.use[{20'781, "ada", "vision", "long"}] = {7'200'000'000, 57'600'000, 3};
  state.forgotten.jobs = 4;
  state.forgotten.since = Instant{50};
}

// What came after the first versions.
void note_later(core::State& state) {
  note_sessions(state);
  note_months(state);
}

core::Job running_job(const std::shared_ptr<const JobSpec>& spec) {
  core::Job running = sample_job(1, spec);
  running.phase = JobPhase::kActive;
  core::Attempt attempt;
  attempt.number = 2;
  attempt.stage = Stage::kRunning;
  Placement placement = sample_placement();
  placement.node = NodeId{1};
  attempt.placements = {{placement, core::PlacementStage::kStarted}};
  attempt.exits = {TaskExit{0, 1, 0, ""}};
  attempt.allocated_at = Instant{10};
  attempt.started_at = Instant{20};
  attempt.stage_at = Instant{21};
  attempt.held_back = true;
  running.attempts = {core::Attempt{}, attempt};
  running.nodes_avoided = {NodeId{7}};
  running.not_before = Instant{22};
  running.cancelled_by = std::string("ada");
  return running;
}

}  // namespace

core::State sample_state() {
  core::State state;
  state.now = Instant{1'767'319'450'000'000};
  state.head = Seq{99};
  state.epoch = Epoch{4};
  state.next_job = 4;
  core::Node node = sample_node();
  node.version = "0.2.0";
  node.preflight_port = 7001;
  node.life = LifeStage::kRepair;
  node.life_since = Instant{6};
  node.life_why = "xid 79";
  node.life_who = "ada";
  node.remedy = Remedy::kReboot;
  node.answer = Answer::kFailed;
  node.request = {NodeAction::kReboot, true, Instant{7}, "kernel", "ada"};
  node.findings = {{{"xid", Severity::kFault, Remedy::kReset, 1, "79"}, Instant{5}}};
  node.faults = {Instant{5}};
  node.votes = {{NodeId{2}, Instant{4}}};
  node.executors = {{"slurm",
                     ExecutorNodeState::kDown,
                     "fan",
                     {sample_allocation()},
                     false,
                     ExecutorContact::kMute,
                     {"ib"}}};
  state.nodes.push_back(std::move(node));
  const auto spec = std::make_shared<const JobSpec>(sample_spec());
  core::Job running = running_job(spec);
  core::Job held = sample_job(2, spec);
  held.held = true;
  core::Job ended = sample_job(3, spec);
  ended.phase = JobPhase::kEnded;
  ended.outcome = Outcome::kTimedOut;
  ended.exit_code = 143;
  ended.ended_at = Instant{30};
  for (core::Job* job : {&running, &held, &ended}) state.jobs.emplace(job->id, std::move(*job));
  state.level = kNewestLevel;
  declare_samples(state);
  state.join_tokens["t"] = {"gpu-009", Instant{40}};
  state.armed_boots["gpu-009"] = {Instant{39}, Instant{38}, "10.0.1.9"};
  state.usage_by_user["ada"] = {1, 2, 3, 4, 5, {{"rdma", 1}}};
  state.usage_by_queue["long"] = {1, 2, 3, 4, 5, {}};
  state.usage_by_project["vision"] = {1, 2, 3, 4, 5, {}, {{"h200", 6}}};
  state.usage = {1, 2, 3, 4, 5, {}};
  state.asked_by_project["vision"] = {1, 2, 3, 4, 5, {}};
  state.past_by_user["ada"] = {7, Instant{41}};
  state.past_by_queue["long"] = {8, Instant{42}};
  state.counts_models = true;
  state.round_robin["gpu"] = NodeId{1};
  state.executors["slurm"] = {"slurm", "slurm-1", {"gpu-[001-004]"}, true, {{"lab", "long"}}};
  state.standings["slurm"] = {ExecutorContact::kAnswering, Instant{43}, "back"};
  state.standings["slurm"].watched_until = Instant{43};
  state.standings["slurm"].watched_in = Epoch{2};
  state.standings["slurm"].unwatched = {
      {Instant{30}, Instant{43}, Instant{35}, {{"1234", sample_use()}}}};
  state.placeholders[{JobId{1}, 2, NodeId{1}, "slurm"}] = {PlaceholderStage::kConfirmed,
                                                           Instant{44}, "1300", ""};
  note_later(state);
  state.promises[JobId{9}] = {Instant{50}, Instant{41}, {sample_placement()}};
  return state;
}

}  // namespace dove::codec
