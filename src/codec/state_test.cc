// Snapshots of states, and states as the API shows them.
//
// tests/golden/snapshot_v<N>.txt is sample_state() as version N of the format wrote it, in
// hexadecimal. When what is written today is not the newest file, DOVE_BLESS=1 writes the next one;
// the old ones are never changed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_reasons.h"
#include "codec/record_samples.h"
#include "codec/snapshot.h"
#include "codec/words.h"
#include "core/state/hash.h"

namespace dove::codec {
namespace {

using Json = nlohmann::json;

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
  running.cancelled_by = "ada";
  return running;
}

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
                     ExecutorContact::kMute}};
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
  declare_samples(state);
  state.join_tokens["t"] = {"gpu-009", Instant{40}};
  state.usage_by_user["ada"] = {1, 2, 3, 4, 5, {{"rdma", 1}}};
  state.usage_by_queue["long"] = {1, 2, 3, 4, 5, {}};
  state.usage_by_project["vision"] = {1, 2, 3, 4, 5, {}, {{"h200", 6}}};
  state.usage = {1, 2, 3, 4, 5, {}};
  state.asked_by_project["vision"] = {1, 2, 3, 4, 5, {}};
  state.past_by_user["ada"] = {7, Instant{41}};
  state.past_by_queue["long"] = {8, Instant{42}};
  state.counts_models = true;
  state.turns["gpu"] = NodeId{1};
  state.executors["slurm"] = {"slurm", "slurm-1", {"gpu-[001-004]"}, true, {{"lab", "long"}}};
  state.standings["slurm"] = {ExecutorContact::kAnswering, Instant{43}, "back"};
  state.placeholders[{JobId{1}, 2, NodeId{1}, "slurm"}] = {PlaceholderStage::kConfirmed,
                                                           Instant{44}, "1300", ""};
  note_later(state);
  state.promises[JobId{9}] = {Instant{50}, Instant{41}, {sample_placement()}};
  return state;
}

