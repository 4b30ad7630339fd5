#include "cli/slurm/gang/step_turn.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace dove::cli {
namespace {

namespace fs = std::filesystem;

class Turns : public testing::Test {
 protected:
  Turns() { fs::remove(path); }
  ~Turns() override { fs::remove(path); }

  const std::string path = testing::TempDir() + "dove-step-turn";
};

TEST_F(Turns, StepsOfTheSameNodesHaveThemOneAfterTheOther) {
  StepTurn first(path, {"71", "70"});
  EXPECT_TRUE(first.try_take());
  StepTurn second(path, {"71", "72"});
  EXPECT_FALSE(second.try_take());
  EXPECT_TRUE(StepTurn(path, {"73", "72"}).try_take()) << "no node of the first";
  StepTurn moved = std::move(first);
  EXPECT_FALSE(second.try_take());
  moved.end();
  EXPECT_TRUE(second.try_take());
  EXPECT_TRUE(StepTurn(path, {"70"}).try_take());
}

TEST_F(Turns, TheNextOneIsWokenByTheEnd) {
  StepTurn first(path, {"70", "71"});
  ASSERT_TRUE(first.try_take());
  StepTurn second(path, {"70", "71"});
  ASSERT_FALSE(second.try_take());
  std::thread waits([&] { second.wait(); });
  first.end();
  waits.join();
  EXPECT_FALSE(StepTurn(path, {"70"}).try_take());
}

TEST_F(Turns, WithoutItsFileEveryStepHasItsTurn) {
  EXPECT_TRUE(StepTurn().try_take());
  EXPECT_TRUE(StepTurn("/nowhere/at/all", {"70"}).try_take());
  std::ofstream(path).close();
  fs::create_hard_link(path, path + "-other");
  StepTurn linked(path, {"70"});
  EXPECT_TRUE(linked.try_take());
  EXPECT_TRUE(StepTurn(path, {"70"}).try_take()) << "a second name";
  fs::remove(path + "-other");
  fs::remove(path);
  fs::create_symlink("/dev/null", path);
  EXPECT_TRUE(StepTurn(path, {"70"}).try_take());
  EXPECT_TRUE(StepTurn(path, {"70"}).try_take());
}

}  // namespace
}  // namespace dove::cli
