#include "agent/devices/device_allocator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "files/text_file.h"

namespace dove::agent {
namespace {

// Answers when the test says so, in order.
class DeviceAllocatorTest : public testing::Test {
 protected:
  DeviceAllocatorTest() {
    for (const char* uuid : {"own-0", "plug-1", "plug-2"}) {
      inventory_.devices.emplace_back().uuid = uuid;
    }
  }
  DeviceAllocator::Plugins plugins() {
    return {[](const std::string& uuid) { return uuid.starts_with("plug") ? "a.com/gpu" : ""; },
            [this](std::vector<std::string> uuids, DeviceAllocator::Done done) {
              asked_.push_back({std::move(uuids), std::move(done)});
            }};
  }
  void answer(bool well = true) {
    const Asked asked = asked_.front();
    asked_.pop_front();
    if (!well) return asked.done(Error{ErrorKind::kUnavailable, "device_plugin", "it is away", ""});
    DeviceEdits edits;
    edits.edits.environment = {{"FIRST", asked.uuids.front()}};
    edits.edits.devices = {"/dev/" + asked.uuids.front()};
    edits.edits.mounts = {{"/out", "/in", true}};
    edits.cdi_devices = {"a.com/b=c"};
    edits.annotations = {{"k", "v"}};
    asked.done(edits);
  }
  static Placement placement(std::vector<std::int32_t> devices,
                             std::vector<std::vector<std::int32_t>> tasks = {}) {
    Placement made;
    for (const std::int32_t id : devices) made.devices.push_back({id});
    for (const auto& ids : tasks) {
      TaskGrant& task = made.tasks.emplace_back();
      for (const std::int32_t id : ids) task.devices.push_back({id});
    }
    return made;
  }

  struct Asked {
    std::vector<std::string> uuids;
    DeviceAllocator::Done done;
  };
  Inventory inventory_;
  std::deque<Asked> asked_;
  DeviceAllocator allocator_{plugins(), ""};
  AttemptKey key_{JobId(7), 1};
};

TEST_F(DeviceAllocatorTest, AsksForEachSetOfDevicesThatATaskIsGiven) {
  EXPECT_FALSE(allocator_.needs(placement({0}), inventory_));
  const Placement both = placement({0, 1, 2}, {{0, 1}, {2}});
  ASSERT_TRUE(allocator_.needs(both, inventory_));
  std::optional<Result<void>> done;
  allocator_.allocate(key_, both, inventory_, [&](Result<void> end) { done = end; });
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_TRUE(allocator_.is_under_way(key_));
  answer();
  answer();
  EXPECT_FALSE(done.has_value());
  answer();
  ASSERT_TRUE(done.has_value() && done->ok());
  EXPECT_FALSE(allocator_.is_under_way(key_));
  ASSERT_NE(allocator_.find({{2}}), nullptr);
  EXPECT_EQ(allocator_.find({{2}})->edits.devices, (std::vector<std::string>{"/dev/plug-2"}));
  EXPECT_EQ(allocator_.find({{0}, {1}})->edits.environment[0].second, "plug-1");
  EXPECT_EQ(allocator_.find({{1}}), nullptr) << "nobody asked for it alone";
}

TEST_F(DeviceAllocatorTest, AFailureIsToldOnceAndADroppedAttemptHearsNothing) {
  std::optional<Result<void>> done;
  allocator_.allocate(key_, placement({1, 2}, {{1}, {2}}), inventory_,
                      [&](Result<void> end) { done = end; });
  answer(false);
  answer();
  answer();
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->error().message, "it is away");
  done.reset();
  allocator_.allocate(key_, placement({1}), inventory_, [&](Result<void> end) { done = end; });
  allocator_.drop(key_);
  answer();
  EXPECT_FALSE(done.has_value());
}

TEST_F(DeviceAllocatorTest, AnswersSurviveTheAgent) {
  char path[] = "/tmp/device_allocator_XXXXXX";
  ::close(::mkstemp(path));
  DeviceAllocator first(plugins(), path);
  first.allocate(key_, placement({1, 2}), inventory_, [](const Result<void>&) {});
  answer();
  const DeviceAllocator second(plugins(), path);
  const DeviceEdits* edits = second.find({{1}, {2}});
  ASSERT_NE(edits, nullptr);
  EXPECT_EQ(edits->edits.environment[0].first, "FIRST");
  EXPECT_EQ(edits->edits.mounts[0].target, "/in");
  EXPECT_TRUE(edits->edits.mounts[0].writable);
  EXPECT_EQ(edits->cdi_devices, (std::vector<std::string>{"a.com/b=c"}));
  EXPECT_EQ(edits->annotations.at("k"), "v");
  std::filesystem::remove(path);
}

TEST_F(DeviceAllocatorTest, ABitThatFlippedIsNotBelieved) {
  char path[] = "/tmp/device_damage_XXXXXX";
  ::close(::mkstemp(path));
  DeviceAllocator first(plugins(), path);
  first.allocate(key_, placement({1, 2}), inventory_, [](const Result<void>&) {});
  answer();
  const std::string whole = files::text_or_empty(path, 4096);
  ASSERT_NE(whole, "");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(DeviceAllocator(plugins(), path).find({{1}, {2}}), nullptr) << bit << ": " << text;
  }
  std::filesystem::remove(path);
}

