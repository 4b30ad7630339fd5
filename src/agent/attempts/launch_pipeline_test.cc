#include "agent/attempts/launch_pipeline.h"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "wire/loop.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;
using Stage = LaunchPipeline::Stage;

// One attempt that needs every stage; devices, plug-ins and preflights answer when the test says.
class LaunchPipelineTest : public ::testing::Test {
 protected:
  LaunchPipelineTest() { inventory_.devices.emplace_back().uuid = "plug-0"; }

  std::string order(bool preflight = true, bool devices = true) const {
    ExecSpec exec;
    exec.command = {"true"};
    Placement placement;
    placement.node = NodeId(1);
    placement.tasks.emplace_back();
    if (devices) placement.devices.push_back({0});
    const Json peer{{"node", "n1"}, {"address", "127.0.0.1"}, {"node_rank", 0}, {"ranks", {0}}};
    return Json{{"seq", 11},
                {"epoch", 5},
                {"order", "launch"},
                {"job", 7},
                {"attempt", 1},
                {"barrier", false},
                {"preflight", preflight},
                {"placement", codec::placement_json(placement)},
                {"placements", Json::array({peer})},
                {"spec", {{"name", "j"}, {"launch", "each_task"}, {"tasks", 1}}},
                {"exec", Json::parse(codec::encode_exec(exec))}}
        .dump();
  }
  void launch(const std::string& text) {
    pipeline_.launch(key_, Json::parse(text), text, /*has_networks=*/false);
  }
  // Goes through all stages before this one.
  void launch_until(Stage stage) {
    cutter_.saw_cut({0});
    launch(order());
    if (stage == Stage::kPreflight) return;
    tried_(std::nullopt);
    if (stage == Stage::kCut) return;
    answer_cut(true);
  }
  void answer_cut(bool well) {
    const auto done = std::move(cuts_.front());
    cuts_.pop_front();
    if (well) return done(devices::CutSlices{});
    done(Error{ErrorKind::kUnavailable, "driver", "it is in use", ""});
  }
  void answer_plugin(bool well) {
    const auto done = std::move(asks_.front());
    asks_.pop_front();
    if (well) return done(DeviceEdits{});
    done(Error{ErrorKind::kUnavailable, "device_plugin", "it is away", ""});
  }
  std::string refusal() const {
    if (reports_.size() != 1) return "";
    const auto* refused = std::get_if<protocol::LaunchRefused>(&reports_[0]);
    return refused == nullptr ? "" : refused->why;
  }

  SliceCutter::Arrange arrange() {
    return [this](std::int32_t, std::vector<SlicePlace>,
                  std::function<void(Result<devices::CutSlices>)> done) {
      cuts_.push_back(std::move(done));
    };
  }
  DeviceAllocator::Plugins plugins() {
    DeviceAllocator::Plugins plugins;
    plugins.resource_of = [](const std::string& uuid) {
      return uuid.starts_with("plug") ? "a.com/gpu" : "";
    };
    plugins.units = [](const std::string&, const Placement&) { return std::nullopt; };
    plugins.ask = [this](std::vector<std::string>, DeviceAllocator::Done done) {
      asks_.push_back(std::move(done));
    };
    return plugins;
  }
  LaunchPipeline::Host host() {
    LaunchPipeline::Host host;
    host.preflight = [this](const LaunchOrder& order,
                            std::function<void(std::optional<PreflightFailure>)> done) {
      tried_ = std::move(done);
      return std::make_unique<Preflight>(loop_, PreflightOptions(), PreflightContext(), order,
                                         nullptr);  // its loop never runs
    };
    host.held = [] { return std::vector<const Placement*>(); };
    host.hold = [this](LaunchOrder order, const std::string&) {
      held_.push_back(std::move(order));
    };
    host.report = [this](protocol::Report said) { reports_.push_back(std::move(said)); };
    return host;
  }

  const AttemptKey key_{JobId(7), 1};
  Inventory inventory_;
  wire::Loop loop_;
  std::deque<std::function<void(Result<devices::CutSlices>)>> cuts_;
  std::deque<DeviceAllocator::Done> asks_;
  std::function<void(std::optional<PreflightFailure>)> tried_;
  std::vector<LaunchOrder> held_;
  std::vector<protocol::Report> reports_;
  SliceCutter cutter_{arrange(), ""};
  DeviceAllocator allocator_{plugins(), ""};
  LaunchPipeline pipeline_{cutter_, allocator_, inventory_, host()};
};

TEST_F(LaunchPipelineTest, WhatNeedsNothingIsHeldAtOnce) {
  launch(order(/*preflight=*/false, /*devices=*/false));
  ASSERT_EQ(held_.size(), 1u);
  EXPECT_EQ(held_[0].key, key_);
  EXPECT_FALSE(pipeline_.stage(key_).has_value());
  EXPECT_TRUE(reports_.empty());
}

