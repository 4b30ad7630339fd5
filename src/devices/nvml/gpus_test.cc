#include "devices/nvml/gpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::devices::nvml {
namespace {

namespace fs = std::filesystem;

// The GPUs of FakeWorld (fake_world.h), told in lines of text.
class GpusTest : public testing::Test {
 protected:
  GpusTest() {
    char path[] = "/tmp/fake_nvml_XXXXXX";
    close(mkstemp(path));
    path_ = path;
    setenv("DOVE_FAKE_NVML", path, 1);
  }
  ~GpusTest() override {
    gpus_.reset();
    fs::remove(path_);
    fs::remove(path_ + ".mig");
  }

  void tell(const std::string& lines) {
    std::ofstream(path_) << lines;
    // Files that change within one tick of the clock look unchanged.
    fs::last_write_time(path_, fs::file_time_type(std::chrono::seconds(++changes_)));
  }
  FoundDevices find() {
    Result<FoundDevices> found = gpus_->find();
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? *found : FoundDevices{};
  }

  std::string path_;
  int changes_ = 0;
  std::unique_ptr<Gpus> gpus_ = std::make_unique<Gpus>(FAKE_PATH);
};

TEST_F(GpusTest, FindsModelsMemoryPlacesAndLinks) {
  tell(
      "driver 550.54.15\ngpus 4 NVIDIA H100 80GB HBM3\nnvlink 0 1 12\nnvlink 2 switch 18\n"
      "nvlink 3 switch 16\n");
  const FoundDevices found = find();
  ASSERT_EQ(found.devices.size(), 4u);
  EXPECT_EQ(found.devices[1].device.model, "H100");
  EXPECT_EQ(found.devices[1].device.memory_bytes, std::int64_t{81'559} << 20);
  EXPECT_EQ(found.devices[1].pci_bus_id, "0000:18:00.0");
  std::map<std::string, std::string> links;
  for (const FoundLink& link : found.links) {
    links[link.uuid_a.substr(9) + link.uuid_b.substr(9)] = link.kind;
  }
  const std::map<std::string, std::string> expected = {
      {"01", "NV12"}, {"02", "SYS"}, {"03", "SYS"}, {"12", "SYS"}, {"13", "SYS"}, {"23", "NV16"}};
  EXPECT_EQ(links, expected);
}

TEST_F(GpusTest, AMachineWithoutALibraryHasNone) {
  Gpus none("libno-such-nvml.so.9");
  const auto found = none.find();
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->devices.empty());
  EXPECT_TRUE(none.sample().empty());
}

TEST_F(GpusTest, ADriverThatIsNotLoadedIsAnErrorUntilItIs) {
  tell("gpus 2 NVIDIA H200\n");
  EXPECT_FALSE(gpus_->find().ok());
  tell("driver 1\ngpus 2 NVIDIA H200\n");
  EXPECT_EQ(find().devices.size(), 2u);
  tell("gpus 2 NVIDIA H200\n");
  const auto gone = gpus_->find();
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(gone.error().message.find("dmesg"), std::string::npos);
  EXPECT_TRUE(gpus_->sample().empty());
  tell("driver 2\ngpus 2 NVIDIA H200\n");
  EXPECT_EQ(find().devices.size(), 2u);
  EXPECT_EQ(gpus_->sample()[0].driver_version, "2");
}

TEST_F(GpusTest, OneThatFellOffTheBusIsNotFoundAndHasNoSample) {
  tell("driver 1\ngpus 2 NVIDIA H200\n");
  EXPECT_EQ(find().devices.size(), 2u);
  tell("driver 1\ngpus 2 NVIDIA H200\ngpu 0 lost 1\n");
  ASSERT_EQ(gpus_->sample().size(), 1u);
  const FoundDevices left = find();
  ASSERT_EQ(left.devices.size(), 1u);
  EXPECT_EQ(left.devices[0].device.uuid, "GPU-fake-1");
}

TEST_F(GpusTest, SamplesCarryUnitsOfDcgmAndXidsOnce) {
  tell("driver 1\ngpus 2 NVIDIA H100 80GB HBM3\n");
  find();
  tell(
      "driver 1\ngpus 2 NVIDIA H100 80GB HBM3\ngpu 1 util 93\ngpu 1 used_mib 1024\ngpu 1 power_mw "
      "350250\n"
      "gpu 1 nvlink_mib 3\ngpu 1 xid 48\ngpu 1 xid 79\n");
  const std::vector<DeviceSample> first = gpus_->sample();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_TRUE(first[0].xids.empty());
  EXPECT_EQ(first[1].xids, (std::vector<std::int64_t>{48, 79}));
  EXPECT_EQ(*first[1].find(Field::kXid), 79);
  EXPECT_EQ(*first[0].find(Field::kXid), 0);
  EXPECT_EQ(*first[1].find(Field::kUtilization), 93);
  EXPECT_EQ(*first[1].find(Field::kMemoryUsed), 1024);
  EXPECT_EQ(*first[1].find(Field::kMemoryReserved), 512);
  EXPECT_EQ(*first[1].find(Field::kPower), 350.25);
  EXPECT_EQ(*first[1].find(Field::kNvlinkBytes), 2.0 * 3 * 1024 * 1024);
  const std::vector<DeviceSample> second = gpus_->sample();
  EXPECT_TRUE(second[1].xids.empty());
  EXPECT_EQ(*second[1].find(Field::kXid), 79);
}

TEST_F(GpusTest, EveryFieldIsReadWhereTheDriverKnowsAll) {
  tell("driver 1\ngpus 1 NVIDIA H200\n");
  find();
  gpus_->sample();  // some fields are about the time between two
  const std::vector<DeviceSample> samples = gpus_->sample();
  ASSERT_EQ(samples.size(), 1u);
  for (const FieldInfo& info : field_infos()) {
    EXPECT_NE(samples[0].find(info.field), nullptr) << info.name;
  }
}

TEST_F(GpusTest, WhatUnitsDidIsOfTheTimeBetweenTwoLooksAndOfGpusThatCountIt) {
  tell(
      "driver 1\ngpus 2 NVIDIA H200\ngpu 0 gpm_1 75\ngpu 0 gpm_5 50\ngpu 0 gpm_10 12.5\ngpu 1 gpm "
      "0\n");
  find();
  EXPECT_EQ(gpus_->sample()[0].find(Field::kTensorActive), nullptr);
  for (int look = 0; look < 3; ++look) {
    const std::vector<DeviceSample> samples = gpus_->sample();
    ASSERT_NE(samples[0].find(Field::kTensorActive), nullptr);
    EXPECT_EQ(*samples[0].find(Field::kEngineActive), 0.75);
    EXPECT_EQ(*samples[0].find(Field::kTensorActive), 0.5);
    EXPECT_EQ(*samples[0].find(Field::kMemoryActive), 0.125);
    EXPECT_EQ(samples[1].find(Field::kTensorActive), nullptr);
    EXPECT_NE(samples[1].find(Field::kUtilization), nullptr);
  }
}

TEST_F(GpusTest, CutsAndCutsAnewWithoutTouchingWhatStays) {
  tell("driver 1\ngpus 1 NVIDIA A100-SXM4-40GB\n");
  EXPECT_FALSE(find().devices[0].is_cut);
  const auto first = gpus_->arrange("GPU-fake-0", {{0, 4, 3}, {4, 4, 3}});
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_EQ(first->size(), 2u);
  EXPECT_TRUE(find().devices[0].is_cut);
  tell("driver 1\ngpus 1 NVIDIA A100-SXM4-40GB\ngpu 0 busy 0\n");
  const auto second = gpus_->arrange("GPU-fake-0", {{0, 4, 3}, {4, 2, 2}, {6, 1, 1}});
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ((*second)[0], (*first)[0]);
  EXPECT_NE((*second)[1], (*first)[1]);
  const auto again = gpus_->arrange("GPU-fake-0", {{0, 4, 3}, {4, 2, 2}, {6, 1, 1}});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *second);
}

TEST_F(GpusTest, SlicesSurviveTheProcessAndAWholeDeviceHasNone) {
  tell("driver 1\ngpus 1 NVIDIA H200\n");
  find();
  const auto first = gpus_->arrange("GPU-fake-0", {{0, 1, 1}, {2, 2, 1}});
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->front().profile, "1g.18gb");
  EXPECT_GT(first->front().instance, 0);
  gpus_ = std::make_unique<Gpus>(FAKE_PATH);
  EXPECT_TRUE(find().devices[0].is_cut);
  EXPECT_EQ(*gpus_->arrange("GPU-fake-0", {{0, 1, 1}, {2, 2, 1}}), *first);
  ASSERT_TRUE(gpus_->arrange("GPU-fake-0", {}).ok());
  EXPECT_FALSE(find().devices[0].is_cut);
}

