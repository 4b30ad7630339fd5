// srun inside a job: what it refuses before a step begins.
#include <cstdlib>

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

}  // namespace
}  // namespace dove::cli