TEST_F(DeviceAllocatorTest, GivesUnitsOfWhatIsOnlyCountedToOneLivingAttemptEach) {
  std::map<AttemptKey, const Placement*> living;
  std::vector<std::string> well = {"a", "b", "c"};
  std::vector<std::string> asked;
  DeviceAllocator::Plugins counted = plugins();
  counted.units = [&](const std::string& resource, const Placement&) {
    return resource == "net/hca" ? std::optional(well) : std::nullopt;
  };
  counted.ask_units = [&](const std::string&, std::vector<std::string> ids,
                          const DeviceAllocator::Done& done) {
    asked = ids;
    DeviceEdits edits;
    edits.edits.environment = {{"HCA", ids.front()}};
    done(edits);
  };
  counted.holders = [&] { return living; };
  const std::string path = testing::TempDir() + "/units-" + std::to_string(::getpid());
  Placement two;
  two.countables = {{"licence", 1}, {"net/hca", 2}};
  Placement one;
  one.countables = {{"net/hca", 1}};
  std::string failed;
  const auto ask = [&](DeviceAllocator& allocator, AttemptKey key, const Placement& placement) {
    failed.clear();
    ASSERT_TRUE(allocator.needs(placement, inventory_));
    allocator.allocate(key, placement, inventory_, [&](const Result<void>& done) {
      if (!done.ok()) failed = done.error().message;
      if (done.ok()) living[key] = &placement;
    });
  };
  const AttemptKey other{JobId(8), 1};
  {
    DeviceAllocator allocator(counted, path);
    ask(allocator, key_, two);
    EXPECT_EQ(asked, (std::vector<std::string>{"a", "b"}));
    ASSERT_NE(allocator.find_units(key_), nullptr);
  }
  DeviceAllocator allocator(counted, path);  // the agent was restarted
  ASSERT_NE(allocator.find_units(key_), nullptr);
  EXPECT_EQ(allocator.find_units(key_)->edits.environment[0].second, "a");
  ask(allocator, other, one);
  EXPECT_EQ(asked, (std::vector<std::string>{"c"}));
  ask(allocator, AttemptKey{JobId(9), 1}, one);
  EXPECT_NE(failed.find("1 of net/hca are asked for, and 0 are free"), std::string::npos) << failed;
  {
    std::ofstream(path) << "";
    DeviceAllocator damaged(counted, path);
    ask(damaged, AttemptKey{JobId(9), 1}, one);
    EXPECT_NE(failed.find("which net/hca attempt 7.1 has is not known"), failed.npos) << failed;
  }
  living.erase(key_);
  ask(allocator, AttemptKey{JobId(9), 2}, one);
  EXPECT_EQ(failed, "");
  EXPECT_EQ(asked, (std::vector<std::string>{"a"}));
  Placement none;
  none.countables = {{"licence", 1}};
  EXPECT_FALSE(allocator.needs(none, inventory_));
  std::filesystem::remove(path);
}

// Nobody knows which of them it uses, and its file is in order.
TEST_F(DeviceAllocatorTest, UnitsAreHeldBackForWhatBeganBeforeTheirPluginCame) {
  std::map<AttemptKey, const Placement*> living;
  bool has_come = false;
  DeviceAllocator::Plugins counted = plugins();
  counted.units = [&](const std::string&, const Placement&) {
    return has_come ? std::optional(std::vector<std::string>{"a", "b"}) : std::nullopt;
  };
  counted.ask_units = [](const std::string&, const std::vector<std::string>&,
                         const DeviceAllocator::Done& done) { done(DeviceEdits()); };
  counted.holders = [&] { return living; };
  const std::string path = testing::TempDir() + "/before-" + std::to_string(::getpid());
  Placement one;
  one.countables = {{"net/hca", 1}};
  {
    DeviceAllocator allocator(counted, path);
    ASSERT_FALSE(allocator.needs(one, inventory_));
    allocator.begins_without(key_, one);
    EXPECT_EQ(allocator.units_of(key_, "net/hca"), nullptr);
    living[key_] = &one;
  }
  EXPECT_NE(files::text_or_empty(path, 4096).find(R"("units":{})"), std::string::npos)
      << "a former agent that comes back holds them back, too";
  DeviceAllocator allocator(counted, path);  // the agent was restarted
  has_come = true;
  std::optional<Result<void>> end;
  const auto ask = [&] {
    end.reset();
    allocator.allocate({JobId(8), 1}, one, inventory_,
                       [&](const Result<void>& done) { end = done; });
    return end.has_value() && end->ok() ? "" : end->error().message;
  };
  EXPECT_EQ(ask(),
            "which net/hca attempt 7.1 has is not known, as it began before the device plug-in "
            "came; none is given out until that attempt has ended");
  living.clear();
  EXPECT_EQ(ask(), "");
  std::filesystem::remove(path);
}

