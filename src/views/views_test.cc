// Jobs, nodes and reasons as the API shows them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/state/state_samples.h"
#include "codec/words.h"
#include "views/job_view.h"
#include "views/node_view.h"
#include "views/reasons.h"

namespace dove::views {
namespace {

using codec::sample_state;
using Json = nlohmann::json;

TEST(Views, AJobHasWhatACommandLineShows) {
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

TEST(Views, ANodeShowsWhatIsFree) {
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

  const Json brief = node_brief_json(state, state.nodes.front(), {});
  EXPECT_EQ(brief["devices_free_milli"], Json({0, 750})) << brief;
  for (const char* same : {"id", "name", "state", "topology", "findings", "jobs", "gpu_model"}) {
    EXPECT_EQ(brief[same], node[same]) << same;
  }
  EXPECT_FALSE(brief.contains("devices_use_percent"));
  EXPECT_EQ(node_brief_json(state, state.nodes.front(), {{0, 4250}})["devices_use_percent"],
            Json::array({42.5, nullptr}));
}

TEST(Views, ANodeShowsWhoElseHoldsWhatAndInWhichQueueThatCounts) {
  core::State state = sample_state();
  Executor declared;
  declared.name = "slurm";
  declared.queues = {{"lab", "research"}};
  state.executors["slurm"] = declared;
  ForeignAllocation held;
  held.id = "77";
  held.devices = {0};
  held.user = "ada";
  held.account = "lab";
  held.partition = "main";
  held.priority = 4294901758;
  ForeignAllocation other = held;
  other.id = "78";
  other.devices = {1};
  other.account = "guests";
  ForeignAllocation cores = held;
  cores.id = "79";
  cores.devices = {};
  ForeignAllocation later = held;
  later.id = "reservation:course";
  later.started_at = Instant{5};
  core::NodeExecutor executor{.name = "slurm", .foreign = {held, other, cores, later}};
  executor.knows_to_come = true;
  state.nodes.front().executors = {executor};

  const Json shown = node_json(state, state.nodes.front())["executors"][0]["foreign"];
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[0]["queue"], "research");
  EXPECT_EQ(shown[0]["priority"], 4294901758);
  EXPECT_FALSE(shown[1].contains("queue"));
  const Json brief = node_brief_json(state, state.nodes.front(), {})["foreign"];
  EXPECT_EQ(brief, Json::parse(R"([
    {"executor":"slurm","id":"77","user":"ada","partition":"main","devices":[0],"queue":"research"},
    {"executor":"slurm","id":"78","user":"ada","partition":"main","devices":[1]}])"));
  state.nodes.front().executors = {};
  EXPECT_FALSE(node_brief_json(state, state.nodes.front(), {}).contains("foreign"));
}

Reason reason(ReasonKind kind, std::string subject = "", std::string resource = "") {
  Reason made;
  made.kind = kind;
  made.subject = std::move(subject);
  made.resource = std::move(resource);
  return made;
}

const MayName kAll = [](const core::Job&) { return true; };

TEST(Views, WhoHoldsAJobAndWhatLetsItGo) {
  const core::State state = sample_state();
  const auto text = [&](const Reason& r) {
    return reason_json(state, r, kAll)["text"].get<std::string>();
  };
  Reason held = reason(ReasonKind::kHeld, "ann");
  EXPECT_EQ(text(held), "held by ann; `dove release` lets it go");
  held.level = "slurm job 17";
  EXPECT_EQ(text(held),
            "held by ann; it is let go where it was held: as slurm job 17 there, or by `dove "
            "release`");
  held.count = 20;
  EXPECT_NE(text(held).find("failed it 20 times in a row"), std::string::npos) << text(held);
}

TEST(Views, ReasonsAreSaidInWordsWithTheirNumbers) {
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
  EXPECT_EQ(text(ahead), "1 job is ahead of it: job 2 (slurm job 4711)");
  ahead.resource = "priority";
  ahead.used = 5;
  ahead.subject = "strict";
  EXPECT_EQ(
      text(ahead),
      "1 job is ahead of it in queue strict, where nothing passes: job 2 (slurm job 4711) (by "
      "priority, 5 over 0)");
  ahead.count = 3;
  EXPECT_NE(text(ahead).find("; the last of them is job 2 (slurm job 4711)"), std::string::npos);
  Reason jobs = reason(ReasonKind::kProjectLimit, "vision", "jobs_running");
  jobs.limit = jobs.used = jobs.needs = 1;
  EXPECT_EQ(text(jobs),
            "project vision may run 1 job at a time; 1 running, this is 1 more, over by 1; an "
            "administrator of "
            "domain corp, or of the cluster may raise it");
  EXPECT_EQ(text(reason(ReasonKind::kExcluded)), "--nodelist and --exclude leave no node");
  Reason begin = reason(ReasonKind::kBeginTime);
  begin.until = Instant{1'772'620'200'123'456};
  EXPECT_EQ(text(begin), "starts after 2026-03-04 10:30:00 UTC");
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
    EXPECT_EQ(json["kind"], codec::word(static_cast<ReasonKind>(kind)));
  }
}

}  // namespace
}  // namespace dove::views
