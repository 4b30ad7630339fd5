#include "agent/health/host_metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

TEST(HostMetrics, AreThoseOfLinux) {
  std::string folder = testing::TempDir() + "host.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(folder + "/" + path).parent_path());
    std::ofstream(folder + "/" + path) << text;
  };
  write("proc/loadavg", "1.25 1 1 1/1 1");
  write("proc/meminfo", "MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB\n");
  write("proc/net/dev",
        "Inter|\n face |\n  lo: 10 0 0 0 0 0 0 0 20 0\nveth1: 1 0 0 0 0 0 0 0 1 0\n");
  write("proc/self/cgroup", "4:memory:/pod\n3:cpuacct:/pod\n");
  write("cgroup/memory/pod/dove-n1/a7.1/memory.usage_in_bytes", "4096\n");
  write("cgroup/cpuacct/pod/dove-n1/a7.1/cpuacct.usage", "2500000000\n");
  telemetry::Exposition out;
  add_host_metrics({folder + "/proc", folder + "/cgroup", folder, "dove-n1"}, out);
  const std::string text = out.text();
  for (const char* line : {"dove_host_load1 1.25\n", "dove_host_memory_bytes 2097152\n",
                           "dove_host_memory_available_bytes 1048576\n",
                           "dove_host_network_received_bytes_total{interface=\"lo\"} 10\n",
                           "dove_host_network_sent_bytes_total{interface=\"lo\"} 20\n",
                           "dove_cgroup_memory_bytes{attempt=\"a7.1\"} 4096\n",
                           "dove_cgroup_cpu_seconds_total{attempt=\"a7.1\"} 2.5\n",
                           "dove_host_disk_available_bytes "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(text.find("veth1"), std::string::npos);
  fs::remove_all(folder);
}

TEST(HostMetrics, OfThisMachineAreThere) {
  telemetry::Exposition out;
  add_host_metrics({"/proc", "/sys/fs/cgroup", "/tmp", ""}, out);
  EXPECT_NE(out.text().find("process_resident_memory_bytes"), std::string::npos);
  EXPECT_NE(out.text().find("dove_host_cpu_seconds_total{mode=\"idle\"}"), std::string::npos);
}

}  // namespace
}  // namespace dove::agent
