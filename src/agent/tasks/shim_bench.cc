// shim_bench SHIM [COUNT [DIRECTORY]]: what a task costs: from ShimHandle::spawn to its execution,
// and in CPU.
//
// Runs /bin/true COUNT times one after the other, then again with 16 at a time for the rate.
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "agent/session/lease.h"
#include "agent/tasks/shim_handle.h"

namespace {

using namespace dove::agent;  // NOLINT: a program of one file

std::int64_t cpu_us(int who) {
  rusage usage{};
  ::getrusage(static_cast<__rusage_who>(who), &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

struct Bench {
  std::string root;
  std::string shim;
  ShimChannel channel;
  LeaseWriter lease;
  int next = 0;
  std::vector<std::int64_t> to_start_us;
  std::vector<std::int64_t> to_end_us;
  struct Running {
    ShimHandle handle;
    std::int64_t spawned_us;
  };
  std::map<std::uint64_t, Running> running;

  bool spawn() {
    ShimConfig config;
    config.argv = {"/bin/true"};
    for (int i = 0; i < 40; ++i) {
      config.environment.emplace_back(fmt::format("VARIABLE_{}", i), "a value of some length");
    }
    config.mark = fmt::format("bench.{}", next);
    config.stdout_path = config.stderr_path = fmt::format("{}/out.{}", root, next);
    config.lease_path = root + "/lease";
    const std::int64_t now_us = boottime_us();
    dove::Result<ShimHandle> handle =
        ShimHandle::spawn(config, fmt::format("{}/task.{}", root, next++), {shim, channel.fd()});
    if (!handle.ok()) {
      fmt::print("{}\n", handle.error().message);
      return false;
    }
    const std::uint64_t tag = handle->tag();
    running.emplace(tag, Running{std::move(handle).value(), now_us});
    return true;
  }
  void wait() {
    pollfd what{channel.fd(), POLLIN, 0};
    ::poll(&what, 1, 5'000);
    const std::int64_t now_us = boottime_us();
    for (const shim::ShimRecord& record : channel.read()) {
      const auto found = running.find(record.tag);
      if (found == running.end()) continue;
      if (record.kind == shim::kStartedRecord) {
        to_start_us.push_back(now_us - found->second.spawned_us);
      } else if (record.kind == shim::kEndedRecord) {
        to_end_us.push_back(now_us - found->second.spawned_us);
        found->second.handle.reap(1'000);
        running.erase(found);
      }
    }
  }
};

std::int64_t percentile(std::vector<std::int64_t> values, std::size_t percent) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[(values.size() - 1) * percent / 100];
}

}  // namespace

int main(int argc, char** argv) {
  std::string root = argc > 3 ? argv[3] : "/tmp";
  root += "/dove_shim_bench.XXXXXX";
  if (argc < 2 || ::mkdtemp(root.data()) == nullptr) return 2;
  const int count = argc > 2 ? std::atoi(argv[2]) : 500;
  auto channel = ShimChannel::open(root + "/channel");
  auto lease = LeaseWriter::open(root + "/lease");
  if (!channel.ok() || !lease.ok()) return 1;
  Bench bench{root, argv[1], std::move(channel).value(), std::move(lease).value(), 0, {}, {}, {}};
  bench.lease.renew(boottime_us() + 60'000'000);
  for (const std::size_t at_a_time : {std::size_t{1}, std::size_t{16}}) {
    bench.to_start_us.clear();
    bench.to_end_us.clear();
    const std::int64_t begun_us = boottime_us();
    const std::int64_t self_us = cpu_us(RUSAGE_SELF);
    const std::int64_t children_us = cpu_us(RUSAGE_CHILDREN);
    for (int i = 0; i < count || !bench.running.empty();) {
      while (i < count && bench.running.size() < at_a_time) {
        if (!bench.spawn()) return 1;
        ++i;
      }
      bench.wait();
    }
    const std::int64_t wall_us = boottime_us() - begun_us;
    fmt::print(
        "{} x /bin/true, {} at a time: executed after p50 {} us, p99 {} us; over after p50 {} us, "
        "p99 {} us; {} tasks/s; CPU per task: agent {} us, shim and task {} us\n",
        count, at_a_time, percentile(bench.to_start_us, 50), percentile(bench.to_start_us, 99),
        percentile(bench.to_end_us, 50), percentile(bench.to_end_us, 99),
        count * std::int64_t{1'000'000} / wall_us, (cpu_us(RUSAGE_SELF) - self_us) / count,
        (cpu_us(RUSAGE_CHILDREN) - children_us) / count);
  }
  std::filesystem::remove_all(root);
  return 0;
}
