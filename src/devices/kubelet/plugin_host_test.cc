#include "devices/kubelet/plugin_host.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>

#include "devices/kubelet/plugged.h"

namespace dove::devices::kubelet {
namespace {

std::string text(int field, const std::string& value) {
  std::string bytes(1, static_cast<char>(field << 3 | 2));
  return bytes + static_cast<char>(value.size()) + value;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// A plug-in of one turn of the loop: it answers at once and ends its lists, which is the end of a
// plug-in. That of tests/e2e/device_plugin.py, on gRPC's own library, lives longer.
class PluginHostTest : public testing::Test {
 protected:
  PluginHostTest() {
    char path[] = "/tmp/plugins_XXXXXX";
    directory_ = ::mkdtemp(path);
    options_.directory = directory_;
    options_.call_limit = std::chrono::milliseconds(200);
    host_ = std::make_unique<PluginHost>(loop_, options_, [this](std::vector<PluginDevices> all) {
      told_.push_back(std::move(all));
    });
  }
  ~PluginHostTest() override {
    watch_.cancel();
    if (listener_ >= 0) ::close(listener_);
    host_.reset();
    links_.clear();
    std::filesystem::remove_all(directory_);
  }

  std::unique_ptr<GrpcLink> dial() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(directory_ + "/kubelet.sock");
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return GrpcLink::client(loop_, fd);
  }
  GrpcStatus call(GrpcLink& link, const std::string& path, const std::string& message) {
    std::optional<GrpcStatus> status;
    link.call(path, message, {{}, [&](const GrpcStatus& end) { status = end; }});
    loop_.run_until([&] { return status.has_value(); }, std::chrono::seconds(10));
    return status.value_or(GrpcStatus{-1, "no answer"});
  }
  GrpcStatus registers(const std::string& resource, const std::string& version = "v1beta1") {
    const auto link = dial();
    return call(*link, "/v1beta1.Registration/Register",
                text(1, version) + text(2, "p.sock") + text(3, resource));
  }
  void listen(GrpcLink::Serve serve) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(directory_ + "/p.sock");
    ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_, 8), 0);
    watch_ = loop_.watch_readable(listener_, [this, serve] {
      links_.push_back(GrpcLink::server(loop_, ::accept(listener_, nullptr, nullptr), serve, {}));
    });
  }

  std::string directory_;
  wire::Loop loop_;
  PluginHostOptions options_;
  std::unique_ptr<PluginHost> host_;
  std::deque<std::vector<PluginDevices>> told_;
  int listener_ = -1;
  wire::FdWatch watch_;
  std::vector<std::unique_ptr<GrpcLink>> links_;
};

TEST_F(PluginHostTest, RefusesWhatIsNoRegistration) {
  ASSERT_TRUE(host_->start().ok());
  EXPECT_EQ(registers("acme.com/gpu", "v1").code, kGrpcInvalidArgument);
  EXPECT_EQ(registers("gpu").code, kGrpcInvalidArgument);
  EXPECT_EQ(registers("a/b/c").code, kGrpcInvalidArgument);
  const auto link = dial();
  EXPECT_EQ(call(*link, "/v1beta1.Registration/Register", "\xff").code, kGrpcInvalidArgument);
  EXPECT_EQ(call(*link, "/v1.Other/Method", "").code, kGrpcUnimplemented);
  EXPECT_EQ(call(*link, "/v1beta1.Registration/Register", std::string(5 << 20, 'x')).code,
            kGrpcInvalidArgument)
      << "too long";
  EXPECT_TRUE(told_.empty());
}

TEST_F(PluginHostTest, AnswersComeByTheirCallsAndAPluginGoesWithItsList) {
  ASSERT_TRUE(host_->start().ok());
  std::vector<std::string> asked;
  listen([&](const std::string& path, const std::string&, std::string* answer) {
    asked.push_back(path);
    if (path.ends_with("ListAndWatch")) *answer = text(1, text(1, "a") + text(2, "Healthy"));
    return GrpcStatus{};
  });
  ASSERT_EQ(registers("acme.com/gpu").code, kGrpcOk);
  loop_.run_until([&] { return told_.size() == 2; }, std::chrono::seconds(10));
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[0][0].resource, "acme.com/gpu");
  EXPECT_EQ(told_[0][0].devices, (std::vector<ListedDevice>{{"a", true, -1}}));
  EXPECT_TRUE(told_[1][0].devices.empty()) << "the stream has ended";
  EXPECT_EQ(asked, (std::vector<std::string>{"/v1beta1.DevicePlugin/GetDevicePluginOptions",
                                             "/v1beta1.DevicePlugin/ListAndWatch"}));
  std::optional<Result<Allocation>> allocation;
  host_->allocate("acme.com/gpu", {"a"}, [&](Result<Allocation> one) { allocation = one; });
  loop_.run_until([&] { return allocation.has_value(); }, std::chrono::seconds(10));
  EXPECT_FALSE(allocation->ok()) << "it is away";
}

