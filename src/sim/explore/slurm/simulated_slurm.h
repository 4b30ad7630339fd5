// SimulatedSlurm: a scheduler that gives devices, cores and memory of some nodes to its users' jobs
// and to whatever our adapter asks of it.
//
// Each is held by one job at a time. Some jobs are in an open partition and start by themselves;
// the others wait at the gate (docs/decisions/0026-a-gate-in-slurm.md). Without the gate all are in
// the open partition, and wait in its queue for room. It chooses devices and cores by itself, those
// of its users the lowest that are free. It ends jobs at their time limits, and with a node what
// runs there; of that it runs its users' jobs anew that may be. It does not answer for a while now
// and then, puts back what may run again, does what it was told and loses the answer, and its
// prolog looks before a job begins. What goes wrong besides is SlurmWeather's. One thread at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/explore/agenda.h"
#include "sim/explore/oracle.h"
#include "sim/explore/slurm/slurm_modes.h"
#include "slurm/cluster.h"
#include "slurm/gate/gate_control.h"

namespace dove::sim {

// What jobs that start by themselves have.
inline constexpr const char kOpen_account[] = "lab";
inline constexpr const char kOpen_partition[] = "batch";
// Likewise, of jobs that are above most of ours.
inline constexpr const char kUrgent_account[] = "serving";

struct SimulatedSlurmOptions {
  std::uint64_t seed = 1;
  std::vector<std::string> nodes;  // the first ones, by NodeId; empty: there is none
  std::int32_t gpus_per_node = 0;
  std::int32_t cores_per_node = 64;                   // of ours, its CPUs
  std::int32_t threads_per_core = 1;                  // of its cores
  std::int64_t memory_bytes = std::int64_t{1} << 40;  // of each node
  std::int64_t faults_percent = 100;
  std::int64_t epoch_us = 0;  // when the exploration begins
  std::string user;           // whose all its jobs are
  SlurmModes modes = {};
  std::string gate_folder = {};  // where its Lua writes what users say (slurm/gate/gate_folder.h)
};

// Inventory::thread_order of a machine where a core's first threads are numbered before all second
// ones, as most are.
std::vector<std::int32_t> thread_order(std::int32_t cpus, std::int32_t threads_per_core);

// What runs in allocations of the adapter.
class InsideAllocations {
 public:
  virtual ~InsideAllocations() = default;
  virtual bool runs_in(std::int64_t allocation) const = 0;
  virtual void signalled(std::int64_t allocation, int signal) = 0;
  // The allocation is over, and with it all that runs there.
  virtual void killed(std::int64_t allocation) = 0;
};

class SimulatedSlurm : public slurm::SlurmCluster, public slurm::GateControl {
 public:
  SimulatedSlurm(Agenda& agenda, Oracle& oracle, SimulatedSlurmOptions options);

