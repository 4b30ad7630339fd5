#include "core/nodes/contact.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class ContactTest : public testing::Test {
 protected:
  ContactTest() {
    cluster.tell(registered("boot-1", "machine-1", ""));
    cluster.tell(NodeConnected{NodeId(1), "boot-1"});
  }

  NodeRegistered registered(const std::string& boot, const std::string& machine,
                            const std::string& former) {
    NodeRegistered event;
    event.name = "n1";
    event.boot_id = boot;
    event.machine_id = machine;
    event.former_boot_id = former;
    event.agent_token_sha256 = "key";
    event.inventory = inventory_of({});
    return event;
  }
  Comer comer_with(const NodeRegistered& event) { return comer(cluster.node(1), event); }
  void expel() {
    cluster.tell(NodeActionRequested{NodeId(1), NodeAction::kExpel, false, {}, "stolen"});
  }
  Span wait() const {
    const ClusterSettings& settings = cluster.state.settings;
    return settings.disconnect_grace + settings.fence + kFence_margin;
  }

  TestCluster cluster;
};

TEST_F(ContactTest, ANodeIsLostAfterItsFenceAndASilentOneAfterItsGraceToo) {
  const Span fence = cluster.state.settings.fence;
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)), kNever);
  cluster.tell(NodeDisconnected{NodeId(1), false});
  const Instant broken = cluster.state.now + fence + kFence_margin;
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)), broken);
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)),
            broken + cluster.state.settings.disconnect_grace);
}

TEST_F(ContactTest, ANewControllerWaitsForTheGraceOfAnOutage) {
  const ClusterSettings& settings = cluster.state.settings;
  cluster.tell(ControllerStarted{});
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)),
            cluster.state.now + settings.outage_grace + settings.fence + kFence_margin);
  cluster.tell(NodeConnected{NodeId(1), "boot-1"});
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)),
            cluster.state.now + settings.disconnect_grace + settings.fence + kFence_margin);
}

TEST_F(ContactTest, WhatAnAgentWasToldHoldsUntilItIsToldSomethingElse) {
  const ClusterSettings told = cluster.state.settings;
  ClusterSettings shorter = told;
  shorter.disconnect_grace = seconds(1);
  shorter.outage_grace = seconds(2);
  shorter.fence = seconds(1);
  cluster.declare(shorter);
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)),
            cluster.state.now + told.disconnect_grace + told.fence + kFence_margin);
  cluster.tell(NodeConnected{NodeId(1), "boot-1"});
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)),
            cluster.state.now + shorter.disconnect_grace + shorter.fence + kFence_margin);
}

TEST_F(ContactTest, ARebootIsProvenByKeyMachineAndFormerBoot) {
  EXPECT_EQ(comer_with(registered("boot-1", "machine-1", "boot-1")), Comer::kItself);
  EXPECT_EQ(comer_with(registered("boot-2", "machine-1", "boot-1")), Comer::kRebooted);
  EXPECT_EQ(comer_with(registered("boot-2", "machine-2", "boot-1")), Comer::kStranger);
  EXPECT_EQ(comer_with(registered("boot-1", "machine-2", "boot-1")), Comer::kStranger);
  NodeRegistered other_key = registered("boot-2", "machine-1", "boot-1");
  other_key.agent_token_sha256 = "another";
  EXPECT_EQ(comer_with(other_key), Comer::kStranger);
}

TEST_F(ContactTest, AnExpelledNodeStaysUntilItsTasksMustHaveEnded) {
  const JobId job = cluster.submit_and_start();
  cluster.tell(NodeDisconnected{NodeId(1), false});
  expel();
  EXPECT_EQ(cluster.node(1).contact, Contact::kSilent) << "it may not know that it was cut off";
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)), cluster.state.now + wait());
  EXPECT_FALSE(cluster.node(1).removed);
  // A sync of its agent that was under way, even one that shows a reboot: only the wait is longer.
  cluster.pass(seconds(1));
  cluster.tell(registered("boot-2", "machine-1", "boot-1"));
  cluster.tell(NodeConnected{NodeId(1), "boot-2"});
  EXPECT_EQ(cluster.node(1).contact, Contact::kSilent);
  EXPECT_EQ(cluster.node(1).boot_id, "boot-1");
  EXPECT_EQ(cluster.node(1).jobs, std::vector<JobId>{job});
  EXPECT_EQ(lost_at(cluster.state, cluster.node(1)), cluster.state.now + wait());
  // Nothing else takes the mark away.
  cluster.tell(NodeActionRequested{NodeId(1), NodeAction::kResume, false, {}, ""});
  cluster.decided(MoveNode{NodeId(1), LifeStage::kProduction, Remedy::kNone, "tested", ""});
  EXPECT_TRUE(is_expelled(cluster.node(1)));
  cluster.decided(DeclareNodeLost{NodeId(1)});
  EXPECT_TRUE(cluster.node(1).removed);
  EXPECT_TRUE(cluster.node(1).jobs.empty());
  EXPECT_EQ(cluster.job(job).attempts[0].stop_reason, StopReason::kNodeLost);
}

