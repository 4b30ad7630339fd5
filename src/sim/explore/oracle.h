// Oracle: what truly happened, against what the system says of it; keeps the first contradiction.
//
// It sees the physical world (which tasks run where, told by the machines), what clients were
// promised, and each batch as soon as it is durable, and trusts nothing else. Checked at once: no
// task starts without a durable launch, none of a job runs while one of another attempt does, no
// core, device or byte is in use twice or held by nobody beside us, no place is given twice or on a
// drained or unreachable node, dependencies, time limits and retries are kept, an outcome is what
// the tasks did, a submission has happened once. Where there are several controllers: once a term
// has begun, no batch of a former one becomes durable, and its controller answers nobody. One
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"
#include "sim/explore/agenda.h"
#include "sim/explore/trace.h"
#include "store/log_store.h"

namespace dove::sim {

// A task as the machine runs it.
struct TaskFacts {
  std::uint32_t node = 0;  // NodeId
  std::uint64_t job = 0;
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  std::vector<std::int32_t> cores;
  std::vector<std::int32_t> devices;
  std::int32_t share_milli = 1000;  // of each device
  std::int64_t memory_bytes = 0;    // of a job of a scheduler beside us
  // As this job of a scheduler beside us it runs: an executor's start may come as late as its place
  // is taken back, and is then undone. 0: an agent runs it.
  std::uint64_t foreign = 0;
  // A scheduler beside us runs it in what it holds for it, on cores of its own choice.
  bool is_beside = false;
};

class Oracle {
 public:
  // Writes durable batches to `trace`.
  Oracle(Trace& trace, const Agenda& agenda, std::uint64_t check_every)
      : trace_(trace), agenda_(agenda), every_(check_every) {}

  // The part of a task that starts that nobody holds in a scheduler beside us; "": nothing. Among
  // several a device.
  struct Unheld {
    std::string what;
    bool is_core = false;
  };
  using FindUnheld = std::function<Unheld(const TaskFacts& task)>;
  void set_beside(FindUnheld unheld) { unheld_ = std::move(unheld); }

  void task_started(std::int64_t at_us, const TaskFacts& task);
  void task_over(const TaskFacts& task, const TaskExit& exit);
  // A scheduler beside us gave cores, devices and memory to a job of its own (TaskFacts::foreign).
  void foreign_started(const TaskFacts& task);
  void foreign_over(const TaskFacts& task);
  // The ledger knows all that it ran at that instant.
  void told_of_foreign(std::int64_t at_us) { told_us_ = at_us; }
  // What the ledger gives a job that waits in a scheduler beside us, which starts it there by
  // itself: until that attempt has ended.
  struct Room {
    std::uint64_t job = 0;
    std::uint32_t attempt = 0;
    std::uint64_t foreign = 0;  // that scheduler's job
    std::uint32_t node = 0;
    std::vector<std::int32_t> devices;
  };
  std::vector<Room> rooms() const;
  std::uint64_t rooms_given() const { return rooms_given_; }
  std::uint64_t rooms_taken() const { return rooms_taken_; }
  // What held there for tasks of the job, in a scheduler beside us, was ended by neither us nor it:
  // until its next attempt it may give to others what they have. 0: for all that are there now.
  void hold_lost(std::uint32_t node, std::uint64_t job);
  // The devices of such jobs that run there, by job.
  std::map<std::uint64_t, std::vector<std::int32_t>> unguarded_devices(std::uint32_t node) const;
  bool runs_there(std::uint32_t node, std::uint64_t job) const;
  // Nothing can be held any more for that attempt.
  bool has_ended(std::uint64_t job, std::uint32_t attempt) const;
  void note(std::string what) { trace_.add(agenda_.now_us(), std::move(what)); }
  // Each node has this much, which all that runs there shares.
  void set_memory(std::int64_t bytes) { memory_bytes_ = bytes; }
  // `state` is after the batch, with its decisions.
  void durable(const store::Batch& batch, const core::State& state);
  // A client was told that its submission under `key` is job `id`.
  void acknowledged(const std::string& key, std::uint64_t id);
  // From now on there is a controller, which can stop what is over its limit.
  void controller_started() { controller_since_us_ = agenda_.now_us(); }
  // A term has begun: no other one's batches become durable, and nobody else answers.
  void term_begun(Epoch epoch) { newest_epoch_ = epoch; }
  // The controller of that term takes a request.
  void answers(const std::string& controller, Epoch epoch);
  void cancel_asked(std::uint64_t job) { cancels_.insert(job); }
  // A controller has read its log back.
  void recovered(const core::State& state, std::uint64_t hash_before);
  // Now and then: what should have happened by now.
  void look_around(const core::State& state, const core::Policies& policies);
  // At the end, after days without new work or faults.
  void finished(const core::State& state, const core::Policies& policies);

  void fail(std::string what);
  const std::optional<std::string>& broken() const { return broken_; }
  std::uint64_t ended(Outcome outcome) const;
  std::uint64_t jobs() const { return next_job_ - 1; }
  std::uint64_t launches() const { return launches_; }
  std::uint64_t batches() const { return batches_; }
  // Over all batches: equal runs have equal ones.
  std::uint64_t fingerprint() const { return fingerprint_.value(); }
  std::uint64_t full_checks() const { return full_checks_; }
  std::uint64_t tasks_started() const { return tasks_started_; }
  std::uint64_t tasks_fenced() const { return tasks_fenced_; }
  std::uint64_t tasks_running() const;
  std::uint64_t limits_met() const { return limits_met_; }
  std::int64_t limits_late_us() const { return limits_late_us_; }