// What was decided before the agent or a plug-in was restarted does not start without its units.
class DeviceAllocatorWaits : public DeviceAllocatorTest {
 protected:
  DeviceAllocatorWaits() {
    DeviceAllocator::Plugins all = plugins();
    all.units = [this](const std::string& resource, const Placement&) {
      const bool known = resource == "net/hca";
      return known ? std::optional(here_.count(resource) ? Ids{"a"} : Ids{}) : std::nullopt;
    };
    all.ask_units = [](const std::string&, std::vector<std::string> ids,
                       const DeviceAllocator::Done& done) {
      DeviceEdits edits;
      edits.edits.environment = {{"HCA", ids.front()}};
      done(edits);
    };
    all.is_here = [this](const std::string& resource) { return here_.count(resource) != 0; };
    all.after = [this](std::chrono::milliseconds wait, std::function<void()> call) {
      EXPECT_EQ(wait, kPlugin_limit);
      late_ = std::move(call);
      return wire::Timer();
    };
    waits_ = std::make_unique<DeviceAllocator>(std::move(all), "");
    wanted_ = placement({1});
    wanted_.countables = {{"net/hca", 1}};
  }
  void allocate() {
    waits_->allocate(key_, wanted_, inventory_, [this](Result<void> end) { done_ = end; });
  }

  using Ids = std::vector<std::string>;
  std::set<std::string> here_;
  std::function<void()> late_;
  std::unique_ptr<DeviceAllocator> waits_;
  Placement wanted_;
  std::optional<Result<void>> done_;
};

TEST_F(DeviceAllocatorWaits, UntilAllItsPluginsHaveRegistered) {
  ASSERT_TRUE(waits_->needs(wanted_, inventory_));
  allocate();
  EXPECT_EQ(waits_->under_way(), (std::vector<AttemptKey>{key_}));
  here_ = {"a.com/gpu"};
  waits_->look(inventory_);
  EXPECT_TRUE(asked_.empty()) << "the other one is still away";
  here_.insert("net/hca");
  waits_->look(inventory_);
  ASSERT_EQ(asked_.size(), 1u);
  waits_->look(inventory_);
  ASSERT_EQ(asked_.size(), 1u) << "it asks once";
  answer();
  ASSERT_TRUE(done_.has_value() && done_->ok());
  ASSERT_NE(waits_->find_units(key_), nullptr);
  EXPECT_EQ(waits_->find_units(key_)->edits.environment[0].second, "a");
  EXPECT_TRUE(waits_->under_way().empty());
}

TEST_F(DeviceAllocatorWaits, ForDevicesThatNobodyHasToldOfYet) {
  wanted_ = placement({0, 3});
  ASSERT_TRUE(waits_->needs(wanted_, inventory_));
  here_ = {"a.com/gpu"};
  allocate();
  EXPECT_TRUE(asked_.empty());
  inventory_.devices.emplace_back().uuid = "plug-3";
  waits_->look(inventory_);
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_.front().uuids, (Ids{"plug-3"}));
}

TEST_F(DeviceAllocatorWaits, NotForEver) {
  allocate();
  ASSERT_TRUE(late_);
  late_();
  ASSERT_TRUE(done_.has_value());
  EXPECT_NE(done_->error().message.find("no device plug-in for a.com/gpu, net/hca has registered"),
            std::string::npos)
      << done_->error().message;
  done_.reset();
  here_ = {"a.com/gpu", "net/hca"};
  waits_->look(inventory_);
  EXPECT_TRUE(asked_.empty() && !done_.has_value()) << "it is over";
  here_.clear();
  allocate();
  waits_->drop(key_);
  here_ = {"a.com/gpu", "net/hca"};
  waits_->look(inventory_);
  EXPECT_TRUE(asked_.empty()) << "it was stopped";
}

}  // namespace
}  // namespace dove::agent
