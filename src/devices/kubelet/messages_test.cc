#include "devices/kubelet/messages.h"

#include <gtest/gtest.h>

namespace dove::devices::kubelet {
namespace {

// As protocol buffers write it: a tag, a length, the text.
std::string text(int field, const std::string& value) {
  std::string bytes(1, static_cast<char>(field << 3 | 2));
  return bytes + static_cast<char>(value.size()) + value;
}
std::string number(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}

TEST(PluginMessages, ARegistrationIsRead) {
  const auto request =
      read_register_request(text(1, "v1beta1") + text(2, "acme.sock") + text(3, "acme.com/gpu") +
                            text(4, number(1, 1)) + text(9, "of a later version"));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->version, "v1beta1");
  EXPECT_EQ(request->endpoint, "acme.sock");
  EXPECT_EQ(request->resource_name, "acme.com/gpu");
  EXPECT_TRUE(read_plugin_options(number(1, 1))->pre_start_required);
  EXPECT_FALSE(read_plugin_options("")->pre_start_required);
}

TEST(PluginMessages, DevicesHaveHealthAndTheFirstOfTheirNumaNodes) {
  const std::string nodes = text(1, number(1, 1)) + text(1, number(1, 0));
  const auto devices =
      read_device_list(text(1, text(1, "a") + text(2, "Healthy") + text(3, nodes)) +
                       text(1, text(1, "b") + text(2, "Unhealthy") + text(3, text(1, ""))) +
                       text(1, text(1, "c") + text(2, "Healthy")));
  ASSERT_TRUE(devices.ok());
  const std::vector<ListedDevice> expected = {{"a", true, 1}, {"b", false, 0}, {"c", true, -1}};
  EXPECT_EQ(*devices, expected);
  EXPECT_FALSE(read_device_list(text(1, text(2, "Healthy"))).ok()) << "a device without an id";
}

TEST(PluginMessages, RequestsNameTheDevicesOfOneContainer) {
  EXPECT_EQ(pre_start_request({"a", "bc"}), text(1, "a") + text(1, "bc"));
  EXPECT_EQ(allocate_request({"a", "bc"}), text(1, text(1, "a") + text(1, "bc")));
}

TEST(PluginMessages, AnAllocationIsRead) {
  const std::string container = text(1, text(1, "A") + text(2, "1")) + text(1, text(1, "EMPTY")) +
                                text(2, text(1, "/in") + text(2, "/out") + number(3, 1)) +
                                text(3, text(2, "/dev/a") + text(3, "rw")) +
                                text(4, text(1, "k") + text(2, "v")) +
                                text(5, text(1, "acme.com/gpu=a"));
  const auto allocation = read_allocation(text(1, container));
  ASSERT_TRUE(allocation.ok());
  EXPECT_EQ(allocation->environment,
            (std::map<std::string, std::string>{{"A", "1"}, {"EMPTY", ""}}));
  EXPECT_EQ(allocation->mounts, (std::vector<PluginMount>{{"/in", "/out", true}}));
  EXPECT_EQ(allocation->files, (std::vector<PluginFile>{{"/dev/a", "/dev/a"}}));
  EXPECT_EQ(allocation->annotations.at("k"), "v");
  EXPECT_EQ(allocation->cdi_devices, (std::vector<std::string>{"acme.com/gpu=a"}));
  EXPECT_FALSE(read_allocation(text(1, text(3, text(2, "dev/a")))).ok());
  EXPECT_FALSE(read_allocation(text(1, text(2, text(1, "/in")))).ok());
}

TEST(PluginMessages, BytesThatAreCutShortAreRefused) {
  const std::string whole = text(1, text(1, "a") + text(2, "Healthy"));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(read_device_list(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(read_device_list(std::string(11, '\xff')).ok());
  EXPECT_FALSE(read_device_list("\x0b").ok()) << "a group, which nobody writes any more";
}

}  // namespace
}  // namespace dove::devices::kubelet
