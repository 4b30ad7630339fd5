#include "slurm/gate/mark.h"

#include <gtest/gtest.h>

namespace dove::slurm {
namespace {

TEST(GateMark, IsReadAsItIsWritten) {
  const std::string gpus = write_gpus({{"n1", {0, 3}}, {"n2", {0, 3}}, {"n4", {7}}, {"n5", {}}});
  GateMark mark{true, "h200", 17, 2, 3, gpus, true, "n[1-2]"};
  EXPECT_EQ(read_mark(write_mark(mark)), mark);
  EXPECT_EQ(write_mark(mark),
            "dovetail-gate run=17.2 restarts=3 gpus=n[1-2]:0,3/n4:7 seen user_hold model=h200 "
            "nodes=n[1-2]");
  EXPECT_EQ(read_mark("dovetail-gate run=17. restarts=x").job, 0);
  EXPECT_FALSE(is_of_gate("dovetail-gated"));
  EXPECT_FALSE(is_of_gate("dovetail dove-1.1@dove"));
}

TEST(GateMark, LeavesOutDevicesThatAreTooManyForAComment) {
  std::map<std::string, std::vector<int>> devices;
  for (int node = 0; node < 100; ++node) devices["n" + std::to_string(node)] = {node % 8, 8 + node};
  EXPECT_EQ(write_gpus(devices), "");
}

}  // namespace
}  // namespace dove::slurm
