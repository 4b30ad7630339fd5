#include "agent/health/preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/tasks/environment.h"
#include "telemetry/log.h"
#include "wire/secret.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kDevicesAgain{500};

// What the kernel could give away without swapping; 0: it does not say.
std::int64_t memory_available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t kib = 0;
    if (words >> name >> kib && name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

std::string devices_text(const Placement& placement) {
  std::string text;
  for (const DeviceGrant& grant : placement.devices) {
    text += (text.empty() ? "" : ",") + std::to_string(grant.device);
  }
  return text;
}

}  // namespace

Preflight::Preflight(wire::Loop& loop, const PreflightOptions& options, PreflightContext context,
                     LaunchOrder order, std::function<void(std::optional<PreflightFailure>)> done)
    : loop_(loop),
      options_(options),
      context_(std::move(context)),
      order_(std::move(order)),
      done_(std::move(done)),
      deadline_us_(loop.monotonic_us() + options.limit.count() * 1000) {
  end_timer_ = loop_.after(std::chrono::milliseconds(0), [this] { begin(); });
}

Preflight::~Preflight() = default;

std::optional<PreflightFailure> Preflight::look() const {
  for (const DeviceGrant& grant : order_.placement.devices) {
    const auto index = static_cast<std::size_t>(grant.device);
    const bool there = context_.inventory != nullptr &&
                       index < context_.inventory->devices.size() &&
                       context_.inventory->devices[index].kind != "lost";
    if (!there) {
      return PreflightFailure{"", "devices", fmt::format("device {} is not there", grant.device)};
    }
  }
  const std::int64_t free_bytes = memory_available_bytes();
  if (options_.checks_memory && free_bytes > 0 && free_bytes < order_.placement.memory_bytes) {
    return PreflightFailure{"", "memory",
                            fmt::format("{} MiB are free, the job is to have {} MiB",
                                        free_bytes >> 20, order_.placement.memory_bytes >> 20)};
  }
  return std::nullopt;
}

// Those that are the placement's alone: "GPU-5f…,GPU-6a…".
std::string Preflight::whole_gpus() const {
  std::string text;
  for (const DeviceGrant& grant : order_.placement.devices) {
    const auto index = static_cast<std::size_t>(grant.device);
    const bool is_whole = !grant.is_slice() && grant.share_milli == kWholeDevice_milli;
    if (!options_.tries_gpus || !is_whole || context_.inventory == nullptr) continue;
    if (context_.inventory->devices[index].vendor != "nvidia") continue;
    text += (text.empty() ? "" : ",") + driver_name(context_.inventory, grant.device);
  }
  return text;
}

void Preflight::begin() {
  if (auto failure = look()) return end(std::move(failure));
  open_ = 1;  // the devices
  if (!options_.probe.empty()) {
    std::vector<std::string> argv = options_.probe;
    if (const std::string gpus = whole_gpus(); !gpus.empty()) {
      argv.insert(argv.end(), {"--cuda", gpus});
    }
    if (!context_.shared_directory.empty()) argv.push_back(context_.shared_directory);
    if (!order_.exec.workdir.empty() && order_.exec.container.image.empty()) {
      argv.push_back(order_.exec.workdir);
    }
    run("probe", std::move(argv));
  }
  if (!options_.programs_directory.empty()) {
    ++open_;
    list_programs(context_.aside, options_.limit, options_.programs_directory,
                  [this, alive = std::weak_ptr<bool>(alive_)](const auto& programs) {
                    if (!alive.expired()) run_programs(programs);
                  });
  }
  wait_for_devices();
}

void Preflight::run_programs(const Result<std::vector<std::string>>& programs) {
  if (ended_) return;
  if (!programs.ok()) {
    return end(PreflightFailure{"", "programs", programs.error().message});
  }
  for (const std::string& program : *programs) {
    run("script:" + fs::path(program).filename().string(),
        {program, context_.node, devices_text(order_.placement)});
  }
  tried();
}

// What held them before may have been there at the last look: a later one counts.
void Preflight::wait_for_devices() {
  const std::string busy = context_.busy ? context_.busy(order_.placement) : "";
  if (busy.empty()) return tried();
  if (loop_.monotonic_us() >= deadline_us_) return end(PreflightFailure{"", "devices", busy});
  devices_timer_ = loop_.after(kDevicesAgain, [this] { wait_for_devices(); });
}

void Preflight::run(const std::string& check, std::vector<std::string> argv) {
  ++open_;
  runs_.push_back(std::make_unique<ScriptRun>(
      loop_, std::move(argv), options_.limit, [this, check](const ScriptEnd& run_end) {
        if (run_end.exit_code == 0) return tried();
        end(PreflightFailure{"", check,
                             run_end.said.empty()
                                 ? fmt::format("it ended with {}", run_end.exit_code)
                                 : run_end.said});
      }));
}

void Preflight::tried() {
  if (ended_ || --open_ > 0) return;
  reduce();
}

void Preflight::reduce() {
  const bool all_listen =
      context_.hub != nullptr &&
      std::all_of(order_.nodes.begin(), order_.nodes.end(),
                  [](const PeerNode& node) { return node.preflight_port != 0; });
  if (order_.nodes.size() < 2) return end(std::nullopt);
  if (!all_listen) {
    telemetry::log(telemetry::Level::kWarning, "no_ring",
                   {{"attempt", order_.key.text()}, {"why", "an agent listens nowhere"}});
    return end(std::nullopt);
  }
  RingPlan plan;
  plan.key = order_.key.text();
  plan.secret = wire::sha256_hex("ring " + order_.job_token);
  for (const PeerNode& node : order_.nodes) {
    if (node.node_rank == order_.placement.node_rank) plan.rank = plan.peers.size();
    plan.peers.push_back(
        {node.name, node.underlay, static_cast<std::uint16_t>(node.preflight_port)});
  }
  if (context_.toward) plan.tls = context_.toward(plan.next().name);
  plan.limit = options_.limit;
  plan.bytes_per_s_min = options_.bandwidth_bytes;
  ring_ = std::make_unique<Ring>(
      loop_, *context_.hub, std::move(plan), [this](const std::optional<RingFailure>& failure) {
        if (!failure) return end(std::nullopt);
        end(PreflightFailure{failure->peer, "all_reduce", failure->evidence});
      });
}

void Preflight::end(std::optional<PreflightFailure> failure) {
  if (ended_) return;
  ended_ = true;
  devices_timer_.cancel();
  // In a later turn: what calls us may be what ends with us.
  end_timer_ = loop_.after(std::chrono::milliseconds(0), [this, failure = std::move(failure)] {
    const auto done = std::move(done_);
    const std::optional<PreflightFailure> told = failure;
    done(told);
  });
}

}  // namespace dove::agent
