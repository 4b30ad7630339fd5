// What a job's launcher and image show of its framework.
#include "views/framework.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::views {
namespace {

using Json = nlohmann::json;

Json command(std::initializer_list<const char*> words) { return {{"command", words}}; }
Json script(const std::string& text) { return {{"script", text}}; }
Json image(const char* name) {
  return {{"command", {"python3", "train.py"}}, {"container", {{"image", name}}}};
}

TEST(Framework, IsThatOfTheLauncher) {
  EXPECT_EQ(framework_of(command({"torchrun", "--nproc-per-node=8", "train.py"})), "pytorch");
  EXPECT_EQ(framework_of(command({"python3", "-m", "torch.distributed.run", "t.py"})), "pytorch");
  EXPECT_EQ(framework_of(command({"/opt/venv/bin/deepspeed", "t.py"})), "pytorch");
  EXPECT_EQ(framework_of(command({"/bin/sh", "-c", "exec mpirun -n 4 ./solve"})), "mpi");
  EXPECT_EQ(framework_of(script("#!/bin/bash\n#SBATCH -n 4\nmpiexec ./solve\n")), "mpi");
  EXPECT_EQ(framework_of(script("export TF_CONFIG='{}'\npython3 t.py\n")), "tensorflow");
  Json declared = command({"python3", "t.py"});
  declared["environment"] = {{"TF_CONFIG", "{}"}};
  EXPECT_EQ(framework_of(declared), "tensorflow");
}

TEST(Framework, IsElseThatOfTheImage) {
  EXPECT_EQ(framework_of(image("nvcr.io/nvidia/pytorch:24.05-py3")), "pytorch");
  EXPECT_EQ(framework_of(image("tensorflow/tensorflow@sha256:00")), "tensorflow");
  EXPECT_EQ(framework_of(image("mpioperator/openmpi")), "mpi");
  EXPECT_EQ(framework_of(image("torch.example.org/base:1")), "") << "a host is no framework";
  Json both = image("pytorch");
  both["command"] = {"mpirun", "python3", "t.py"};
  EXPECT_EQ(framework_of(both), "mpi") << "the launcher counts more";
  EXPECT_EQ(framework_of_text(both.dump()), "mpi");
}

TEST(Framework, IsNotMadeUp) {
  EXPECT_EQ(framework_of(command({"python3", "train.py"})), "");
  EXPECT_EQ(framework_of(script("# torchrun would be another way\n  # mpirun\npython3 t.py\n")),
            "");
  EXPECT_EQ(framework_of(script("python3 mpirun.py; echo mytorchrun\n")), "");
  EXPECT_EQ(framework_of(script(std::string(64 << 10, 'x') + "\nmpirun a\n")), "");
  for (const Json& odd : {Json(), Json::array(), Json(3), Json{{"command", 3}, {"script", nullptr}},
                          Json{{"command", {1, nullptr}}, {"container", "x"}}}) {
    EXPECT_EQ(framework_of(odd), "");
    EXPECT_EQ(framework_of_text(odd.dump() + "mpirun"), "") << "no JSON";
  }
}

}  // namespace
}  // namespace dove::views
