// srun inside a job: what it refuses before a step begins.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/cli_bed_for_test.h"
#include "cli/command.h"

namespace dove::cli {
namespace {

TEST_F(CliTest, TheOutputOfNoTaskIsRefusedBeforeAnyBegins) {
  setenv("DOVE_JOB_ID", "7", 1);
  setenv("DOVE_JOB_TOKEN", "7.1.mac", 1);
  setenv("SLURM_NTASKS", "2", 1);
  server_.set("POST /v1/jobs/7/steps",
              {200, "{\"begun\":{\"step\":0}}\n{\"ended\":{\"exit_code\":0}}\n", true});
  for (const char* option : {"--output=2", "--error=2"}) {
    const Outcome none = run({"srun", option, "prog"});
    EXPECT_EQ(none.code, kExitFailed) << option;
    EXPECT_NE(none.err.find("=2: the step has 2 tasks"), std::string::npos) << none.err;
  }
  EXPECT_TRUE(server_.requests().empty());
  EXPECT_EQ(run({"srun", "--output=1", "-n2", "prog"}).code, 1) << "the last resort";
  EXPECT_FALSE(server_.requests().empty());
  unsetenv("SLURM_NTASKS");
}

TEST_F(CliTest, SrunKnowsOnePlugInForMpiAndSaysWhatToUseInPlaceOfOthers) {
  setenv("DOVE_JOB_ID", "7", 1);
  setenv("DOVE_JOB_TOKEN", "7.1.mac", 1);
  server_.set("POST /v1/jobs/7/steps",
              {200, "{\"begun\":{\"step\":0}}\n{\"ended\":{\"exit_code\":0}}\n", true});
  EXPECT_EQ(run({"srun", "--mpi=list"}).out, "MPI plugin types are...\n\tnone\n");
  EXPECT_TRUE(server_.requests().empty());
  EXPECT_EQ(run({"srun", "--mpi=none", "prog"}).err, "");
  for (const char* option : {"--mpi=pmi2", "--mpi=pmix"}) {
    const Outcome warned = run({"srun", option, "prog"});
    EXPECT_NE(warned.err.find("--mpi has no effect: "), std::string::npos) << warned.err;
    EXPECT_NE(warned.err.find("start it with `mpirun`"), std::string::npos) << warned.err;
  }
}

// Slurm's own answers, with its plug-ins.
TEST_F(CliTest, InAJobThatASlurmRunsItsSrunListsThePlugInsForMpi) {
  const std::string folder = testing::TempDir() + "dove-srun-mpi-list";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/srun") << "#!/bin/sh\n[ \"$*\" = --mpi=list ] && exit 3\n";
  std::filesystem::permissions(folder + "/srun", std::filesystem::perms::owner_all);
  const pid_t child = ::fork();
  if (child == 0) {
    setenv("DOVE_JOB_ID", "12", 1);
    setenv("DOVE_BACKEND", "slurm", 1);
    setenv("DOVE_SLURM_JOB_ID", "7", 1);
    setenv("PATH", folder.c_str(), 1);
    run({"srun", "--mpi=list"});
    ::_exit(255);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dove::cli
