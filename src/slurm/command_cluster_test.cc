#include "slurm/command_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "slurm/recorded_for_test.h"
#include "slurm/recorded_newer_for_test.h"

namespace dove::slurm {
namespace {

using Words = std::vector<std::string>;

// Slurm's commands, as far as a test needs them.
struct FakeCommands {
  CommandEnd salloc{0, "", "salloc: Granted job allocation 316"};
  CommandEnd for_users{0, "", "salloc: Granted job allocation 316"};
  CommandEnd sbatch{0, "318;lab\n", ""};
  int update = 0;
  std::string partitions;
  std::string script;
  std::string version = "slurm-wlm 22.05.8\n";
  CommandEnd sacct{1, "", "Slurm accounting storage is disabled"};
  std::vector<Words> ran;

  CommandCluster::Run run() {
    return [this](const CommandWanted& wanted) -> Result<CommandEnd> {
      const Words& command = wanted.words;
      ran.push_back(command);
      if (command[0] == "sinfo" && command[1] == "--version") return CommandEnd{0, version, ""};
      if (command[0] == "sinfo")
        return CommandEnd{0, is_newer() ? kNewerGroups : kRecordedNodes, ""};
      if (command[0] == "squeue") return CommandEnd{0, is_newer() ? kNewerJobs : kRecordedJobs, ""};
      if (command[0] == "sacct") return sacct;
      if (command[0] == "scontrol" && command[1] == "write") return CommandEnd{0, script, ""};
      if (command.back() == "--json") {  // scontrol show nodes
        return is_newer() ? CommandEnd{0, kNewerNodes, ""}
                          : CommandEnd{1, "", "unrecognized option"};
      }
      if (command[0] == "scontrol" && command[1] == "show") return CommandEnd{0, partitions, ""};
      if (command[0] == "scontrol") return CommandEnd{update, "", "Access/permission denied"};
      if (command[0] == "sbatch") return sbatch;
      if (command[0] != "salloc") return CommandEnd{};
      const bool for_user = std::any_of(command.begin(), command.end(), [](const auto& word) {
        return word.starts_with("--uid=");
      });
      return for_user ? for_users : salloc;
    };
  }
  bool is_newer() const { return version.find(" 22.") == std::string::npos; }
  int count(const char* program) const {
    return static_cast<int>(std::count_if(
        ran.begin(), ran.end(), [&](const Words& command) { return command[0] == program; }));
  }
};

Ask ask_for(const char* user) {
  Ask ask;
  ask.name = "dove-17.2@dove";
  ask.node = "n1";
  ask.partitions = {"gpu", "all"};
  ask.gres = "gpu:h200_2:1";
  ask.cpus = 2;
  ask.memory_bytes = (std::int64_t{4} << 30) + 1;
  ask.limit_minutes = 62;
  ask.user = user;
  return ask;
}

TEST(CommandCluster, TheCommandOfAPlaceholder) {
  const Words command = placeholder_command(ask_for("root"), true);
  EXPECT_EQ(command,
            (Words{"salloc", "--no-shell", "--immediate=1", "--priority=TOP",
                   "--job-name=dove-17.2@dove", "--comment=dovetail", "--nodelist=n1", "--nodes=1",
                   "--ntasks=1", "--cpus-per-task=2", "--mem=4097M", "--time=62", "--chdir=/",
                   "--gres=gpu:h200_2:1", "--partition=gpu,all", "--uid=root", "--gid=0"}));
}

TEST(CommandCluster, NeverAllMemoryOfTheNode) {
  Ask ask = ask_for("");
  ask.memory_bytes = 0;
  const Words command = placeholder_command(ask, false);
  EXPECT_NE(std::find(command.begin(), command.end(), "--mem=1M"), command.end());
}

TEST(CommandCluster, ObservesNodesAndJobs) {
  FakeCommands commands;
  const auto seen = CommandCluster(commands.run()).observe();
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(seen->nodes.size(), 2u);
  EXPECT_EQ(seen->jobs.size(), 6u);
}

TEST(CommandCluster, ObservesANewerSlurmAndOneThatIsUpgraded) {
  FakeCommands commands;
  CommandCluster slurm(commands.run());
  ASSERT_TRUE(slurm.observe().ok());
  commands.version = "slurm-wlm 24.11.5\n";
  EXPECT_FALSE(slurm.observe().ok()) << "sinfo prints groups of nodes now";
  for (int i = 0; i < 2; ++i) {
    const auto seen = slurm.observe();
    ASSERT_TRUE(seen.ok()) << seen.error().message;
    EXPECT_EQ(seen->nodes.size(), 2u);
    EXPECT_EQ(seen->jobs.size(), 7u);
  }
  const Words asks{"sinfo", "--version"};
  EXPECT_EQ(std::count(commands.ran.begin(), commands.ran.end(), asks), 2);
}

TEST(CommandCluster, WhatIsGrantedIsMarked) {
  FakeCommands commands;
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask_for("root")), 316);
  EXPECT_EQ(commands.ran.back(),
            (Words{"scontrol", "update", "JobId=316", "AdminComment=dovetail dove-17.2@dove"}));
}

