#include "slurm/fences/user_signal.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

TEST(UserSignal, IsReadAsSbatchReadsIt) {
  EXPECT_EQ(read_user_signal("USR1"), (UserSignal{"USR1", false, 60}));
  EXPECT_EQ(read_user_signal("SIGUSR2@90"), (UserSignal{"USR2", false, 90}));
  EXPECT_EQ(read_user_signal("B:10@0"), (UserSignal{"10", true, 0}));
  EXPECT_EQ(read_user_signal("b:usr1@65535"), (UserSignal{"USR1", true, 65'535}));
  EXPECT_EQ(read_user_signal("R:TERM@5"), (UserSignal{"TERM", false, 5}));
  EXPECT_EQ(read_user_signal("RB:TERM@5"), (UserSignal{"TERM", true, 5}));
  for (const char* wrong : {"", "@60", "B:", "X:USR1", "USR1@", "USR1@x", "USR1@-1", "USR1@65536",
                            "USR 1", "-USR1", "B:USR1@6 0", "ASIGNALOFMANYLETTERS"}) {
    EXPECT_FALSE(read_user_signal(wrong).has_value()) << wrong;
  }
  for (const char* kill : {"KILL", "SIGKILL@60", "B:9", "0"}) {
    EXPECT_FALSE(read_user_signal(kill).has_value()) << kill;
  }
}

TEST(UserSignal, OfAScriptIsTheLastBeforeItsFirstCommand) {
  EXPECT_EQ(signal_of_script("#!/bin/bash\n#SBATCH -p gpu --signal=USR1@90 -n 2\n\n# says\n"
                             "#SBATCH --signal B:USR2@30 # late\nsrun train\n"
                             "#SBATCH --signal=TERM\n"),
            (UserSignal{"USR2", true, 30}));
  EXPECT_FALSE(signal_of_script("").has_value());
  EXPECT_FALSE(signal_of_script("#!/bin/sh\nsrun --signal=USR1 train\n").has_value());
  EXPECT_FALSE(signal_of_script("##SBATCH --signal=USR1\n# SBATCH --signal=USR1\n").has_value());
  EXPECT_FALSE(signal_of_script("#SBATCH --comment=\"a --signal=USR1\" # --signal=USR1\n"));
  EXPECT_EQ(signal_of_script("#SBATCH --signal='B:USR1@90'\r\n"), (UserSignal{"USR1", true, 90}));
}

TEST(UserSignal, OfACommandIsNotOneOfTheScriptsOwnArguments) {
  const UserSignal wanted{"USR1", true, 90};
  for (const char* line :
       {"sbatch --signal=B:USR1@90 train.sh", "sbatch -p gpu --signal B:USR1@90 train.sh",
        "sbatch --parsable -n4 -H --gres=gpu:1 --signal=B:USR1@90 train.sh --signal=TERM",
        "sbatch --array=1-2 --signal=B:USR1@90 --wrap sleep 300"}) {
    EXPECT_EQ(signal_of_command(line), wanted) << line;
  }
  for (const char* line :
       {"", "sbatch", "sbatch train.sh --signal=USR1", "sbatch -p gpu train.sh --signal=USR1",
        "sbatch --exclusive train.sh --signal=USR1", "sbatch -n4 train.sh --signal=USR1",
        "sbatch --mem=1G train.sh --signal=USR1", "sbatch --wrap srun --signal=USR1 train",
        "sbatch --wrap=srun --signal=USR1 train", "sbatch -J two words --signal=USR1 train.sh"}) {
    EXPECT_FALSE(signal_of_command(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace dove::slurm
