#include "core/admit/admit_slices.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// Two nodes with two H200 each, which hold seven slices 1g.18gb.
class AdmitSlices : public testing::Test {
 protected:
  static Request request_of(const char* slice, std::int32_t slices) {
    Request request;
    request.slice = slice;
    request.slices = slices;
    return request;
  }
  static std::string code(const Result<void>& result) { return result ? "" : result.error().code; }
  static std::string said(const Request& request) { return code(check_slices(request, "f")); }
  static JobSpec job(const char* slice, std::int32_t slices, std::int32_t tasks = 1,
                     std::int32_t tasks_per_node = 0) {
    JobSpec spec = spec_of({.tasks = tasks});
    spec.groups[0].per_task = request_of(slice, slices);
    spec.groups[0].tasks_per_node = tasks_per_node;
    return spec;
  }
  std::string of_pool(const JobSpec& spec) const {
    return code(check_slices_of_pool(cluster.state, spec));
  }

  TestCluster cluster{2, {.gpus = 2}};
};

TEST_F(AdmitSlices, AreSaidWithTheirProfileAndTheirNumber) {
  EXPECT_EQ(said(request_of("", 0)), "");
  EXPECT_EQ(said(request_of("1g.18gb", 1)), "");
  EXPECT_EQ(said(request_of("1g.18gb", 0)), "slice_and_slices");
  EXPECT_EQ(said(request_of("", 1)), "slice_and_slices");
}

TEST_F(AdmitSlices, TheirNumberIsWithinBounds) {
  EXPECT_EQ(said(request_of("1g.18gb", 1'000'000)), "");
  EXPECT_EQ(said(request_of("1g.18gb", 1'000'001)), "amount_out_of_range");
  EXPECT_EQ(said(request_of("1g.18gb", -1)), "amount_out_of_range");
  EXPECT_EQ(check_slices(request_of("1g.18gb", -1), "f").error().field, "f.slices");
}

TEST_F(AdmitSlices, ATaskGetsNoDevicesOrSharesBesideThem) {
  Request request = request_of("1g.18gb", 1);
  request.gpus = 1;
  EXPECT_EQ(said(request), "gpus_and_slices");
  request.gpus = 0;
  request.share_milli = 500;
  EXPECT_EQ(said(request), "gpus_and_slices");
}

TEST_F(AdmitSlices, AProfileIsSpeltAsInItsTable) {
  EXPECT_EQ(said(request_of("1G.18GB", 1)), "slice_name");
  EXPECT_EQ(said(request_of("a quarter", 1)), "slice_name");
}

TEST_F(AdmitSlices, AsManyAsANodeHoldsMayBeOnOne) {
  EXPECT_EQ(of_pool(job("1g.18gb", 14)), "");
  EXPECT_EQ(of_pool(job("1g.18gb", 15)), "too_many_slices");
  JobSpec once = job("1g.18gb", 0);
  once.groups[0].per_task = {};
  once.groups[0].per_node = request_of("7g.141gb", 2);
  EXPECT_EQ(of_pool(once), "");
  once.groups[0].per_node.slices = 3;
  EXPECT_EQ(of_pool(once), "too_many_slices");
}

TEST_F(AdmitSlices, TasksThatMaySpreadNeverAskTooMuchOfANode) {
  EXPECT_EQ(of_pool(job("1g.18gb", 7, 100)), "");
  EXPECT_EQ(of_pool(job("1g.18gb", 7, 4, 2)), "");
  EXPECT_EQ(of_pool(job("1g.18gb", 7, 3, 3)), "too_many_slices");
}

TEST_F(AdmitSlices, AProfileThatNoDeviceHasIsRefusedWithThoseThatThereAre) {
  const auto refused = check_slices_of_pool(cluster.state, job("1g.10gb", 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "slice_unknown");
  EXPECT_EQ(refused.error().field, "groups[0].per_task.slice");
  EXPECT_NE(refused.error().message.find("known are: H200: 1g.18gb, 1g.35gb"), std::string::npos)
      << refused.error().message;
  JobSpec other = job("1g.18gb", 1);
  other.groups[0].per_task.gpu_model = "A100";
  EXPECT_EQ(of_pool(other), "slice_unknown");
}

TEST_F(AdmitSlices, NodesThatAreDrainedOrFullCount) {
  cluster.submit_and_start({.gpus = 2}, {1});
  cluster.state.find_node(NodeId(2))->declared.drained = true;
  EXPECT_EQ(of_pool(job("1g.18gb", 14)), "");
}

TEST_F(AdmitSlices, WhereNoNodeHasDevicesTheJobWaits) {
  for (const std::uint32_t number : {1u, 2u}) {
    cluster.state.find_node(NodeId(number))->removed = true;
  }
  EXPECT_EQ(of_pool(job("1g.10gb", 1)), "");
  cluster.add_node({.gpus = 0});
  EXPECT_EQ(of_pool(job("1g.10gb", 1)), "");
  cluster.add_node({.gpus = 1});
  EXPECT_EQ(of_pool(job("1g.10gb", 1)), "slice_unknown");
}

}  // namespace
}  // namespace dove::core
