#include "jobfiles/script_steps.h"

#include <gtest/gtest.h>

namespace dove::jobfiles {
namespace {

// Its warnings, one in a line.
std::string warnings(const std::string& script) {
  Draft draft;
  warn_of_steps(draft, "job.sh", script);
  std::string text;
  for (const Warning& warning : draft.warnings) {
    text += to_text(warning.place) + " " + warning.code + "\n";
  }
  return text;
}

TEST(ScriptSteps, WhatIsHonouredIsNoWarning) {
  EXPECT_EQ(
      warnings("#!/bin/bash\nsrun hostname\nsrun -n1 --exclusive ./one $i &\n"
               "srun -N2 -n 4 --gpus-per-task=1 --cpu-bind=cores -t 5 python x.py --mpi=pmix\n"
               "echo srun --x11\n# srun --x11\nsrun $OPTIONS --mpi=$MPI x\n"
               "srun --mpi=none --wait=0 -K1 -l -u --gpu-bind=verbose,single:1 x\n"),
      "");
}

TEST(ScriptSteps, WhatIsNotIsOneWithItsPlace) {
  EXPECT_EQ(warnings("#!/bin/bash\nsrun --mpi=pmix a\n"), "job.sh:2:6 no_effect\n");
  EXPECT_EQ(warnings("if srun -n1 --x11 x; then y; fi\n"), "job.sh:1:13 step_fails\n");
  EXPECT_EQ(warnings("A=1 srun \\\n  -n2 \\\n  --nosuch x\n"), "job.sh:3:3 step_fails\n");
  EXPECT_EQ(warnings("x=\"$(srun --mpi pmi2 hostname)\"\n"), "job.sh:1:11 no_effect\n");
  EXPECT_EQ(warnings("srun -n1 a : -n2 b\nsrun echo :\n"), "job.sh:1:12 step_fails\n");
  EXPECT_EQ(warnings("/usr/bin/srun -A name -n1 a & srun -n1 --mpi=pmix b\n"),
            "job.sh:1:15 no_effect\njob.sh:1:40 no_effect\n");
  EXPECT_EQ(warnings("srun --cpu-bind=map_cpu:0,1 a\n"), "job.sh:1:6 no_effect\n");
}

TEST(ScriptSteps, AnyTextIsSurvived) {
  for (const char* text :
       {"", "srun", "srun -", "srun --", "srun '", "srun \"", "srun \\", "srun --=", "srun -n",
        "$(", "`srun", "srun --mpi=", "srun : ", "srun \\\n"}) {
    warnings(text);
  }
}

}  // namespace
}  // namespace dove::jobfiles