// In Slurm's queue; an allocation of salloc would end there with its salloc.
TEST(CommandCluster, WhatMayWaitIsMarkedThereToo) {
  FakeCommands commands;
  commands.salloc = {0, "", "salloc: Pending job allocation 317"};
  Ask ask = ask_for("");
  ask.waits = true;
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask), 318);
  EXPECT_EQ(commands.ran[1], sleeper_command(ask));
  EXPECT_EQ(commands.ran[1].back(), "--wrap=exec sleep infinity");
  EXPECT_EQ(commands.ran[1].end()[-2], "--partition=gpu,all") << "the adapter's own";
  EXPECT_EQ(commands.ran.back(),
            (Words{"scontrol", "update", "JobId=318", "AdminComment=dovetail dove-17.2@dove"}));
  ask.waits = false;
  EXPECT_FALSE(CommandCluster(commands.run()).ask(ask).ok()) << "it is in no queue";
}

// Slurm would run one again that has ended since it was seen, too.
TEST(CommandCluster, AJobThatHasNotEndedIsRequeuedAndSaysWhy) {
  FakeCommands commands;
  CommandCluster slurm(commands.run());
  ASSERT_TRUE(slurm.requeue("17_3", "put back").ok());
  EXPECT_EQ(commands.ran,
            (std::vector<Words>{{"scontrol", "update", "JobId=17_3", "AdminComment=put back"},
                                {"scontrol", "requeue", "Incomplete", "17_3"}}));
  commands.ran.clear();
  ASSERT_TRUE(slurm.requeue("17_3", "").ok());
  EXPECT_EQ(commands.ran, (std::vector<Words>{{"scontrol", "requeue", "Incomplete", "17_3"}}));
  commands.update = 1;
  EXPECT_EQ(slurm.requeue("17_3", "").error().code, "slurm_command");
}

TEST(CommandCluster, AJobIsWarnedAsItsScriptSays) {
  FakeCommands commands;
  commands.script = "#!/bin/sh\n#SBATCH --signal=B:USR1@90\ntrain\n";
  CommandCluster slurm(commands.run());
  EXPECT_EQ(*slurm.warn("17_3"), 90);
  EXPECT_EQ(commands.ran.back(), (Words{"scancel", "--signal=USR1", "--batch", "17_3"}));
  commands.script = "#!/bin/sh\n#SBATCH --signal=R:10\ntrain\n";
  EXPECT_EQ(*slurm.warn("17_3"), 60);
  EXPECT_EQ(commands.ran.back(), (Words{"scancel", "--signal=10", "17_3"}));
  EXPECT_EQ(commands.count("sacct"), 1) << "it has just said that it knows nothing";
  commands.script = "#!/bin/sh\ntrain\n";
  EXPECT_EQ(*slurm.warn("17_3"), 0);
  EXPECT_EQ(commands.ran.back(), (Words{"scontrol", "write", "batch_script", "17_3", "-"}));
}

TEST(CommandCluster, TheCommandLineComesBeforeTheScript) {
  FakeCommands commands;
  commands.sacct = {0, "sbatch --signal=USR2@30 train.sh\n", ""};
  commands.script = "#!/bin/sh\n#SBATCH --signal=B:USR1@90\ntrain\n";
  CommandCluster slurm(commands.run());
  EXPECT_EQ(*slurm.warn("17"), 30);
  EXPECT_EQ(commands.ran.back(), (Words{"scancel", "--signal=USR2", "17"}));
  commands.sacct = {0, "\n", ""};
  EXPECT_EQ(*slurm.warn("17"), 90);
}

