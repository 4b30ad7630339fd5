// dove probe: a small computation and a look into directories, as preflight does on each node.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "programs/commands.h"
#include "programs/cuda_probe.h"

namespace dove::programs {
namespace {

constexpr std::size_t kSide = 96;
constexpr int kRounds = 40;
constexpr int kEntries_max = 16;

using Matrix = std::array<double, kSide * kSide>;

// The same bits each time, on a processor that works.
std::uint64_t compute() {
  static Matrix a;
  static Matrix b;
  static Matrix c;
  std::uint64_t seed = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    a[i] = static_cast<double>(seed >> 40) / 16777216.0;
    b[i] = static_cast<double>((seed >> 16) & 0xFFFFFF) / 16777216.0;
  }
  std::uint64_t digest = seed;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kSide; ++k) sum += a[i * kSide + k] * b[k * kSide + j];
        c[i * kSide + j] = sum / static_cast<double>(kSide);
      }
    }
    for (const double value : c) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      digest = (digest ^ bits) * 1099511628211u;
    }
    std::swap(a, c);
  }
  return digest;
}

// Whether the directory, and the first bytes of a file in it, can be read; else why not.
std::string look_into(const std::string& path) {
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return fmt::format("{}: {}", path, std::strerror(errno));
  std::string trouble;
  int seen = 0;
  for (const dirent* entry = readdir(entries); entry != nullptr && ++seen < kEntries_max;
       entry = readdir(entries)) {
    if (entry->d_type != DT_REG) continue;
    const int fd = openat(dirfd(entries), entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) continue;  // not ours to read
    std::array<char, 4096> bytes{};
    if (read(fd, bytes.data(), bytes.size()) < 0) {
      trouble = fmt::format("{}/{}: {}", path, entry->d_name, std::strerror(errno));
    }
    close(fd);
    break;
  }
  closedir(entries);
  return trouble;
}

int run(const cli::Invocation& invocation) {
  if (compute() != compute()) {
    fmt::print("the processor gave two results of one computation\n");
    return 1;
  }
  if (invocation.has("cuda")) {
    const std::string devices = invocation.get("cuda");
    ::setenv("CUDA_VISIBLE_DEVICES", devices.c_str(), 1);
    ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    const auto commas = std::count(devices.begin(), devices.end(), ',');
    if (const std::string trouble = try_cuda(static_cast<int>(commas) + 1); !trouble.empty()) {
      fmt::print("{} (devices {})\n", trouble, devices);
      return 1;
    }
  }
  for (const std::string& path : invocation.operands) {
    const std::string trouble = look_into(path);
    if (trouble.empty()) continue;
    fmt::print("{}\n", trouble);
    return 1;
  }
  return 0;
}

}  // namespace

cli::Command probe_command() {
  cli::CommandSpec spec;
  spec.name = "probe";
  spec.summary = "Test the processor, GPUs and directories, as preflight does";
  spec.group = "Programs";
  spec.description =
      "Exits with 1 and says why when the processor gives two results for one computation, a GPU\n"
      "does not return what it was filled with, or a directory cannot be read. It sets itself no\n"
      "time limit: the caller must set one.";
  spec.options = {{"cuda", 0, "DEVICES",
                   "try these GPUs (UUIDs or 0,1), where CUDA's driver is on this machine (none)",
                   false}};
  spec.operands = "[DIR...]";
  spec.operands_max = -1;
  return {spec, run};
}

}  // namespace dove::programs