TEST_F(ContactTest, AnExpelledNodeGoesAtOnceWhereNothingCanRun) {
  cluster.tell(ControllerStarted{});
  expel();
  EXPECT_FALSE(cluster.node(1).removed) << "more may run there than the log knows";
  cluster.tell(NodeDeclaredOff{NodeId(1), "unplugged"});
  EXPECT_TRUE(cluster.node(1).removed);
  const NodeId other = cluster.add_node({});
  cluster.tell(NodeActionRequested{other, NodeAction::kExpel, false, {}, ""});
  EXPECT_TRUE(cluster.node(2).removed);
}

TEST_F(ContactTest, OnlyATokenToJoinWithTakesAnExpelledNodeBack) {
  NodeRegistered joins = registered("boot-1", "machine-1", "");
  joins.agent_token_sha256 = "new";
  const auto join = [&] {
    StampedEvent event{joins, {}};
    event.cause.body_sha256 = "token";
    apply(cluster.state, event);
  };
  cluster.submit_and_start();
  cluster.tell(JoinTokenIssued{"token", "n1", kNever});
  expel();
  join();
  EXPECT_TRUE(is_expelled(cluster.node(1))) << "tokens for it from before are void";
  EXPECT_EQ(cluster.node(1).agent_token_sha256, "key");
  cluster.tell(JoinTokenIssued{"token", "n1", kNever});
  join();
  EXPECT_FALSE(is_expelled(cluster.node(1)));
  cluster.tell(NodeConnected{NodeId(1), "boot-1"});
  EXPECT_EQ(cluster.node(1).contact, Contact::kConnected);
}

// Its shims run on until the fence: nothing there would end them before the job runs again.
TEST_F(ContactTest, AnEmptiedDirectoryKnowsNothingOfTheTasksOfItsBoot) {
  NodeRegistered joins = registered("boot-1", "machine-1", "");
  joins.agent_token_sha256 = "new";
  cluster.submit_and_start();
  cluster.tell(NodeDisconnected{NodeId(1), false});
  EXPECT_EQ(comer_with(joins), Comer::kStranger);
  joins.former_boot_id = "boot-1";
  EXPECT_EQ(comer_with(joins), Comer::kItself) << "it lost its token alone";
  joins.former_boot_id = "";
  cluster.tell(NodeDeclaredOff{NodeId(1), "wiped"});
  EXPECT_EQ(comer_with(joins), Comer::kItself) << "the fence has passed";
}

// A golden image: both know the boot that the image was made in. Once one of them has come, the
// other does not know the node's last boot, even where the hardware says the same of both.
TEST_F(ContactTest, TheSecondOfTwoCopiesOfADirectoryIsAStranger) {
  cluster.tell(registered("boot-of-a", "machine-1", "boot-1"));
  EXPECT_EQ(comer_with(registered("boot-of-b", "machine-1", "boot-1")), Comer::kStranger);
}

TEST_F(ContactTest, AnybodyMayComeOnceTheNodeIsLost) {
  const NodeRegistered stranger = registered("boot-9", "machine-9", "");
  cluster.submit_and_start();
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(comer_with(stranger), Comer::kStranger);
  cluster.tell(NodeDeclaredOff{NodeId(1), "no power"});
  EXPECT_EQ(comer_with(stranger), Comer::kItself);
}

TEST_F(ContactTest, AnybodyTakesThePlaceOfANodeThatIsAwayAndRunsNothing) {
  NodeRegistered joins = registered("boot-9", "machine-9", "");
  joins.agent_token_sha256 = "new";
  EXPECT_EQ(comer_with(joins), Comer::kStranger) << "it is connected";
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(comer_with(joins), Comer::kItself);
  cluster.tell(NodeConnected{NodeId(1), "boot-1"});
  cluster.submit_and_start();
  cluster.tell(NodeDisconnected{NodeId(1), true});
  EXPECT_EQ(comer_with(joins), Comer::kStranger) << "its job may run on";
}

TEST_F(ContactTest, AnAgentMayComeToAnExecutorsNodeOnceNothingRunsThere) {
  Executor slurm;
  slurm.name = "slurm";
  slurm.nodes = {"n2"};
  cluster.declare(slurm);
  NodeRegistered event = registered("slurm", "", "");
  event.name = "n2";
  event.backend = "slurm";
  cluster.tell(event);
  NodeRegistered agent = registered("boot-1", "machine-1", "");
  agent.name = "n2";
  EXPECT_EQ(comer(cluster.node(2), agent), Comer::kItself);
  JobSpec spec = spec_of({});
  spec.executor = "slurm";
  const JobId job = cluster.submit(spec);
  cluster.launch(job, {2});
  EXPECT_EQ(comer(cluster.node(2), agent), Comer::kStranger) << "it knows nothing of the job";
  EXPECT_EQ(comer(cluster.node(2), event), Comer::kItself) << "the executor does";
  cluster.end(job);
  EXPECT_EQ(comer(cluster.node(2), agent), Comer::kItself);
}

TEST_F(ContactTest, WhatIsDeclaredOffLosesWhatRanThere) {
  const JobId job = cluster.submit_and_start();
  cluster.tell(NodeDisconnected{NodeId(1), true});
  cluster.tell(NodeDeclaredOff{NodeId(1), "no power"});
  EXPECT_EQ(cluster.node(1).contact, Contact::kLost);
  EXPECT_EQ(cluster.job(job).attempts.back().stop_reason, StopReason::kNodeLost);
  cluster.tell(NodeConnected{NodeId(1), "boot-1"});
  EXPECT_EQ(cluster.node(1).contact, Contact::kConnected) << "it may come back";
}

}  // namespace
}  // namespace dove::core