TEST(Snapshot, AStateComesBackWithItsHash) {
  const core::State state = sample_state();
  const std::string bytes = encode_snapshot(state);
  auto decoded = decode_snapshot(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(core::state_hash(*decoded), core::state_hash(state));
  EXPECT_EQ(encode_snapshot(*decoded), bytes);
  EXPECT_EQ(decoded->jobs.at(JobId{1}).spec, decoded->jobs.at(JobId{2}).spec) << "shared again";
  EXPECT_EQ(decoded->find_node("gpu-001")->cores_free, state.nodes.front().cores_free);
}

TEST(Snapshot, AnEmptyStateComesBack) {
  auto decoded = decode_snapshot(encode_snapshot(core::State()));
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(core::state_hash(*decoded), core::state_hash(core::State()));
}

std::string golden_path(int version) {
  return fmt::format("{}/tests/golden/snapshot_v{}.txt", DOVE_SOURCE_DIR, version);
}

int newest_golden() {
  int version = 0;
  while (std::filesystem::exists(golden_path(version + 1))) ++version;
  return version;
}

std::string golden_bytes(int version) {
  std::ifstream file(golden_path(version));
  std::string hex;
  file >> hex;
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST(GoldenSnapshot, EveryVersionStaysReadable) {
  ASSERT_GE(newest_golden(), 1) << golden_path(1) << " is missing";
  for (int version = 1; version <= newest_golden(); ++version) {
    const auto decoded = decode_snapshot(golden_bytes(version));
    ASSERT_TRUE(decoded.ok()) << "version " << version << ": " << decoded.error().message;
    EXPECT_EQ(decoded->nodes.size(), 1u);
    EXPECT_EQ(decoded->jobs.size(), 3u);
  }
}

TEST(GoldenSnapshot, DamageOfAFormerVersionIsFound) {
  for (int version = 1; version <= newest_golden(); ++version) {
    std::string bytes = golden_bytes(version);
    bytes[bytes.find("gpu-001")] = 'G';
    EXPECT_EQ(decode_snapshot(bytes).error().code, "snapshot_damaged") << "version " << version;
  }
}

TEST(GoldenSnapshot, TheNewestIsWhatIsWrittenToday) {
  const std::string today = encode_snapshot(sample_state());
  if (std::getenv("DOVE_BLESS") != nullptr && golden_bytes(newest_golden()) != today) {
    std::ofstream file(golden_path(newest_golden() + 1));
    for (const unsigned char byte : today) file << fmt::format("{:02x}", byte);
    file << "\n";
  }
  EXPECT_TRUE(golden_bytes(newest_golden()) == today)
      << "the format of snapshots changed: raise a layout and the level of the state's hash, keep "
         "reading the old ones, then run with DOVE_BLESS=1, which writes the next golden snapshot";
}

TEST(Snapshot, DamageIsFound) {
  const std::string bytes = encode_snapshot(sample_state());
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE(decode_snapshot(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(decode_snapshot(bytes + "x").ok());
  std::string changed = bytes;
  changed[changed.find("gpu-001")] = 'G';
  EXPECT_EQ(decode_snapshot(changed).error().code, "snapshot_damaged");
  changed = bytes;
  changed[8] = 99;
  EXPECT_EQ(decode_snapshot(changed).error().code, "snapshot_newer");
}

TEST(StateJson, AJobHasWhatACommandLineShows) {
  const core::State state = sample_state();
  const Json job = job_json(state, state.jobs.at(JobId{1}));
  EXPECT_EQ(job["id"], 1);
  EXPECT_EQ(job["state"], "running");
  EXPECT_EQ(job["phase"], "active");
  EXPECT_TRUE(job["outcome"].is_null());
  EXPECT_TRUE(job["exit_code"].is_null());
  EXPECT_EQ(job["user"], "ada");
  EXPECT_EQ(job["submitted_at"], "2026-01-02T02:04:05.123456Z");
  EXPECT_EQ(job["submitted_at_us"], 1'767'319'445'123'456);
  EXPECT_EQ(job["started_at_us"], 20);
  EXPECT_TRUE(job["ended_at"].is_null());
  EXPECT_EQ(job["array"]["id"], 1);
  EXPECT_EQ(job["array"]["size"], 4);
  EXPECT_EQ(job["request"]["tasks"], 17);
  EXPECT_EQ(job["request"]["gpus_milli"], 16 * 2000 + 2 * 250 + 3 * 125);
  EXPECT_EQ(job["time_limit_s"], 7200);
  EXPECT_EQ(job["nodes"], Json({"gpu-001"}));
  EXPECT_EQ(job["nodes_avoided"], Json({"node 7"}));
  EXPECT_EQ(job["dependencies"][0]["kind"], "after");
  const Json& attempt = job["attempts"][1];
  EXPECT_EQ(attempt["number"], 2);
  EXPECT_EQ(attempt["stage"], "running");
  EXPECT_EQ(attempt["placements"][0]["node_name"], "gpu-001");
  EXPECT_EQ(attempt["placements"][0]["stage"], "started");
  EXPECT_EQ(attempt["placements"][0]["tasks"][1]["rank"], 5);
  EXPECT_EQ(attempt["exits"][0]["exit_code"], 1);
  EXPECT_EQ(job_json(state, state.jobs.at(JobId{2}))["state"], "held");
  const Json ended = job_summary_json(state, state.jobs.at(JobId{3}));
  EXPECT_EQ(ended["state"], "timed_out");
  EXPECT_EQ(ended["outcome"], "timed_out");
  EXPECT_EQ(ended["exit_code"], 143);
  EXPECT_FALSE(ended.contains("attempts"));
}

TEST(StateJson, ANodeShowsWhatIsFree) {
  core::State state = sample_state();
  EXPECT_EQ(node_json(state, state.nodes.front())["state"], "repair");
  state.nodes.front().life = LifeStage::kProduction;
  const Json node = node_json(state, state.nodes.front());
  EXPECT_EQ(node["state"], "ready");
  EXPECT_EQ(node["cores"], 8);
  EXPECT_EQ(node["cores_free"], 4);
  EXPECT_EQ(node["gpus"], 2);
  EXPECT_EQ(node["gpus_free_milli"], 750);
  EXPECT_EQ(node["devices"][1]["free_milli"], 750);
  EXPECT_EQ(node["countables"]["rdma"], 10);
  EXPECT_EQ(node["countables_free"]["rdma"], 1);
  EXPECT_EQ(node["jobs"], Json({1}));
  EXPECT_FALSE(node.contains("agent_token_sha256"));
}

Reason reason(ReasonKind kind, std::string subject = "", std::string resource = "") {
  Reason made;
  made.kind = kind;
  made.subject = std::move(subject);
  made.resource = std::move(resource);
  return made;
}

const MayName kAll = [](const core::Job&) { return true; };

TEST(StateJson, ReasonsAreSaidInWordsWithTheirNumbers) {
  const core::State state = sample_state();
  const auto text = [&](const Reason& r) {
    return reason_json(state, r, kAll)["text"].get<std::string>();
  };
  Reason gpus = reason(ReasonKind::kResources, "", "gpus");
  gpus.needs = 16;
  gpus.free = 8;
  gpus.total = 32;
  EXPECT_NE(
      text(gpus).find(
          "needs 16 GPUs at once; the most that is free on one node is 8 (the nodes have 32)"),
      std::string::npos)
      << text(gpus);
  Reason queue = reason(ReasonKind::kQueueLimit, "long", "memory_bytes");
  queue.limit = std::int64_t{64} << 30;
  queue.used = std::int64_t{32} << 30;
  queue.needs = std::int64_t{48} << 30;
  EXPECT_EQ(text(queue),
            "queue long may use 64 GiB of memory at once; 32 GiB in use, this job needs 48 GiB, "
            "over by 16 GiB; an administrator of the cluster may raise it");
  Reason ahead = reason(ReasonKind::kAhead);
  ahead.count = 1;
  ahead.other = JobId{2};
  EXPECT_EQ(text(ahead), "1 job is ahead of it: job 2 (train)");
  ahead.resource = "priority";
  ahead.used = 5;
  ahead.subject = "strict";
  EXPECT_EQ(text(ahead),
            "1 job is ahead of it in queue strict, where nothing passes: job 2 (train) (by "
            "priority, 5 over 0)");
  ahead.count = 3;
  EXPECT_NE(text(ahead).find("; the last of them is job 2 (train)"), std::string::npos);
  Reason jobs = reason(ReasonKind::kProjectLimit, "vision", "jobs_running");
  jobs.limit = jobs.used = jobs.needs = 1;
  EXPECT_EQ(text(jobs),
            "project vision may run 1 job at a time, and 1 is running; an administrator of "
            "domain corp, or of the cluster may raise it");
  EXPECT_EQ(text(reason(ReasonKind::kExcluded)), "--nodelist and --exclude leave no node");
  Reason begin = reason(ReasonKind::kBeginTime);
  begin.until = Instant{1'772'620'200'123'456};
  EXPECT_EQ(text(begin), "starts after 2026-03-04 10:30:00 UTC");
  Reason held = reason(ReasonKind::kHeld, "ann");
  EXPECT_EQ(text(held), "held by ann; `dove release` lets it go");
  held.count = 20;
  EXPECT_NE(text(held).find("failed it 20 times in a row"), std::string::npos) << text(held);
  Reason nodes = reason(ReasonKind::kNeverFits, "", "nodes");
  nodes.needs = 2;
  nodes.total = 1;
  EXPECT_EQ(text(nodes), "needs 2 nodes; its pool could give at most 1 even when empty");
  Reason share = reason(ReasonKind::kResources, "", "share_milli");
  share.needs = 500;
  EXPECT_NE(text(share).find("needs 0.5 GPU"), std::string::npos);
  Reason pages = reason(ReasonKind::kResources, "", "hugepages-2Mi");
  pages.needs = std::int64_t{1} << 30;
  pages.free = 64 << 20;
  EXPECT_NE(
      text(pages).find(
          "needs 1 GiB of hugepages-2Mi at once; the most that is free on one node is 64 MiB"),
      std::string::npos)
      << text(pages);
  for (int kind = 0; kind <= static_cast<int>(ReasonKind::kExecutor); ++kind) {
    const Json json = reason_json(state, reason(static_cast<ReasonKind>(kind), "x", "cores"), kAll);
    EXPECT_FALSE(json["text"].get<std::string>().empty());
    EXPECT_EQ(json["kind"], word(static_cast<ReasonKind>(kind)));
  }
}

}  // namespace
}  // namespace dove::codec