TEST(CommandCluster, WhatTheGateMarksNeedsNoCommandOfItsOwn) {
  FakeCommands commands;
  Ask ask = ask_for("root");
  ask.is_marked_by_gate = true;
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask), 316);
  EXPECT_EQ(commands.ran.back()[0], "salloc");
}

// A limit beyond its partition's is set once it runs.
TEST(CommandCluster, APartitionsLimitIsExceededAfterwards) {
  FakeCommands commands;
  commands.partitions =
      "PartitionName=gpu MaxTime=00:30:00 PriorityTier=1 State=UP\n"
      "PartitionName=all MaxTime=00:20:00 PriorityTier=1 State=UP\n";
  CommandCluster slurm(commands.run());
  EXPECT_EQ(*slurm.ask(ask_for("root")), 316);
  ASSERT_EQ(commands.ran.size(), 5u);
  const Words& asked = commands.ran[2];
  EXPECT_NE(std::find(asked.begin(), asked.end(), "--time=30"), asked.end());
  EXPECT_NE(std::find(asked.begin(), asked.end(), "--partition=gpu"), asked.end());
  EXPECT_EQ(commands.ran[3], (Words{"scontrol", "update", "JobId=316", "TimeLimit=62"}));
  commands.update = 1;
  EXPECT_FALSE(slurm.ask(ask_for("root")).ok());
  EXPECT_EQ(commands.ran.back(), (Words{"scancel", "316"}));
}

TEST(CommandCluster, ARefusedTierIsFollowedByTheNext) {
  FakeCommands commands;
  commands.partitions =
      "PartitionName=gpu MaxTime=UNLIMITED PriorityTier=1 State=UP\n"
      "PartitionName=all MaxTime=UNLIMITED PriorityTier=2 State=UP\n";
  commands.salloc = {1, "", "salloc: error: Requested partition configuration not available now"};
  CommandCluster slurm(commands.run());
  EXPECT_EQ(slurm.ask(ask_for("")).error().code, "slurm_command");
  ASSERT_EQ(commands.count("salloc"), 2);
  EXPECT_NE(std::find(commands.ran[1].begin(), commands.ran[1].end(), "--partition=all"),
            commands.ran[1].end());
}

TEST(CommandCluster, JobsAloneAreOneCommand) {
  FakeCommands commands;
  const auto nodes = CommandCluster(commands.run()).observe();
  commands.ran.clear();
  const auto jobs = CommandCluster(commands.run()).observe_jobs(nodes->nodes);
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(jobs->size(), 6u);
  EXPECT_EQ(commands.ran, (std::vector<Words>{{"squeue", "--states=all", "--json"}}));
}

TEST(CommandCluster, WhatCannotBeMarkedIsReleased) {
  FakeCommands commands;
  commands.update = 1;
  EXPECT_EQ(CommandCluster(commands.run()).ask(ask_for("root")).error().code, "not_administrator");
  EXPECT_EQ(commands.ran.back(), (Words{"scancel", "316"}));
}

TEST(CommandCluster, NoRoomIsNotTriedTwice) {
  FakeCommands commands;
  commands.for_users = {1, "",
                        "salloc: error: Unable to allocate resources: Requested nodes are busy"};
  EXPECT_EQ(CommandCluster(commands.run()).ask(ask_for("root")).error().kind, ErrorKind::kConflict);
  EXPECT_EQ(commands.count("salloc"), 1);
}

TEST(CommandCluster, AUserWithoutAccountInSlurmIsHeldForAllTheSame) {
  FakeCommands commands;
  commands.for_users = {1, "", "salloc: error: Invalid account or account/partition combination"};
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask_for("root")), 316);
  EXPECT_EQ(commands.count("salloc"), 2);
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask_for("no such user")), 316);
  EXPECT_EQ(commands.count("salloc"), 3);
}

// salloc of 23.02 and later knows no --uid.
TEST(CommandCluster, ANewerSlurmHoldsWhatIsNobodysForTheAdapter) {
  FakeCommands commands;
  commands.version = "slurm 24.11.5\n";
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask_for("root")), 316);
  EXPECT_EQ(commands.ran[2], placeholder_command(ask_for("root"), false));
}

