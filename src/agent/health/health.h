// Health: the findings of this node's checks, and the tests and remedies that the controller
// orders.
//
// Checks run periodically: the agent's disk, the shared directory, a file of emulated faults, and
// each program of a directory (exit 0: good, 1: warning, 2: fault, 3: critical, or too late: fault;
// its first line is the evidence). Only changes are reported. A test runs all of them; a remedy is
// the operator's program of that name in the directory of hooks. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/tasks/script_run.h"
#include "model/health.h"
#include "protocol/reports.h"
#include "wire/loop.h"

namespace dove::agent {

struct HealthOptions {
  std::string node;
  std::string data_dir;          // has to be writable, with some room
  std::string shared_directory;  // has to answer; "": there is none
  std::string checks_directory;  // "": no programs of the operator
  std::string hooks_directory;   // "": no remedies but those of people
  // A JSON array of findings, as in reports; read when it changes. "": nothing is emulated.
  std::string faults_path;
  std::chrono::milliseconds every{30'000};
  std::chrono::milliseconds disk_every{5'000};
  std::chrono::milliseconds check_limit{30'000};
  std::chrono::milliseconds hook_limit{600'000};
  Aside aside = {};  // where the operator's directories are looked at
};

class Health {
 public:
  // `report` gets entries of a report's "events" (api/agent-protocol.md).
  Health(wire::Loop& loop, HealthOptions options, std::function<void(protocol::Report)> report);
  ~Health();

  void start();
  // What devices say of themselves: the latest word of (check, device).
  void found(Finding finding);
  // Runs all checks and reports `tested`; an order that comes again while it does is the same one.
  void test();
  // Runs the hook and reports `remedy_ended`; of a reboot that was begun the boot tells.
  void remedy(const std::string& name);

 private:
  using Key = std::pair<std::string, std::int32_t>;

  void check_all();
  void check_with(const Result<std::vector<std::string>>& programs);
  void watch_disk();
  void check_disk();
  struct FaultsFile;
  void check_faults();
  void take_faults(const FaultsFile& file);
  void check_ended(Finding finding);
  void all_ended();
  void tell(const Finding& finding);
  void run(const std::string& check, std::vector<std::string> argv);
  void run_hook(const std::string& name, const std::string& hook);
  void remedied(const std::string& name, bool done, const std::string& why);

  wire::Loop& loop_;
  HealthOptions options_;
  std::function<void(protocol::Report)> report_;
  std::map<Key, Finding> told_;
  std::map<Key, Finding> emulated_;
  std::map<std::string, std::unique_ptr<ScriptRun>> running_;  // by check
  // Kept until the loop has left their callbacks, and while a program that hangs is still there.
  std::vector<std::pair<std::string, std::unique_ptr<ScriptRun>>> over_;
  std::unique_ptr<ScriptRun> hook_;
  bool testing_ = false;
  bool checking_ = false;
  bool listing_ = false;  // the operator's checks
  bool looks_at_hook_ = false;
  bool disk_is_short_ = false;
  std::int64_t faults_seen_ = 0;  // when the file was last changed
  wire::Timer checks_timer_;
  wire::Timer disk_timer_;
  wire::Timer faults_timer_;
  // Works beside the loop may end after this.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dove::agent
