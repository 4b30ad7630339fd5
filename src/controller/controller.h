// Controller: stamps events, steps the core, makes both durable, then has decisions carried out.
//
// One batch at a time on a thread of its own: drain what was submitted, stamp, admit, apply,
// decide, append in one transaction; only then publish, carry out, and complete. What arrives
// during an append is the next batch (group commit). It sleeps until somebody submits or the core's
// wake_at comes; there is no delay on the way of a single submission but the append itself.
//
// A full disk (kExhausted) undoes the batch: the state is read back from the log, everybody who
// waited is refused with `disk_full`, and work is taken again once there is room, when every node
// that is not connected gets a grace anew. What makes room (kRelief) is taken all the same where
// the log keeps some for it; a database does not. Any other failure to append ends the process
// through ControllerOptions::on_fatal: memory must never be ahead of the log.
//
// Life: construct, open(), subscribe(), start(), ..., stop(), and where controllers share a log
// open() again. open() to start() belong to one thread; submit(), refuse() and fatal_error() are
// thread-safe. A caller that controls time itself calls start_by_hand() in place of start(), and
// then work(): no thread, the same batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backends/backend.h"
#include "base/result.h"
#include "controller/input.h"
#include "controller/options.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "store/log_store.h"

namespace dove::controller {

class Controller {
 public:
  // All outlive the controller.
  Controller(store::LogStore& log, store::LogKeeper& keeper, backends::Backend& backend,
             ControllerOptions options);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Folds snapshot and log, verifies state hashes, begins an epoch, logs ControllerStarted. Errors:
  // kCorrupt, with place and remedy; `lease_held`: another leads; it has folded, call it again.
  // REQUIRES: not running.
  Result<void> open();
  // Thread-safe, as they never change.
  const core::Policies& policies() const;
  // As of open(), or after stop(). REQUIRES: not running.
  const core::State& state() const;
  // `observer` gets each batch in order, before its completions, on the controller's thread.
  // REQUIRES: not running.
  void subscribe(std::function<void(std::shared_ptr<const CommittedBatch>)> observer);
  // While another one leads, what open() folds: `whole` once everything was read, again until it
  // gives true, then each batch; `whole` anew when the log had to be read from its snapshot. On the
  // thread that calls open(). REQUIRES: not running.
  struct Following {
    std::function<bool(const core::State&)> whole;
    std::function<void(std::shared_ptr<const CommittedBatch>)> batch;
  };
  void on_following(Following calls);
  // Nobody is told from now on. REQUIRES: not running.
  void forget_observers();

  void start();
  // In place of start(): `wake` is called when there is something for work() to do at once, maybe
  // from within submit(). Everything then belongs to one thread, state() may be called at any time,
  // and to destroy the controller is to kill it: nobody is answered, nothing is written.
  void start_by_hand(std::function<void()> wake);
  // Makes one batch of what waits and is due, if anything. In how many microseconds time alone will
  // give it work. REQUIRES: start_by_hand(), not from within a callback of the controller.
  std::int64_t work();
  // Finishes the present batch, refuses what waits, writes a snapshot, joins the thread. Another
  // call waits for none of this. `at_once`: without the snapshot.
  void stop(bool at_once = false);

  void submit(Input input, Completion done);

  // From now on every input is refused with `why`: this log must not go on.
  void refuse(Error why);
  std::optional<Error> refusal() const;
  // What the log's disk lacks, and what is refused for it; none: nothing. Thread-safe.
  std::optional<Error> shortage() const;
  // About what the next batch would be stamped with: the time of the cluster, by which all that
  // ends at some instant is judged, whatever the machine's clock says (instants.h). Microseconds
  // UTC. Thread-safe, with a clock of the options as far as that is.
  std::int64_t now_us() const;
  // That the machine's clock leapt, and by how much; none: it runs evenly. Thread-safe.
  std::optional<Error> leap() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dove::controller