// Its plug-in may come while it runs.
TEST_F(LaunchPipelineTest, WhatBeginsWithoutAPluginIsNoted) {
  Json line = Json::parse(order(/*preflight=*/false, /*devices=*/false));
  Placement counts;
  counts.node = NodeId(1);
  counts.tasks.emplace_back();
  counts.countables = {{"net/hca", 1}};
  line["placement"] = codec::placement_json(counts);
  launch(line.dump());
  ASSERT_EQ(held_.size(), 1u);
  ASSERT_EQ(held_[0].placement.countables.size(), 1u);
  EXPECT_NE(allocator_.find_units(key_), nullptr);
}

TEST_F(LaunchPipelineTest, GoesThroughTheStagesInOrder) {
  launch_until(Stage::kPreflight);
  EXPECT_EQ(pipeline_.stage(key_), Stage::kPreflight);
  EXPECT_EQ(pipeline_.counted(), std::vector<AttemptKey>{key_});
  tried_(std::nullopt);
  EXPECT_EQ(pipeline_.stage(key_), Stage::kCut);
  EXPECT_TRUE(pipeline_.counted().empty());
  answer_cut(true);
  EXPECT_EQ(pipeline_.stage(key_), Stage::kAllocate);
  EXPECT_EQ(pipeline_.counted(), std::vector<AttemptKey>{key_});
  EXPECT_TRUE(held_.empty());
  answer_plugin(true);
  EXPECT_EQ(held_.size(), 1u);
  EXPECT_FALSE(pipeline_.stage(key_).has_value());
  EXPECT_TRUE(reports_.empty());
}

TEST_F(LaunchPipelineTest, AnOrderThatComesAgainIsTheSameOne) {
  launch_until(Stage::kAllocate);
  launch(order());
  EXPECT_EQ(pipeline_.stage(key_), Stage::kAllocate);
  answer_plugin(true);
  EXPECT_EQ(held_.size(), 1u);
}

TEST_F(LaunchPipelineTest, RefusesAnOrderThatCannotBeRead) {
  Json line = Json::parse(order());
  line.erase("placement");
  launch(line.dump());
  EXPECT_FALSE(refusal().empty());
  EXPECT_FALSE(pipeline_.stage(key_).has_value());
}

TEST_F(LaunchPipelineTest, AFailedPreflightSaysWhatFailed) {
  launch_until(Stage::kPreflight);
  tried_(PreflightFailure{"n2", "all_reduce", "too slow"});
  ASSERT_EQ(reports_.size(), 1u);
  const auto& over = std::get<protocol::PreflightOver>(reports_[0]);
  EXPECT_EQ(over.peer, "n2");
  EXPECT_EQ(over.check, "all_reduce");
  EXPECT_FALSE(pipeline_.stage(key_).has_value());
}

TEST_F(LaunchPipelineTest, WhatCannotBeCutIsRefused) {
  launch_until(Stage::kCut);
  answer_cut(false);
  EXPECT_EQ(refusal(), "device 0 cannot be cut: it is in use");
  EXPECT_FALSE(pipeline_.stage(key_).has_value());
  launch(order(false));  // a later one begins from the beginning
  EXPECT_EQ(pipeline_.stage(key_), Stage::kCut);
}

TEST_F(LaunchPipelineTest, WhatPluginsRefuseIsRefused) {
  launch_until(Stage::kAllocate);
  answer_plugin(false);
  EXPECT_EQ(refusal(), "it is away");
  EXPECT_TRUE(held_.empty());
}

class DroppedIn : public LaunchPipelineTest, public ::testing::WithParamInterface<Stage> {};

TEST_P(DroppedIn, NothingIsHeldAndNothingSaid) {
  launch_until(GetParam());
  ASSERT_EQ(pipeline_.stage(key_), GetParam());
  pipeline_.drop(key_);
  EXPECT_FALSE(pipeline_.stage(key_).has_value());
  pipeline_.drop(key_);
  // What was asked for answers late.
  if (GetParam() == Stage::kCut) answer_cut(true);
  if (GetParam() == Stage::kAllocate) answer_plugin(false);
  EXPECT_TRUE(held_.empty());
  EXPECT_TRUE(reports_.empty());
}

TEST_P(DroppedIn, LikewiseWhenAllAre) {
  launch_until(GetParam());
  pipeline_.drop_all();
  if (GetParam() == Stage::kCut) answer_cut(true);
  if (GetParam() == Stage::kAllocate) answer_plugin(true);
  EXPECT_TRUE(held_.empty());
  EXPECT_TRUE(reports_.empty());
}

INSTANTIATE_TEST_SUITE_P(EachStage, DroppedIn,
                         ::testing::Values(Stage::kPreflight, Stage::kCut, Stage::kAllocate));

}  // namespace
}  // namespace dove::agent
