// Preflight: the checks on this node before an attempt's tasks start.
//
// It checks that the attempt's devices are present and idle, and that the node has the memory that
// it promised. It runs a small computation, reads the job's directories (in a process of its own,
// so that a storage that hangs blocks nothing else), runs the operator's programs, and with several
// nodes an all-reduce between them (agent/health/ring.h). All of it has one time limit. A failure
// is reported with its evidence. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/attempts/order.h"
#include "agent/health/ring.h"
#include "agent/tasks/script_run.h"
#include "model/node.h"
#include "wire/loop.h"

namespace dove::agent {

struct PreflightOptions {
  std::chrono::milliseconds limit{20'000};  // for what is tried here, and again for the ring
  std::int64_t bandwidth_bytes = 0;         // a second, from node to node; 0: any
  std::vector<std::string> probe;           // computes and reads; its arguments are directories
  std::string programs_directory;           // the operator's; "": none
  bool checks_memory = true;                // false: the memory is emulated
  bool tries_gpus = true;                   // false: they are emulated
};

struct PreflightFailure {
  std::string peer;  // "": this node itself
  std::string check;
  std::string evidence;
};

struct PreflightContext {
  std::string node;
  const Inventory* inventory = nullptr;
  std::string shared_directory;
  RingHub* hub = nullptr;
  // How another node is spoken to, which shows that it is that node; unset: plainly.
  std::function<std::shared_ptr<const wire::Tls>(const std::string& node)> toward = {};
  // Why a device of the placement is not idle as far as is known; "": all are.
  std::function<std::string(const Placement&)> busy;
  Aside aside = {};  // where the operator's directory is looked at
};

class Preflight {
 public:
  // `done` is called once, later, unless this is gone by then; it may end this.
  Preflight(wire::Loop& loop, const PreflightOptions& options, PreflightContext context,
            LaunchOrder order, std::function<void(std::optional<PreflightFailure>)> done);
  ~Preflight();

 private:
  std::optional<PreflightFailure> look() const;
  std::string whole_gpus() const;
  void begin();
  void run_programs(const Result<std::vector<std::string>>& programs);
  void wait_for_devices();
  void run(const std::string& check, std::vector<std::string> argv);
  void tried();
  void reduce();
  void end(std::optional<PreflightFailure> failure);

  wire::Loop& loop_;
  PreflightOptions options_;
  PreflightContext context_;
  LaunchOrder order_;
  std::function<void(std::optional<PreflightFailure>)> done_;
  std::vector<std::unique_ptr<ScriptRun>> runs_;
  std::size_t open_ = 0;  // of what must be over before the ring
  std::unique_ptr<Ring> ring_;
  std::int64_t deadline_us_ = 0;
  bool ended_ = false;
  wire::Timer devices_timer_;
  wire::Timer end_timer_;
  // The look at the directory may end after this.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dove::agent