TEST(CommandCluster, ANewerSlurmStartsABatchJobForAUser) {
  FakeCommands commands;
  commands.version = "slurm 24.11.5\n";
  Ask ask = ask_for("root");
  ask.is_users = true;
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask), 318);
  EXPECT_EQ(commands.ran[2], (Words{"sbatch",
                                    "--parsable",
                                    "--no-requeue",
                                    "--export=NIL",
                                    "--output=/dev/null",
                                    "--priority=TOP",
                                    "--job-name=dove-17.2@dove",
                                    "--comment=dovetail",
                                    "--nodelist=n1",
                                    "--nodes=1",
                                    "--ntasks=1",
                                    "--cpus-per-task=2",
                                    "--mem=4097M",
                                    "--time=62",
                                    "--chdir=/",
                                    "--gres=gpu:h200_2:1",
                                    "--partition=gpu,all",
                                    "--uid=root",
                                    "--gid=0",
                                    "--wrap=exec sleep infinity"}));
  EXPECT_EQ(commands.count("squeue"), 0) << "the next look shows whether it has started";
  EXPECT_EQ(commands.ran.back(),
            (Words{"scontrol", "update", "JobId=318", "AdminComment=dovetail dove-17.2@dove"}));
}

// With a longer one than its partition's it would wait for ever.
TEST(CommandCluster, ABatchJobKeepsItsPartitionsLimitUntilItRuns) {
  FakeCommands commands;
  commands.version = "slurm 24.11.5\n";
  commands.partitions = "PartitionName=gpu MaxTime=00:30:00 PriorityTier=1 State=UP\n";
  Ask ask = ask_for("root");
  ask.is_users = true;
  EXPECT_EQ(*CommandCluster(commands.run()).ask(ask), 318);
  const Words& asked = commands.ran.end()[-2];
  EXPECT_NE(std::find(asked.begin(), asked.end(), "--time=30"), asked.end());
  EXPECT_EQ(commands.ran.back().back(), "AdminComment=dovetail dove-17.2@dove");
}

// With slurmrestd no look asks for the version.
TEST(CommandCluster, AnUpgradeShowsInARefusal) {
  FakeCommands commands;
  CommandCluster slurm(commands.run());
  Ask ask = ask_for("root");
  ask.is_users = true;
  EXPECT_EQ(*slurm.ask(ask), 316);
  commands.version = "slurm 24.11.5\n";
  commands.for_users = {1, "", "salloc: unrecognized option '--uid=root'"};
  EXPECT_EQ(*slurm.ask(ask), 318);
  EXPECT_EQ(commands.count("salloc"), 2);
  EXPECT_EQ(*slurm.ask(ask), 318);
  EXPECT_EQ(commands.count("salloc"), 2) << "it knows";
}

TEST(CommandCluster, ABatchJobThatSlurmRefusesIsNobodyElses) {
  FakeCommands commands;
  commands.version = "slurm 24.11.5\n";
  Ask ask = ask_for("root");
  ask.is_users = true;
  commands.sbatch = {1, "", "sbatch: error: Batch job submission failed: Invalid account"};
  EXPECT_EQ(CommandCluster(commands.run()).ask(ask).error().code, "slurm_command");
  EXPECT_EQ(commands.count("salloc"), 0) << "it is to be its user's";
}

