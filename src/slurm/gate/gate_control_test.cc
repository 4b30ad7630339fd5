#include "slurm/gate/gate_control.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

using Words = std::vector<std::string>;

class GateControlTest : public testing::Test {
 protected:
  std::vector<Words> ran;
  CommandGate gate{[this](const CommandWanted& wanted) -> Result<CommandEnd> {
    ran.push_back(wanted.words);
    return CommandEnd{};
  }};
};

TEST_F(GateControlTest, APlaceSaysNoMoreThanItHasTo) {
  GatePlacing placing;
  placing.mark = "dovetail-gate run=17.1";
  placing.nodes = "n1";
  ASSERT_TRUE(gate.place("5", placing).ok());
  EXPECT_EQ(ran.back(),
            (Words{"scontrol", "update", "JobId=5", "AdminComment=dovetail-gate run=17.1",
                   "NodeList=n1", "StartTime=now"}));
}

// Alone MinCPUsNode would change the CPUs of the whole job (Slurm 22.05).
TEST_F(GateControlTest, CpusOfEachNodeGoWithTheNumberOfNodes) {
  GatePlacing placing;
  placing.nodes = "n[1-2]";
  placing.nodes_exactly = 2;
  placing.cpus_of_each = 3;
  placing.comment = "mine";
  ASSERT_TRUE(gate.place("5_2", placing).ok());
  EXPECT_EQ(Words(ran.back().end() - 3, ran.back().end()),
            (Words{"NumNodes=2-2", "MinCPUsNode=3", "Comment=mine"}));
}

// Without the word Slurm would have one wait again that has ended since it was seen.
TEST_F(GateControlTest, OnlyWhatHasNotEndedWaitsAgain) {
  ASSERT_TRUE(gate.put_back("5_2", {.slurm_job = 7, .may_requeue = true}).ok());
  EXPECT_EQ(ran.back(), (Words{"scontrol", "requeuehold", "Incomplete", "5_2"}));
  ASSERT_TRUE(gate.put_back("5_2", {.slurm_job = 7}).ok());
  EXPECT_EQ(ran.back(), (Words{"scancel", "5_2"}));
}

}  // namespace
}  // namespace dove::slurm
