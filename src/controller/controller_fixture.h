// For tests of whoever stands on a controller: stores and backends that say that they are fakes.
#pragma once

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/check.h"
#include "controller/controller.h"
#include "core/cycle/cycle.h"
#include "core/queue/policy.h"
#include "store/log_store.h"

namespace dove::controller {

// Passes on to another log; can be full, and can make appends wait.
class FaultyLog : public store::LogStore {
 public:
  explicit FaultyLog(store::LogStore& log) : log_(log) {}

  store::Head head() const override { return log_.head(); }
  Result<void> append(Epoch epoch, Seq expected_head, const store::Batch& batch) override {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !blocked_; });
    if (full_appends_ > 0) {
      --full_appends_;
      return Error{ErrorKind::kExhausted, "disk_full", "the disk is full", ""};
    }
    return log_.append(epoch, expected_head, batch);
  }
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override {
    return log_.read(after, visit);
  }
  Result<std::optional<std::string>> blob(const std::string& sha256) override {
    return log_.blob(sha256);
  }

  void fail_appends(int count) {
    const std::lock_guard lock(mutex_);
    full_appends_ = count;
  }
  void block(bool on) {
    const std::lock_guard lock(mutex_);
    blocked_ = on;
    arrived_ = 0;
    changed_.notify_all();
  }
  void wait_for_append() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return arrived_ > 0; });
  }

 private:
  store::LogStore& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int full_appends_ = 0;
  int arrived_ = 0;
  bool blocked_ = false;
};

// Remembers what it was told.
class FakeBackend : public backends::Backend {
 public:
  void carry_out(std::vector<backends::Order> orders) override {
    const std::lock_guard lock(mutex_);
    for (backends::Order& order : orders) orders_.push_back(std::move(order));
  }
  std::vector<backends::Order> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(orders_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<backends::Order> orders_;
};

inline ControllerOptions test_options(const core::Policies& policies) {
  ControllerOptions options;
  options.policies = &policies;
  options.policy_digest = core::policy_digest(policies);
  options.build = "test";
  options.holder = "test";
  options.hash_every_batches = 1;
  options.full_retry_us = 1000;
  return options;
}

inline Result<Committed> submit_and_wait(Controller& controller, Input input) {
  std::promise<Result<Committed>> promise;
  auto answer = promise.get_future();
  controller.submit(std::move(input),
                    [&promise](Result<Committed> result) { promise.set_value(std::move(result)); });
  return answer.get();
}

inline Result<Committed> submit_and_wait(Controller& controller, Event event) {
  Input input;
  input.events.push_back(StampedEvent{std::move(event), {}});
  return submit_and_wait(controller, std::move(input));
}

inline Inventory small_inventory() {
  Inventory inventory;
  inventory.numa.push_back(NumaNode{{0, 1, 2, 3}, std::int64_t{16} << 30});
  inventory.memory_bytes = std::int64_t{16} << 30;
  return inventory;
}

inline JobSpec small_job(const std::string& name = "job", std::int32_t tasks = 1) {
  JobSpec spec;
  spec.name = name;
  spec.user = "ada";
  TaskGroup group;
  group.tasks = tasks;
  group.per_task.cores = 1;
  spec.groups.push_back(group);
  spec.exec_digest = "exec";
  return spec;
}

inline Input submission(JobSpec spec, const std::string& key = "", const std::string& body = "") {
  Input input;
  StampedEvent event{JobSubmitted{std::make_shared<const JobSpec>(std::move(spec))}, {}};
  event.cause.principal = "ada";
  event.cause.idempotency_key = key;
  event.cause.body_sha256 = body;
  input.events.push_back(std::move(event));
  input.blobs.emplace_back("exec", "{}");
  input.kind = InputKind::kNewWork;
  return input;
}

// A node that has joined and is connected.
inline NodeId add_node(Controller& controller, const std::string& name, std::uint32_t number) {
  NodeRegistered registered;
  registered.name = name;
  registered.boot_id = "boot";
  registered.inventory = std::make_shared<const Inventory>(small_inventory());
  CHECK(submit_and_wait(controller, registered).ok(), "a node joins");
  const NodeId node(number);
  CHECK(submit_and_wait(controller, NodeConnected{node, "boot"}).ok(), "a node connects");
  return node;
}

}  // namespace dove::controller
