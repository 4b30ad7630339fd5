#include "agent/devices/device_shares.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/containers/container_plan.h"

namespace dove::agent {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

class DeviceSharesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pipes_ = ::testing::TempDir() + "/mps-" + std::to_string(::getpid());
    std::filesystem::create_directories(pipes_);
    for (const char* uuid : {"GPU-aa", "GPU-bb"}) {
      Device device;
      device.uuid = uuid;
      device.model = "H100";
      device.memory_bytes = 80 * kGiB;
      inventory_.devices.push_back(device);
    }
    plan_.mark = "node1.7.1.r0";
    placement_.devices = {{0, 500}};
  }
  void TearDown() override { std::filesystem::remove_all(pipes_); }

  void daemon_is(const std::string& pid) const {
    std::ofstream(pipes_ + "/nvidia-cuda-mps-control.pid") << pid << "\n";
  }
  void hold(const std::vector<DeviceGrant>& grants) {
    hold_to_share(options_, inventory_, placement_, grants, "/attempt", plan_);
  }

  std::string pipes_;
  ShareOptions options_{"/lib/share.so", ""};
  Inventory inventory_;
  Placement placement_;
  TaskPlan plan_;
};

TEST_F(DeviceSharesTest, CapsATaskByItsShareAndTheAttemptByTheirs) {
  plan_.environment["LD_PRELOAD"] = "libjemalloc.so";
  hold({{0, 250}});
  EXPECT_EQ(plan_.environment.at("DOVE_SHARE_CAPS"),
            "GPU-aa=" + std::to_string(20 * kGiB) + ":" + std::to_string(40 * kGiB));
  EXPECT_EQ(plan_.environment.at("DOVE_SHARE_FILE"), "/attempt/shares/memory");
  EXPECT_EQ(plan_.environment.at("LD_PRELOAD"), "/lib/share.so:libjemalloc.so");
  EXPECT_EQ(plan_.environment.at("DOVE_DEVICE_SHARE_BY"), "library");
  EXPECT_FALSE(plan_.environment.contains("CUDA_MPS_PIPE_DIRECTORY"));
  TaskPlan other = plan_;
  other.mark = "node1.7.1.r1";
  hold_to_share(options_, inventory_, placement_, {{0, 250}}, "/attempt", other);
  EXPECT_NE(other.environment.at("DOVE_SHARE_TASK"), plan_.environment.at("DOVE_SHARE_TASK"));
}

TEST_F(DeviceSharesTest, LeavesWholeDevicesAlone) {
  hold({{0, kWholeDevice_milli}});
  EXPECT_TRUE(plan_.environment.empty());
  hold({});
  EXPECT_TRUE(plan_.environment.empty());
}

TEST_F(DeviceSharesTest, ShowsAContainerWhatItNeeds) {
  options_.mps_directory = pipes_;
  daemon_is(std::to_string(::getpid()));
  plan_.container.image = "cuda";
  hold({{0, 500}});
  EXPECT_EQ(plan_.environment.at("DOVE_DEVICE_SHARE_BY"), "library");
  ASSERT_EQ(plan_.shared.size(), 2u);
  EXPECT_EQ(plan_.shared[0].source, "/lib/share.so");
  EXPECT_FALSE(plan_.shared[0].writable);
  EXPECT_EQ(plan_.environment.at("LD_PRELOAD"), plan_.shared[0].target);
  EXPECT_EQ(plan_.shared[1].source, "/attempt/shares");
  EXPECT_TRUE(plan_.shared[1].writable);
  EXPECT_TRUE(plan_.environment.at("DOVE_SHARE_FILE").starts_with(plan_.shared[1].target));
}

TEST_F(DeviceSharesTest, HidesNothingThatTheImageLoadsFirst) {
  plan_.container.image = "cuda";
  hold({{0, 500}});
  containers::Image image;
  image.environment["LD_PRELOAD"] = "/usr/lib/libjemalloc.so";
  const containers::Bundle bundle = container_bundle(plan_, image, ContainerIdentity{}, {});
  EXPECT_EQ(bundle.environment.at("LD_PRELOAD"), "/dev/.dove-share.so:/usr/lib/libjemalloc.so");
  for (const std::string own : {"", "/mine.so"}) {
    TaskPlan other;
    other.container.image = "cuda";
    other.environment["LD_PRELOAD"] = own;
    const auto preload = [&] {
      return container_bundle(other, image, ContainerIdentity{}, {}).environment.at("LD_PRELOAD");
    };
    EXPECT_EQ(preload(), own) << "the job's own takes the place of the image's";
    hold_to_share(options_, inventory_, placement_, {{0, 500}}, "/attempt", other);
    EXPECT_EQ(preload(), "/dev/.dove-share.so:" + own);
  }
}

TEST_F(DeviceSharesTest, SpeaksToMpsWhereItsDaemonLives) {
  options_.mps_directory = pipes_;
  EXPECT_FALSE(mps_runs(pipes_)) << "nobody has written a process id";
  daemon_is(std::to_string(::getpid()));
  ASSERT_TRUE(mps_runs(pipes_));
  hold({{1, 333}});
  EXPECT_EQ(plan_.environment.at("DOVE_DEVICE_SHARE_BY"), "mps");
  EXPECT_EQ(plan_.environment.at("CUDA_MPS_PIPE_DIRECTORY"), pipes_);
  EXPECT_EQ(plan_.environment.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "34");
  EXPECT_EQ(plan_.environment.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "GPU-bb=27279M");
  EXPECT_TRUE(plan_.environment.contains("DOVE_SHARE_CAPS")) << "of its processes together";
}

TEST_F(DeviceSharesTest, DoesNotSpeakToADaemonThatIsGone) {
  options_.mps_directory = pipes_;
  daemon_is("4194304");  // beyond the kernel's largest
  EXPECT_FALSE(mps_runs(pipes_));
  hold({{0, 500}});
  EXPECT_EQ(plan_.environment.at("DOVE_DEVICE_SHARE_BY"), "library");
}

TEST_F(DeviceSharesTest, SaysWhenNobodyHoldsIt) {
  options_.library.clear();
  hold({{0, 500}});
  EXPECT_EQ(plan_.environment.at("DOVE_DEVICE_SHARE_BY"), "nobody");
  EXPECT_FALSE(plan_.environment.contains("LD_PRELOAD"));
  options_.library = "/lib/share.so";
  inventory_.devices[0].vendor = "amd";
  EXPECT_EQ(share_keeper(options_, inventory_, {{0, 500}}, false), ShareKeeper::kNobody);
}

}  // namespace
}  // namespace dove::agent
