// ControlPlane: the real controller and API server on a log that can fail, started and killed at
// will, in virtual time. One thread; whoever owns the log outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "controller/controller.h"
#include "sim/explore/agenda.h"
#include "sim/explore/log_replay.h"
#include "sim/explore/network.h"
#include "sim/explore/oracle.h"
#include "sim/explore/trace.h"
#include "store/log_store.h"

namespace dove::sim {

// Thrown where the controller is killed in the middle of a turn.
struct ControllerKilled {};

// Passes on to another log; kills the controller before or after an append, or is full.
class FaultyLog : public store::LogStore {
 public:
  explicit FaultyLog(store::LogStore& log) : log_(log) {}

  enum class Fault { kNone, kKillBefore, kKillAfter, kFull };
  void next_append(Fault fault, int appends = 1) {
    fault_ = fault;
    appends_ = appends;
  }
  // Called with each batch once it is durable, before anybody else hears of it.
  void on_durable(std::function<void(const store::Batch&)> fn) { durable_ = std::move(fn); }

  store::Head head() const override { return log_.head(); }
  Result<void> append(Epoch epoch, Seq expected_head, const store::Batch& batch) override;
  Result<void> read(Seq after, const std::function<bool(const store::Batch&)>& visit) override {
    return log_.read(after, visit);
  }
  Result<std::optional<std::string>> blob(const std::string& sha256) override {
    return log_.blob(sha256);
  }

 private:
  store::LogStore& log_;
  Fault fault_ = Fault::kNone;
  int appends_ = 0;
  std::function<void(const store::Batch&)> durable_;
};

struct ControlPlaneOptions {
  const core::Policies* policies = nullptr;
  std::string data_dir;
  std::int64_t heartbeat_us = 0;
  std::int64_t epoch_us = 0;  // UTC at the beginning of virtual time
};

class ControlPlane {
 public:
  ControlPlane(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace, store::LogStore& log,
               store::LogKeeper& keeper, ControlPlaneOptions options, std::uint64_t seed);
  ~ControlPlane();

  bool runs() const { return life_ != nullptr; }
  // Reads the log back and serves. A failure is told to the oracle. May throw ControllerKilled.
  void start();
  void kill();
  FaultyLog& log() { return log_; }
  // REQUIRES: runs().
  const core::State& state() const;
  // As one input, at once; for what exists before there are clients. REQUIRES: runs().
  void submit(std::vector<StampedEvent> events);
  // Decides again over all that was logged since the last call.
  void verify_log();

 private:
  struct Life;
  void work();
  void work_in(std::int64_t delay_us);

  Agenda& agenda_;
  Network& network_;
  Oracle& oracle_;
  Trace& trace_;
  store::LogKeeper& keeper_;
  const ControlPlaneOptions options_;
  Random random_;
  Host host_;
  FaultyLog log_;
  std::uint64_t hash_before_ = 0;  // when it was killed between two turns; 0: not known
  LogReplay replay_;
  std::unique_ptr<Life> life_;
};

// What exists before there are clients, as one input and at once. A refusal is a contradiction.
void set_up(controller::Controller& controller, Oracle& oracle, std::vector<StampedEvent> events);

}  // namespace dove::sim