TEST_F(GpusTest, FilesAreThoseOfTheMinorNumberAndOfTheSlice) {
  tell("driver 1\ngpus 1 NVIDIA H200\ngpu 0 minor 5\n");
  const fs::path folder = path_ + ".capabilities";
  gpus_ = std::make_unique<Gpus>(FAKE_PATH, folder.string());
  EXPECT_EQ(find().devices[0].files[0], "/dev/nvidia5");
  const auto bare = gpus_->arrange("GPU-fake-0", {{0, 1, 1}});
  ASSERT_TRUE(bare.ok()) << bare.error().message;
  EXPECT_TRUE(bare->front().files.empty()) << "a driver that knows no capabilities";
  const std::string number = bare->front().name.substr(bare->front().name.rfind('-') + 1);
  const fs::path instance = folder / "gpu5/mig" / ("gi" + number);
  fs::create_directories(instance / "ci0");
  std::ofstream(instance / "access") << "DeviceFileMinor: 12\nDeviceFileMode: 292\n";
  std::ofstream(instance / "ci0/access") << "DeviceFileMinor: 13\nDeviceFileMode: 292\n";
  const auto slice = gpus_->arrange("GPU-fake-0", {{0, 1, 1}});
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->front().files, (std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap12",
                                                            "/dev/nvidia-caps/nvidia-cap13"}));
  fs::remove_all(folder);
}

