// Slices as the whole brain deals them out, with every check of CheckedBrain.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "core/admit/admit.h"
#include "core/explain/explain.h"
#include "policies/standard.h"
#include "sim/checked_brain.h"

namespace dove::sim {
namespace {

class Slices : public testing::Test {
 protected:
  Slices() {
    brain_.begin(at_);
    brain_.add(ControllerStarted{});
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(1);
    for (std::int32_t core = 0; core < 64; ++core) inventory->numa[0].cores.insert(core);
    for (int i = 0; i < 8; ++i) {
      inventory->devices.push_back({"gpu", "nvidia", "A100", "", std::int64_t{40} << 30, 0});
    }
    inventory->memory_bytes = std::int64_t{1} << 40;
    NodeRegistered node;
    node.name = "dgx";
    node.boot_id = "boot";
    node.inventory = inventory;
    brain_.add(node);
    brain_.add(NodeConnected{NodeId(1), "boot"});
    decide();
  }

  static JobSpec spec_of(const char* slice, std::int32_t slices = 1) {
    JobSpec spec;
    spec.user = "ann";
    spec.groups.resize(1);
    spec.groups[0].per_task.slice = slice;
    spec.groups[0].per_task.slices = slices;
    return spec;
  }

  void submit(const char* slice, int jobs) {
    for (int i = 0; i < jobs; ++i) {
      const JobSpec spec = spec_of(slice);
      const auto admitted = core::admit(brain_.state(), spec);
      ASSERT_TRUE(admitted.ok()) << admitted.error().message;
      brain_.add(JobSubmitted{std::make_shared<JobSpec>(spec)});
    }
  }

  // What was launched.
  std::vector<Launch> decide() {
    std::vector<Launch> launches;
    auto decisions = brain_.decide();
    EXPECT_TRUE(decisions.ok()) << decisions.error().message;
    if (!decisions.ok()) return launches;
    for (Decision& decision : *decisions) {
      if (auto* launch = std::get_if<Launch>(&decision)) launches.push_back(std::move(*launch));
    }
    brain_.begin(at_ = at_ + seconds(1));
    return launches;
  }

  void end(const Launch& launch) {
    brain_.add(PlacementEnded{launch.job, launch.attempt, NodeId(1), {TaskExit{}}, 0, 0});
  }

  Instant at_{1'000'000'000};
  CheckedBrain brain_{policies::standard_policies()};
};

TEST_F(Slices, EightDevicesAreFiftySixSlicesAndThenFourWholeOnes) {
  submit("1g.5gb", 56);
  submit("7g.40gb", 4);
  const std::vector<Launch> small = decide();
  ASSERT_EQ(small.size(), 56u);
  std::map<std::int32_t, int> on_device;
  for (const Launch& launch : small) ++on_device[launch.placements[0]->devices[0].device];
  ASSERT_EQ(on_device.size(), 8u);
  for (const auto& [device, count] : on_device) EXPECT_EQ(count, 7) << device;

  const JobId large = JobId(57);
  const auto reasons = core::explain(brain_.state(), brain_.policies(), large);
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].kind, ReasonKind::kResources);
  EXPECT_EQ(reasons[0].resource, "slice:7g.40gb");
  EXPECT_EQ(reasons[0].needs, 1);
  EXPECT_EQ(reasons[0].free, 0);
  EXPECT_EQ(reasons[0].total, 8);

  // All but one slice of device 0: it is live, nothing is re-cut.
  const Launch* last = nullptr;
  for (const Launch& launch : small) {
    if (launch.placements[0]->devices[0].device != 0) continue;
    if (last != nullptr) end(*last);
    last = &launch;
  }
  EXPECT_TRUE(decide().empty());
  end(*last);
  const std::vector<Launch> first = decide();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].placements[0]->devices[0], (DeviceGrant{0, 1000, {0, 8, 7}}));

  for (const Launch& launch : small) {
    const std::int32_t device = launch.placements[0]->devices[0].device;
    if (device >= 1 && device <= 3) end(launch);
  }
  const std::vector<Launch> rest = decide();
  ASSERT_EQ(rest.size(), 3u);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i].placements[0]->devices[0].device, static_cast<std::int32_t>(i + 1));
  }
  EXPECT_TRUE(brain_.check_fold().ok());
}

TEST_F(Slices, SmallOnesLeaveRoomForLargeOnesOnTheirDevice) {
  submit("1g.5gb", 1);
  submit("4g.20gb", 1);
  submit("2g.10gb", 1);
  const std::vector<Launch> launches = decide();
  ASSERT_EQ(launches.size(), 3u);
  for (const Launch& launch : launches) EXPECT_EQ(launch.placements[0]->devices[0].device, 0);
  EXPECT_EQ(brain_.state().nodes.front().device_free_milli[0], 1000 - 125 - 500 - 250);
}

TEST_F(Slices, WhatNoDeviceCanBeCutIntoIsRefusedWithWhatIsKnown) {
  const auto refused = [&](const JobSpec& spec) {
    const auto admitted = core::admit(brain_.state(), spec);
    EXPECT_FALSE(admitted.ok());
    return admitted.ok() ? Error{} : admitted.error();
  };
  EXPECT_EQ(refused(spec_of("1g.18gb")).code, "slice_unknown");
  EXPECT_EQ(refused(spec_of("1g.18gb")).field, "groups[0].per_task.slice");
  EXPECT_NE(refused(spec_of("1g.18gb")).message.find("A100: 1g.5gb, 1g.10gb, 2g.10gb"),
            std::string::npos);
  EXPECT_EQ(refused(spec_of("big")).code, "slice_name");
  EXPECT_EQ(refused(spec_of("7g.40gb", 9)).code, "too_many_slices");
  JobSpec both = spec_of("1g.5gb");
  both.groups[0].per_task.gpus = 1;
  EXPECT_EQ(refused(both).code, "gpus_and_slices");
  JobSpec uncounted = spec_of("1g.5gb", 0);
  EXPECT_EQ(refused(uncounted).code, "slice_and_slices");
  JobSpec crowded = spec_of("3g.20gb");
  crowded.groups[0].tasks = crowded.groups[0].tasks_per_node = 17;
  EXPECT_EQ(refused(crowded).code, "too_many_slices");
}

}  // namespace
}  // namespace dove::sim
