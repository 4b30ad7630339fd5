// Machine: one node's hardware, its task processes, its agent and its disk, in virtual time.
//
// The agent is the real one; the machine runs tasks for it as timers, keeps what shims would leave
// behind, and ends tasks when the lease runs out, as shims do. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent.h"
#include "agent/tasks/task.h"
#include "base/random.h"
#include "sim/explore/agenda.h"
#include "sim/explore/network.h"
#include "sim/explore/oracle.h"
#include "sim/explore/process.h"
#include "sim/explore/trace.h"

namespace dove::sim {

// Thrown where an agent is killed in the middle of a turn.
struct AgentKilled {
  class Machine* machine;
};

struct MachineOptions {
  std::uint32_t node = 0;  // its NodeId
  std::string name;
  std::string data_dir;
  std::string agent_token;
  std::string machine_id;  // what its hardware says
  std::string boots_as;    // boot ids begin with it
  Inventory inventory;
  std::int64_t stream_silence_us = 10'000'000;            // agents' default
  std::vector<std::string> controllers = {"controller"};  // by their machines
};

class Machine {
 public:
  Machine(Agenda& agenda, Network& network, Oracle& oracle, Trace& trace, MachineOptions options,
          std::uint64_t seed);
  ~Machine();

  Host& host() { return host_; }
  const std::string& name() const { return options_.name; }
  const MachineOptions& options() const { return options_; }
  std::string boot_id() const;
  bool agent_runs() const { return agent_ != nullptr; }
  bool powered() const { return host_.powered; }

  void start_agent();
  void kill_agent();
  // In the middle of what it does next with a task, so that it is half done.
  void kill_agent_soon() { killed_soon_ = true; }
  // All tasks die with it; power_on() is another boot.
  void power_off();
  void power_on();
  // Its disk is a new one: the agent starts without what it knew. REQUIRES: the power is off.
  void wipe();
  // The next start of the agent joins with it, if it has no key of its own then.
  void join_with(std::string token) { join_token_ = std::move(token); }
  bool has_joined() const;
  // A device fails: the tasks that use it die.
  void fail_device(std::int32_t device);

 private:
  friend class MachineRunner;
  struct Watch {  // an agent's view of a task
    agent::TaskCallbacks calls;
    bool dropped = false;
    Process* process = nullptr;
  };
  struct Task {
    TaskFacts facts;
    std::string path;
    bool over = false;
    bool stopping = false;
    TaskExit exit;
    std::shared_ptr<Watch> watch;
  };
  struct Life;

  void spawn(const agent::TaskPlan& plan, std::shared_ptr<Watch> watch);
  void adopt(const agent::TaskPlan& plan, const std::shared_ptr<Watch>& watch);
  void stop_task(const std::string& path, int number);
  void end_task(const std::string& path, std::uint64_t life, const TaskExit& exit);
  void tell_ended(const Task& task);
  void watch_lease();
  void maybe_die();

  Agenda& agenda_;
  Network& network_;
  Oracle& oracle_;
  Trace& trace_;
  const MachineOptions options_;
  Random random_;
  Host host_;
  std::uint64_t boot_ = 1;
  std::uint64_t tasks_begun_ = 0;
  std::int64_t lease_until_us_ = 0;
  bool lease_watched_ = false;
  bool killed_soon_ = false;
  std::string join_token_;
  std::map<std::string, std::pair<std::uint64_t, Task>> tasks_;  // by their files; with their lives
  std::set<std::string> live_;                                   // of these, not over
  std::unique_ptr<Life> agent_;
};

}  // namespace dove::sim