TEST_F(PluginHostTest, APluginThatNeverAnswersIsLostInTime) {
  ASSERT_TRUE(host_->start().ok());
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(directory_ + "/p.sock");
  ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener_, 8), 0);
  ASSERT_EQ(registers("acme.com/gpu").code, kGrpcOk);
  loop_.run_until([&] { return !told_.empty(); }, std::chrono::seconds(10));
  ASSERT_FALSE(told_.empty());
  EXPECT_TRUE(told_[0][0].devices.empty());
}

TEST_F(PluginHostTest, TheSocketHasOneOwner) {
  ASSERT_TRUE(host_->start().ok());
  PluginHost other(loop_, options_, [](const auto&) {});
  const Result<void> second = other.start();
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another agent listens there"), std::string::npos);
  host_.reset();
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/kubelet.sock"));
  EXPECT_TRUE(other.start().ok());
}

TEST(PlugBoard, HealthyDevicesOfNamedResourcesAreFound) {
  PlugBoard board({{"*/gpu", "", 0}, {"google.com/tpu", "TPUv5", 16}, {"x.org/npu", "", 0}});
  board.set({{"acme.com/gpu", {{"a", true, 1}, {"b", false, 0}}},
             {"google.com/tpu", {{"t", true, -1}}},
             {"net.org/hca", {{"h", true, 0}, {"g", true, 0}, {"ill", false, 0}}},
             {"net.org/Big", {{"w", true, 0}}},
             {"x.org/npu", {{"n", true, 0}}}});
  const FoundDevices found = board.found();
  ASSERT_EQ(found.devices.size(), 3u);
  EXPECT_EQ(found.devices[0].device, (Device{"gpu", "acme", "", "a", 0, 1}));
  EXPECT_EQ(found.devices[1].device, (Device{"gpu", "google", "TPUv5", "t", 16, -1}));
  EXPECT_EQ(found.devices[2].device.model, "npu");
  EXPECT_EQ(board.resource_of("b"), "acme.com/gpu") << "a task may hold it";
  EXPECT_EQ(board.resource_of("h"), "");
  EXPECT_EQ(found.countables, (std::vector<Countable>{{"net.org/hca", 2}}));
  EXPECT_EQ(board.units_of("net.org/hca"), (std::vector<std::string>{"g", "h"}));
  EXPECT_EQ(board.units_of("net.org/Big"), std::nullopt) << "jobs have no name for it";
  board.set({});
  EXPECT_EQ(board.units_of("net.org/hca"), std::vector<std::string>{}) << "it may come back";
  EXPECT_EQ(board.resource_of("a"), "acme.com/gpu");
  EXPECT_TRUE(board.found().devices.empty());
}

TEST(PlugBoard, KnowsWhatIsAPluginsBeforeTheyHaveRegisteredAnew) {
  const std::string path = testing::TempDir() + "/plugged-" + std::to_string(::getpid());
  std::filesystem::remove(path);
  const std::vector<PluggedModel> models = {{"*/gpu", "", 0}};
  {
    PlugBoard board(models, path);
    board.set({{"net.org/hca", {{"h", true, 0}}}});
    board.set({{"net.org/hca", {{"h", true, 0}}}, {"acme.com/gpu", {{"a", true, 1}}}});
    EXPECT_TRUE(board.is_here("acme.com/gpu"));
  }
  PlugBoard board(models, path);  // the agent was restarted
  EXPECT_EQ(board.resource_of("a"), "acme.com/gpu");
  EXPECT_EQ(board.units_of("net.org/hca"), std::vector<std::string>{});
  EXPECT_FALSE(board.is_here("net.org/hca"));
  EXPECT_TRUE(board.found().devices.empty() && board.found().countables.empty());
  board.set({{"net.org/hca", {{"h", false, 0}}}, {"acme.com/gpu", {}}});
  EXPECT_TRUE(board.is_here("net.org/hca")) << "it has nothing that is well, and says so";
  EXPECT_FALSE(board.is_here("acme.com/gpu")) << "its place stays while it is away";
  const PlugBoard other({{"net.org/hca", "", 0}}, path);  // with other --plugin-gpus
  EXPECT_EQ(other.units_of("net.org/hca"), std::nullopt);
  EXPECT_EQ(other.resource_of("a"), "");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dove::devices::kubelet
