// ExecutorSyncs: the calls of executors' adapters, POST /v1/executors/{name}/sync. It distinguishes
// late calls from new ones, holds calls until another list is wanted, and notices silence.
//
// Nothing here outlives the process: after a restart each adapter is accepted as it comes. Loop
// thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/result.h"
#include "listener/call.h"
#include "listener/desk.h"
#include "model/executor.h"
#include "model/time.h"
#include "wire/loop.h"

namespace dove::server {

// The executor that the path names, if the caller speaks for it.
Result<const Executor*> executor_of(const core::State& state, const listener::Call& call);

class ExecutorSyncs {
 public:
  // So long after its last answer an adapter counts as silent.
  static constexpr Span kSilentAfter = seconds(30);

  explicit ExecutorSyncs(listener::Desk& desk);

  // An adapter begins to say what it sees; what it said before is outdated. Errors: kConflict
  // sync_late (a later number came before), adapter_replaced (another process has taken over).
  Result<void> begin(const std::string& executor, const std::string& incarnation,
                     std::uint64_t number);
  // Whether no complete report of the adapter's process was taken yet, in this epoch.
  bool is_new(const std::string& executor) const;
  void note_taken(const std::string& executor, const std::string& incarnation);
  // As begin(), for what waits there (gate_jobs.cc). Also kConflict sync_first: nothing was heard
  // of that process yet.
  Result<void> begin_waiting(const std::string& executor, const std::string& incarnation,
                             std::uint64_t number);
  // Answers once what is wanted is another list than `seen` stands for, or after `wait`.
  void answer(const std::string& executor, listener::CallPtr call, std::uint64_t seen, Span wait);

  void published();
  void close_all();

 private:
  struct Adapter {
    std::string incarnation;
    std::string taken;  // the incarnation whose complete report was taken last
    Epoch taken_in;
    std::uint64_t number = 0;
    std::uint64_t waiting_number = 0;  // of the last call about what waits
    std::deque<std::string> former;    // incarnations, the last few
    std::int64_t heard_us = 0;
    listener::CallPtr waiting;
    std::uint64_t seen = 0;
    wire::Timer deadline;
  };

  void reply(Adapter& adapter, const std::string& executor);
  void tell(const listener::CallPtr& call, const std::string& executor);
  void write(const listener::Call& call, const std::string& executor,
             const listener::Blobs::Found& blobs);
  void look();
  void watch();

  listener::Desk& desk_;
  const std::int64_t begun_us_;
  std::map<std::string, Adapter> adapters_;
  wire::Timer look_timer_;
  wire::Timer watch_timer_;
};

}  // namespace dove::server