  void start();
  // No jobs of its users any more, and no faults; each node is back, and no administrator's drain
  // is left.
  void stop();
  // What its users do. A job in the open partition starts at once, on some node, and there is none
  // (0) without room for it; one at the gate waits.
  std::int64_t begin_open(int devices);
  std::int64_t begin_gated(int devices, bool may_requeue);
  // Without the gate: it starts once there is room for it on some node.
  std::int64_t submit_open(int devices, bool is_urgent);
  void user_cancels(std::int64_t id);
  // At the gate: they are numbered from 0, and wait as one job until somebody names them one by
  // one. `at_once`: of them; 0: all.
  std::int64_t begin_array(int tasks, int at_once, int devices);
  // scontrol hold and release of one that waits, and requeue of one that runs.
  void user_holds(std::int64_t id);
  void user_releases(std::int64_t id);
  void user_requeues(std::int64_t id);
  // An administrator's scancel of what the adapter holds.
  void administrator_cancels(std::int64_t id);
  // An administrator's drain, also of a node that the adapter has drained. It starts nothing there
  // until an administrator opens the node again, whoever drained it.
  void administrator_drains(const std::string& node);
  void administrator_opens(const std::string& node);
  // It hears nothing of the node: it starts nothing there. After SlurmdTimeout it takes the node
  // for down, and what runs there is over.
  void falls_silent(const std::string& node);
  void comes_back(const std::string& node);
  // Told of each allocation of the adapter that is about to meet its time limit.
  void on_limit(std::function<void(const slurm::JobSeen& job)> fn) { on_limit_ = std::move(fn); }
  // Whoever runs something there outlives this.
  void set_inside(InsideAllocations* inside) { inside_ = inside; }
  // scancel --signal of the adapter: what runs there gets it, and it stays.
  Result<void> signal(std::int64_t allocation, int signal);
  // Something else of the adapter's has failed.
  void count_trouble() { ++troubles_; }
  std::uint64_t jobs_begun() const { return jobs_begun_; }
  std::uint64_t gate_jobs_begun() const { return gate_jobs_begun_; }
  std::uint64_t placeholders_given() const { return given_; }
  std::uint64_t jobs_lost() const { return jobs_lost_; }  // with their nodes, ours and others
  std::uint64_t limits_met() const { return limits_met_; }
  std::uint64_t jobs_put_back() const { return put_back_; }
  std::uint64_t troubles() const { return troubles_; }  // commands that nobody answered
  // The name of an allocation that the adapter made and that is there, other than a standing fence
  // that holds something; "": none.
  std::string held_for_us() const;
  // A job that waited there, or has begun again, and has not ended; 0: each has.
  std::int64_t unfinished() const;
  // Allocations of the adapter, by id.
  std::vector<const slurm::JobSeen*> ours() const;
  const slurm::JobSeen* find_job(std::int64_t id) const;
  const std::vector<std::string>& nodes() const { return options_.nodes; }
  // Whether it could give that device there at once, with some of all else.
  bool has_room(const std::string& node, std::int32_t device) const;
  bool is_up(const std::string& node) const;
  std::uint32_t number_of(const std::string& node) const;
  // Among these cores, as the ledger numbers them.
  std::vector<int> threads_of(const std::vector<int>& cores) const;
  // A device or core that a task of ours uses on one of these nodes while neither its placeholder
  // nor a standing fence holds it.
  Oracle::Unheld not_held_for(const TaskFacts& task) const;
  std::int64_t now_s() const { return (options_.epoch_us + agenda_.now_us()) / 1'000'000; }

  // A process that has been killed, perhaps in the midst of its commands: none does anything until
  // there is a new one.
  bool caller_is_dead() const { return caller_is_dead_; }
  void set_caller_dead(bool dead) { caller_is_dead_ = dead; }

  Result<slurm::Observed> observe() override;
  Result<std::vector<slurm::JobSeen>> observe_jobs(
      const std::vector<slurm::NodeSeen>& nodes) override;
  Result<std::int64_t> ask(const slurm::Ask& ask) override;
  Result<void> release(std::int64_t job) override;
  Result<std::int64_t> warn(const std::string& handle) override;
  Result<void> requeue(const std::string& handle, const std::string& why) override;
  Result<void> suspend(std::int64_t job) override;
  Result<void> set_limit(std::int64_t job, std::int64_t limit_minutes) override;
  Result<void> set_drain(const std::string& node, const std::string& reason) override;

  Result<void> place(const std::string& handle, const slurm::GatePlacing& placing) override;
  Result<void> let_go(const std::string& handle) override;
  Result<void> put_back(const std::string& handle, const slurm::GatePutBack& one) override;
  Result<void> say(const std::string&, const std::string&) override { return {}; }
  // The same of both: what the gate and the adapter write is the administrator's comment.
  Result<void> mark(const std::string& handle, const std::string& text) override;

 private:
  struct Record {
    slurm::JobSeen seen;
    int devices_wanted = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t limit_minutes = 0;  // 0: none
    bool may_requeue = false;
    std::string node;                     // it may start there alone; "": anywhere
    std::vector<int> devices_asked = {};  // of the adapter's: these alone
    int cores_asked = 0;
    // Counts its starts and ends: what was planned for one is not another's.
    std::uint64_t turn = 0;
    std::uint64_t limits = 0;  // that it was given
    bool is_queued = false;    // it waits in the queue of the open partition
    bool is_user_held = false;
    std::int64_t held_us = 0;       // since then
    std::vector<int> tasks_left{};  // of an array, those that are not apart
    int tasks_at_once = 0;
    std::int64_t submitted_s = 0;
    std::int64_t not_before_us = 0;
    std::optional<TaskFacts> task;  // of the ledger, as which it runs
  };
  using Records = std::map<std::int64_t, Record>;
  struct Node {
    slurm::NodeSeen seen;
    std::string drained;         // why; "": it is not
    std::int64_t theirs_us = 0;  // since then by an administrator; 0: it is not
    bool is_silent = false;
    bool is_down = false;
    std::uint64_t silences = 0;
  };