// So does Slurm, whose GRES are the files of gres.conf.
TEST_F(GpusTest, GpusAreInTheOrderOfTheirFilesWhateverTheirPlacesOnTheBus) {
  tell(
      "driver 1\ngpus 3 NVIDIA H200\ngpu 0 minor 2\ngpu 1 minor 0\ngpu 2 minor 1\n"
      "gpu 0 util 10\ngpu 1 util 11\ngpu 2 util 12\nnvlink 0 1 12\n");
  const FoundDevices found = find();
  ASSERT_EQ(found.devices.size(), 3u);
  const std::vector<std::string> uuids{"GPU-fake-1", "GPU-fake-2", "GPU-fake-0"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(found.devices[i].device.uuid, uuids[i]);
    EXPECT_EQ(found.devices[i].files[0], "/dev/nvidia" + std::to_string(i));
  }
  for (const DeviceSample& sample : gpus_->sample()) {
    EXPECT_EQ(*sample.find(Field::kUtilization), 10 + (sample.uuid.back() - '0'));
  }
  for (const FoundLink& link : found.links) {
    const bool is_joined = link.uuid_a + link.uuid_b == "GPU-fake-1GPU-fake-0";
    EXPECT_EQ(link.kind == "NV12", is_joined) << link.uuid_a << " " << link.uuid_b;
  }
}

TEST_F(GpusTest, WhatHardwareOrAProcessForbidsIsRefused) {
  tell("driver 1\ngpus 2 NVIDIA A30\n");
  find();
  const auto illegal = gpus_->arrange("GPU-fake-0", {{1, 2, 2}});
  ASSERT_FALSE(illegal.ok());
  EXPECT_EQ(illegal.error().code, "cannot_cut");
  ASSERT_TRUE(gpus_->arrange("GPU-fake-0", {{2, 2, 2}}).ok());
  tell("driver 1\ngpus 2 NVIDIA A30\ngpu 0 busy 2\ngpu 1 in_use 1\n");
  const auto busy = gpus_->arrange("GPU-fake-0", {{0, 1, 1}});
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().code, "device_in_use");
  EXPECT_FALSE(gpus_->arrange("GPU-fake-1", {{0, 1, 1}}).ok());  // MIG cannot be switched in use
  EXPECT_FALSE(gpus_->arrange("GPU-elsewhere", {}).ok());
}

TEST_F(GpusTest, AModelWithoutMigIsWholeAndStaysSo) {
  tell("driver 1\ngpus 1 Tesla T4\n");
  EXPECT_EQ(find().devices[0].device.model, "T4");
  EXPECT_TRUE(gpus_->arrange("GPU-fake-0", {}).ok());
  EXPECT_FALSE(gpus_->arrange("GPU-fake-0", {{0, 1, 1}}).ok());
}

}  // namespace
}  // namespace dove::devices::nvml
