#include "sim/fleet_log.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "controller/controller.h"
#include "model/node.h"

namespace dove::sim {
namespace {

constexpr std::int64_t kBegin_us = 1'700'000'000'000'000;

Inventory inventory_of(const FleetOptions& options) {
  Inventory inventory;
  inventory.memory_bytes = std::int64_t{1} << 40;
  NumaNode numa;
  numa.memory_bytes = inventory.memory_bytes;
  for (std::int32_t core = 0; core < options.cores_per_node; ++core) numa.cores.insert(core);
  inventory.numa.push_back(std::move(numa));
  for (std::int32_t gpu = 0; gpu < options.gpus_per_node; ++gpu) {
    Device device;
    device.model = "H200";
    device.uuid = "simulated-" + std::to_string(gpu);
    device.memory_bytes = std::int64_t{141} << 30;
    inventory.devices.push_back(std::move(device));
  }
  return inventory;
}

// Collects launches; carry_out comes on the controller's thread, before the batch's completion.
class SimulatedNodes : public backends::Backend {
 public:
  void carry_out(std::vector<backends::Order> orders) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (backends::Order& order : orders) orders_.push_back(std::move(order));
  }
  std::vector<backends::Order> take() {
    const std::lock_guard<std::mutex> guard(mutex_);
    std::vector<backends::Order> taken;
    taken.swap(orders_);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::vector<backends::Order> orders_;
};

// What its jobs would run, and the digest of that.
constexpr char kExec[] = "{}";
constexpr char kExec_sha256[] = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

class Recorder {
 public:
  Recorder(store::LogStore& log, store::LogKeeper& keeper, const FleetOptions& options)
      : options_(options), controller_(log, keeper, nodes_, controller_options()) {}

  Result<void> run() {
    TRY(controller_.open());
    controller_.start();
    Result<void> done = register_nodes();
    auto spec = std::make_shared<JobSpec>();
    spec->name = "null";
    spec->user = "fleet";
    spec->groups.emplace_back().per_task.cores = 1;
    spec->exec_digest = kExec_sha256;  // so that a server starts on such a log
    const std::int64_t step_us = 1'000'000 / options_.rate_per_s;
    while (done.ok() && events_ < options_.events) {
      now_us_ += step_us;
      std::vector<StampedEvent> events = due_reports();
      events.push_back(stamped(JobSubmitted{spec}, "fleet"));
      done = commit(std::move(events));
    }
    controller_.stop();
    return done;
  }

 private:
  controller::ControllerOptions controller_options() {
    controller::ControllerOptions options;
    options.policies = options_.policies;
    options.policy_digest = options_.policy_digest;
    options.build = "simulated";
    options.holder = "simulated fleet";
    options.clock = [this] { return now_us_.load(); };
    options.snapshot_every_records = std::uint64_t{1} << 60;
    options.records_kept = std::uint64_t{1} << 60;
    return options;
  }

  static StampedEvent stamped(Event event, const char* principal) {
    StampedEvent out{std::move(event), {}};
    out.cause.principal = principal;
    return out;
  }

  Result<void> register_nodes() {
    const auto inventory = std::make_shared<const Inventory>(inventory_of(options_));
    for (std::int32_t i = 1; i <= options_.nodes; ++i) {
      NodeRegistered node;
      node.name = "null" + std::to_string(i);
      node.boot_id = "boot";
      node.address = "127.0.0.1";
      node.inventory = inventory;
      std::vector<StampedEvent> events;
      events.push_back(stamped(std::move(node), "agent"));
      events.push_back(
          stamped(NodeConnected{NodeId(static_cast<std::uint32_t>(i)), "boot"}, "agent"));
      TRY(commit(std::move(events)));
    }
    return {};
  }

  std::vector<StampedEvent> due_reports() {
    const std::int64_t run_us = options_.running * 1'000'000 / options_.rate_per_s;
    std::vector<StampedEvent> events;
    for (const backends::Order& order : nodes_.take()) {
      if (order.kind != backends::OrderKind::kLaunch) continue;
      events.push_back(stamped(PlacementStarted{order.job, order.attempt, order.node}, "agent"));
      PlacementEnded end{order.job, order.attempt, order.node, {TaskExit{}}, 0, 0};
      ends_.emplace_back(now_us_ + run_us, std::move(end));
    }
    for (; !ends_.empty() && ends_.front().first <= now_us_; ends_.pop_front()) {
      events.push_back(stamped(std::move(ends_.front().second), "agent"));
    }
    return events;
  }

  Result<void> commit(std::vector<StampedEvent> events) {
    events_ += events.size();
    controller::Input input;
    input.events = std::move(events);
    if (!std::exchange(exec_is_there_, true)) input.blobs.emplace_back(kExec_sha256, kExec);
    std::mutex mutex;
    std::condition_variable wake;
    std::optional<Result<controller::Committed>> answer;
    controller_.submit(std::move(input), [&](Result<controller::Committed> result) {
      const std::lock_guard<std::mutex> guard(mutex);
      answer.emplace(std::move(result));
      wake.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    wake.wait(lock, [&] { return answer.has_value(); });
    if (!answer->ok()) return answer->error();
    return {};
  }

  const FleetOptions& options_;
  SimulatedNodes nodes_;
  std::atomic<std::int64_t> now_us_{kBegin_us};
  controller::Controller controller_;
  std::uint64_t events_ = 0;
  bool exec_is_there_ = false;
  std::deque<std::pair<std::int64_t, PlacementEnded>> ends_;  // by time
};

}  // namespace

Result<void> record_fleet(store::LogStore& log, store::LogKeeper& keeper,
                          const FleetOptions& options) {
  return Recorder(log, keeper, options).run();
}

}  // namespace dove::sim