 private:
  struct Attempt {
    std::map<std::uint32_t, std::int64_t> nodes;  // and the memory that it was given there
    std::uint32_t tasks = 0;
    std::set<std::pair<std::uint32_t, std::uint32_t>> started;  // (rank, node)
    std::uint32_t live = 0;
    std::uint32_t ended_well = 0;
    std::int64_t started_us = 0;  // its first task
    bool is_beside = false;       // a scheduler beside us runs it
    Epoch started_in;             // whose term that was; 0: there is one controller
    std::int64_t over_us = 0;     // its last task that ran
  };
  using Key = std::pair<std::uint64_t, std::uint32_t>;  // job, attempt
  // The part of a node that is in use: by job, by how many of its tasks, and how much of it.
  struct User {
    int tasks = 0;
    std::int32_t milli = 0;
    bool is_beside = false;
  };
  using InUse = std::map<std::int32_t, std::map<std::uint64_t, User>>;
  // By node and id: jobs of a scheduler beside us.
  using Foreign = std::map<std::pair<std::uint32_t, std::int32_t>, std::uint64_t>;

  // What a job has of a node's memory.
  struct Share {
    int tasks = 0;
    std::int64_t bytes = 0;
  };
  bool is_unguarded(std::uint32_t node, std::uint64_t job) const {
    return unguarded_.count({node, job}) != 0;
  }
  // What lost its hold gets other cores at its next one than it runs on, and so does whoever is
  // given its own; then cores of ours are held for others of ours, or for nobody, until they end.
  void forget_lost_holds(std::uint64_t job);
  bool has_loose_cores(std::uint32_t node, std::uint64_t job) const {
    return is_unguarded(node, job) || loose_.count({node, job}) != 0;
  }
  bool has_loose_cores(std::uint32_t node) const;
  void check_held(const TaskFacts& task);
  void use_memory(const TaskFacts& task, std::int64_t bytes);
  void check_memory(std::uint32_t node, const std::string& who);
  void use(InUse& used, std::int32_t id, std::int32_t milli, const TaskFacts& task,
           const char* what);
  static void leave(InUse& used, std::int32_t id, std::uint64_t job);
  void check_foreign(const Foreign& foreign, std::int32_t id, const TaskFacts& task,
                     const char* what);
  void use_foreign(Foreign& foreign, const InUse& used, std::int32_t id, const TaskFacts& task,
                   const char* what);
  void foreign_task_started(const TaskFacts& task);
  void check_foreign_devices(const core::Job& job);
  void confirmed(const PlaceholderMoved& moved, const core::State& state);
  void event_is_durable(const StampedEvent& event);
  void check_given(const Launch& launch);
  void keep_room(const Launch& launch, const core::State& state);
  void forget_rooms(std::uint64_t job);
  void launched(const Launch& launch, const store::Batch& batch, const core::State& state);
  void check_dependencies(const core::Job& job, const core::State& state);
  void stopped(const Stop& stop, const core::State& state);
  void check_time_limit(const core::Job& job, Span limit);
  void requeued(const Requeue& again, const core::State& state);
  void job_ended(const EndJob& end, const core::State& state);
  void check_books(const core::State& state);

  Trace& trace_;
  const Agenda& agenda_;
  FindUnheld unheld_;
  const std::uint64_t every_;  // batches between two checks of all books
  std::optional<std::string> broken_;
  std::map<Key, Attempt> attempts_;  // of jobs that are not over
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint32_t>> live_;  // job, attempt: tasks
  std::map<std::uint32_t, InUse> cores_in_use_;                           // by node
  std::map<std::uint32_t, InUse> devices_in_use_;
  std::map<std::uint32_t, std::map<std::uint64_t, Share>> memory_in_use_;  // by node and job
  std::map<std::uint32_t, std::map<std::uint64_t, std::int64_t>> foreign_memory_;
  std::int64_t memory_bytes_ = 0;                                // 0: it is not looked at
  std::set<std::pair<std::uint32_t, std::uint64_t>> unguarded_;  // node, job
  std::set<std::pair<std::uint32_t, std::uint64_t>> loose_;      // of jobs: node, job
  Foreign foreign_devices_;
  Foreign foreign_cores_;
  std::map<std::uint64_t, std::int64_t> foreign_since_us_;
  std::int64_t told_us_ = -1;  // -1: nothing
  std::map<Key, Room> rooms_;
  std::uint64_t rooms_given_ = 0;
  std::uint64_t rooms_taken_ = 0;
  std::map<Key, TaskFacts> foreign_tasks_;     // that run, as the ledger has launched them
  std::map<std::string, std::uint64_t> keys_;  // durable submissions
  std::set<std::uint64_t> acknowledged_;       // and not over
  std::map<std::uint64_t, Outcome> outcomes_;  // of jobs that have ended
  std::set<std::uint64_t> over_;               // all that ever have
  std::set<std::uint64_t> cancels_;
  std::map<std::uint64_t, std::set<std::uint32_t>> own_failures_;  // job, attempts
  std::map<Outcome, std::uint64_t> ended_;
  Digest fingerprint_;
  std::uint64_t next_job_ = 1;
  std::uint64_t batches_ = 0;
  std::uint64_t launches_ = 0;
  std::uint64_t full_checks_ = 0;
  std::uint64_t tasks_started_ = 0;
  std::uint64_t tasks_fenced_ = 0;
  std::uint64_t limits_met_ = 0;
  std::int64_t limits_late_us_ = 0;
  std::int64_t controller_since_us_ = 0;
  Epoch newest_epoch_;
  Epoch last_epoch_;  // of the last durable batch
};

}  // namespace dove::sim