  void next_job();
  std::vector<int> free_on(const std::string& node) const;
  std::vector<int> free_cores(const std::string& node) const;
  std::int64_t free_memory(const std::string& node) const;
  Node& node_named(const std::string& name);
  const std::string& any_node();
  std::vector<slurm::NodeSeen> nodes_seen() const;
  std::vector<slurm::JobSeen> jobs_seen() const;
  static bool is_ours(const Record& job);
  // What its users' job gets there; empty: there is no room.
  std::vector<int> room_for(const Record& job) const;
  std::optional<slurm::NodeAllocation> room_for_ask(const Record& job) const;
  void begin_asked(std::int64_t id);
  void user_acts(std::int64_t id);
  void write_word(std::int64_t id, bool holds) const;
  static void show_tasks(Record& job);
  // Null: there is no such task, or it is apart already.
  Record* take_out(std::int64_t array, int task);
  bool try_open(std::int64_t id);
  void look_at_queue_soon();
  void look_at_queue();
  bool starts_from_queue(Record& job);
  static void waits_for(Record& job, const char* reason);
  void try_start(std::int64_t id);
  void run(std::int64_t id, std::vector<int> devices);
  void set_end(Record& job, std::int64_t limit_minutes);
  void meet_limit(std::int64_t id);
  // Somebody else than the adapter has ended it: it holds nothing for our tasks any more.
  void take_away(std::int64_t id, const char* why, bool at_once = false);
  // It is there as long as processes in it end.
  void end_ours(std::int64_t id, bool at_once);
  void is_down(Node& node);
  void is_lost(std::int64_t id);
  void waits_again(Record& job);
  void starts_again(std::int64_t id);
  void is_at_end(Record& job, const char* state, int wait_status);
  void begin_holding(Record& job, slurm::NodeAllocation held);
  Record& new_job(int devices, bool may_requeue);
  // Whether it waits again when it has ended; kStarts: to start as soon as Slurm likes.
  enum class Requeue { kNo, kHeld, kStarts };
  // Its processes end by and by; then it is over, or waits again.
  void end(std::int64_t id, const char* state, int wait_status, Requeue requeue);
  void is_over(Record& record, int wait_status);
  TaskFacts facts_of(const Record& job) const;
  void in(std::int64_t delay_us, std::int64_t id, std::function<void()> then);
  // What a command meets: nothing, or the reason why it does nothing.
  Result<void> reached();
  Result<void> answered();
  Record* find(const std::string& handle);
  bool has_faults() const { return !stopped_ && options_.faults_percent > 0; }
  void fall_mute();

  Agenda& agenda_;
  Oracle& oracle_;
  const SimulatedSlurmOptions options_;
  Random random_;
  std::vector<Node> nodes_;
  Records jobs_;
  std::int64_t ids_ = 0;
  std::function<void(const slurm::JobSeen&)> on_limit_;
  InsideAllocations* inside_ = nullptr;
  bool lua_marks_ = true;        // else its job_submit.lua is of a former version
  bool gives_lowest_ = true;     // of the free devices, to jobs at the gate
  bool looks_at_queue_ = false;  // soon
  bool stopped_ = false;
  bool caller_is_dead_ = false;
  std::int64_t mute_until_us_ = 0;
  std::int64_t nodes_shown_us_ = 0;  // to the adapter
  std::int64_t looked_us_ = 0;       // when its last look began
  std::uint64_t jobs_begun_ = 0;
  std::uint64_t gate_jobs_begun_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t jobs_lost_ = 0;
  std::uint64_t limits_met_ = 0;
  std::uint64_t put_back_ = 0;
  std::uint64_t troubles_ = 0;
};

}  // namespace dove::sim
