#include "agent/devices/slice_cutter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "files/text_file.h"

namespace dove::agent {
namespace {

// Answers when the test says so, in order.
class SliceCutterTest : public testing::Test {
 protected:
  SliceCutter::Arrange arrange() {
    return [this](std::int32_t device, std::vector<SlicePlace> places, auto done) {
      asked_.push_back({device, places, done});
    };
  }
  void answer() {
    const Asked asked = asked_.front();
    asked_.pop_front();
    devices::CutSlices slices;
    for (const SlicePlace& place : asked.places) {
      devices::CutSlice slice;
      slice.name = "MIG-" + std::to_string(asked.device) + "-" + std::to_string(place.start);
      slice.files = {"/dev/nvidia-caps/nvidia-cap" + std::to_string(place.start), "/dev/of-both"};
      if (place.size == 1) slice.profile = "1g.18gb", slice.instance = 7;
      slices.push_back(std::move(slice));
    }
    asked.done(slices);
  }
  static Placement placement(std::vector<DeviceGrant> grants) {
    Placement made;
    made.devices = std::move(grants);
    return made;
  }
  auto remember(std::optional<Result<void>>& result) {
    return [&result](Result<void> done) { result.emplace(std::move(done)); };
  }

  struct Asked {
    std::int32_t device;
    std::vector<SlicePlace> places;
    std::function<void(Result<devices::CutSlices>)> done;
  };
  std::deque<Asked> asked_;
  SliceCutter cutter_{arrange(), ""};
};

const DeviceGrant kFirst{0, 125, {0, 1, 1}};
const DeviceGrant kSecond{0, 250, {2, 2, 2}};
const DeviceGrant kWhole{0, 1000, {}};

TEST_F(SliceCutterTest, CutsBesideWhatIsHeldAndNamesTheSlices) {
  const Placement held = placement({kSecond});
  std::optional<Result<void>> done;
  EXPECT_TRUE(cutter_.needs(placement({kFirst})));
  cutter_.cut({JobId(2), 1}, placement({kFirst, {1, 1000, {}}}), {&held}, remember(done));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[0].places, (std::vector<SlicePlace>{kFirst.slice, kSecond.slice}));
  EXPECT_TRUE(asked_[1].places.empty());
  answer();
  EXPECT_FALSE(done.has_value());
  answer();
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->ok());
  EXPECT_EQ(cutter_.slices().at({0, 2}).name, "MIG-0-2");
}

TEST_F(SliceCutterTest, WhatIsStillBeingCutForOthersIsKept) {
  std::optional<Result<void>> first;
  std::optional<Result<void>> second;
  cutter_.cut({JobId(2), 1}, placement({kFirst}), {}, remember(first));
  cutter_.cut({JobId(3), 1}, placement({kSecond}), {}, remember(second));
  EXPECT_EQ(asked_[1].places, (std::vector<SlicePlace>{kFirst.slice, kSecond.slice}));
  answer();
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(second.has_value());
}

TEST_F(SliceCutterTest, AWholeDeviceIsMadeWholeOnlyWhereItIsCut) {
  EXPECT_FALSE(cutter_.needs(placement({kWhole})));
  cutter_.saw_cut({0});
  EXPECT_TRUE(cutter_.needs(placement({kWhole})));
  std::optional<Result<void>> done;
  cutter_.cut({JobId(2), 1}, placement({kWhole}), {}, remember(done));
  answer();
  EXPECT_TRUE(done->ok());
  EXPECT_FALSE(cutter_.needs(placement({kWhole})));
  EXPECT_FALSE(SliceCutter({}, "").needs(placement({kFirst}))) << "nobody can cut";
}

TEST_F(SliceCutterTest, AFailureNamesTheDeviceAndAStoppedAttemptHearsNothing) {
  std::optional<Result<void>> failed;
  std::optional<Result<void>> stopped;
  cutter_.cut({JobId(2), 1}, placement({kFirst}), {}, remember(failed));
  cutter_.cut({JobId(3), 1}, placement({kSecond}), {}, remember(stopped));
  cutter_.drop({JobId(3), 1});
  EXPECT_FALSE(cutter_.is_under_way({JobId(3), 1}));
  asked_[0].done(Error{ErrorKind::kInternal, "nvml", "in use", ""});
  ASSERT_TRUE(failed.has_value());
  EXPECT_NE(failed->error().message.find("device 0"), std::string::npos);
  asked_.pop_front();
  answer();
  EXPECT_FALSE(stopped.has_value());
}

TEST_F(SliceCutterTest, NamesAndFilesSurviveTheAgent) {
  char path[] = "/tmp/slice_names_XXXXXX";
  close(mkstemp(path));
  std::optional<Result<void>> done;
  SliceCutter first(arrange(), path);
  first.cut({JobId(2), 1}, placement({kFirst}), {}, remember(done));
  answer();
  EXPECT_EQ(SliceCutter(arrange(), path).slices(), first.slices());
  EXPECT_EQ(first.slices().size(), 1u);
  std::filesystem::remove(path);
}

TEST_F(SliceCutterTest, ABitThatFlippedIsNotBelieved) {
  char path[] = "/tmp/slice_damage_XXXXXX";
  close(mkstemp(path));
  std::optional<Result<void>> done;
  SliceCutter first(arrange(), path);
  first.cut({JobId(2), 1}, placement({kFirst}), {}, remember(done));
  answer();
  const std::string whole = files::text_or_empty(path, 4096);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path, std::ios::binary) << text;
    const Slices found = SliceCutter(arrange(), path).slices();
    EXPECT_TRUE(found.empty() || found == first.slices()) << bit << ": " << text;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dove::agent