TEST(CommandCluster, WhatOnlyAPersonCanChangeIsRefusedForGoodWithTheRemedy) {
  FakeCommands commands;
  commands.version = "slurm 24.11.5\n";
  Ask ask = ask_for("root");
  ask.is_users = true;
  const std::pair<const char*, const char*> all[] = {
      {"Invalid account or account/partition combination specified", "sacctmgr add user"},
      {"Invalid user id", "Linux account on slurmctld's machine"},
      {"Invalid qos specification", "sacctmgr modify user"},
      {"User's group not permitted to use this partition", "AllowGroups"},
      {"Requested time limit is invalid (missing or exceeds some limit)", "shorter time limit"}};
  for (const auto& [said, remedy] : all) {
    commands.sbatch = {1, "", std::string("sbatch: error: Batch job submission failed: ") + said};
    const Error error = CommandCluster(commands.run()).ask(ask).error();
    EXPECT_EQ(error.code, kUser_refused) << said;
    EXPECT_NE(error.message.find(said), std::string::npos) << error.message;
    EXPECT_NE(error.message.find(remedy), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("root"), std::string::npos) << error.message;
  }
  commands.sbatch = {1, "", "sbatch: error: Job violates accounting/QOS policy (job submit limit)"};
  EXPECT_EQ(CommandCluster(commands.run()).ask(ask).error().code, "slurm_command")
      << "other jobs of the user end";
  commands.partitions =
      "PartitionName=gpu PriorityTier=9 State=UP\nPartitionName=all PriorityTier=1 State=UP\n";
  commands.sbatch = {1, "", "sbatch: error: Invalid account or account/partition combination"};
  EXPECT_EQ(CommandCluster(commands.run()).ask(ask).error().code, kUser_refused) << "in each tier";
}

TEST(CommandCluster, AUserWithoutALinuxAccountHereIsRefusedForGood) {
  FakeCommands commands;
  Ask ask = ask_for("no-such-person");
  ask.is_users = true;
  const Error error = CommandCluster(commands.run()).ask(ask).error();
  EXPECT_EQ(error.code, kUser_refused);
  EXPECT_NE(error.message.find("no Linux user \"no-such-person\" on "), std::string::npos);
  EXPECT_NE(error.message.find("create the account"), std::string::npos) << error.message;
  EXPECT_TRUE(commands.ran.empty());
}

TEST(CommandCluster, DrainsWithTheReasonAndOpensAgain) {
  FakeCommands commands;
  ASSERT_TRUE(CommandCluster(commands.run()).set_drain("n1", "dovetail@dove: xid 79").ok());
  EXPECT_EQ(commands.ran.back(), (Words{"scontrol", "update", "NodeName=n1", "State=DRAIN",
                                        "Reason=dovetail@dove: xid 79"}));
  ASSERT_TRUE(CommandCluster(commands.run()).set_drain("n1", "").ok());
  EXPECT_EQ(commands.ran.back(), (Words{"scontrol", "update", "NodeName=n1", "State=UNDRAIN"}));
}

Result<CommandEnd> run_shell(const char* script, CommandWanted wanted = {}) {
  wanted.words = {"sh", "-c", script};
  return run_command(wanted);
}

TEST(CommandRun, OutputEndAndLimits) {
  const auto end = run_shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->output, "out\n");
  EXPECT_EQ(end->said, "err");
  EXPECT_EQ(end->code, 3);
  EXPECT_EQ(run_command({.words = {"no-such-command-of-slurm"}}).error().code, "cannot_start");
  const CommandWanted soon{.words = {}, .limit = std::chrono::milliseconds(50)};
  EXPECT_EQ(run_shell("sleep 60", soon).error().code, "too_slow");
  EXPECT_EQ(run_shell("exec >&- 2>&-; sleep 60", soon).error().code, "too_slow");
  const CommandWanted little{.words = {}, .output_max = 4096};
  EXPECT_EQ(run_shell("while :; do echo much; done", little).error().code, "too_much");
}

// salloc grants, and then waits for the prolog.
TEST(CommandRun, IsLeftOnceItHasSaidEnough) {
  const CommandWanted granted{.words = {}, .enough = "Granted "};
  const auto end = run_shell("echo Granted 7 >&2; sleep 60; echo never >&2", granted);
  ASSERT_TRUE(end.ok()) << end.error().message;
  EXPECT_EQ(end->code, 0);
  EXPECT_EQ(end->said, "Granted 7");
}

TEST(CommandRun, UsersSettingsOfSlurmAreNotHandedOn) {
  ::setenv("SALLOC_PARTITION", "other", 1);
  ::setenv("SLURM_CONF", "/etc/slurm/x.conf", 1);
  EXPECT_EQ(run_shell("echo \"$SALLOC_PARTITION|$SLURM_CONF\"")->output, "|/etc/slurm/x.conf\n");
  ::unsetenv("SALLOC_PARTITION");
  ::unsetenv("SLURM_CONF");
}

}  // namespace
}  // namespace dove::slurm
