// A job of an executor's users that waits for the ledger, as its adapter describes it, and the job
// of ours that stands for it.
//
// Include only from .cc files of this part. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "core/state/state.h"
#include "model/executor.h"
#include "model/resources.h"
#include "model/time.h"

namespace dove::server {

// Amounts are those of each of its nodes.
struct WaitingJob {
  std::string id;
  Instant submitted_at;
  std::int64_t restarts = 0;
  std::string user;  // a Linux user
  std::string account;
  std::string qos;
  std::int32_t nice = 0;  // more: later
  std::string name;
  std::string partition;
  std::int32_t nodes = 1;
  std::int32_t cores = 1;  // with all of their threads
  std::int32_t gpus = 0;
  std::string gpu_model;
  std::int64_t memory_bytes = 0;
  bool exclusive = false;         // whole nodes
  std::int64_t time_limit_s = 0;  // 0: none
  std::vector<std::string> features;
  std::vector<Countable> cluster_requests;  // licences
  std::string reservation;                  // of the executor's, that it is to run in; "": in none
  std::vector<std::string> nodes_wanted;
  std::vector<std::string> nodes_excluded;
  bool requeue = false;
  bool batch = false;
  bool hold = false;
};

// How many cores of ours each core of the executor's nodes is.
struct CoreThreads {
  std::int32_t least = 1;
  std::map<std::string, std::int32_t, std::less<>> of;  // by node; empty where all have the least
};
// Linear in the nodes.
CoreThreads threads_of_cores(const core::State& state, const std::string& executor);

void read_waiting_job(codec::JsonFields& fields, WaitingJob& job);

// Its user is the one of ours whose Linux user it is, its queue that of its QOS ("qos:NAME" in the
// executor's queues) or of its account, its pool the one of its partition's name, where there are
// such. kDenied: nobody of ours is that Linux user.
Result<codec::Submission> submission_of(const core::State& state, const Executor& executor,
                                        const WaitingJob& job, const CoreThreads& threads);

// The same for one that starts there by itself: it is of the level at which it could be put back
// again, which is that of its account's queue alone. kDenied: its account stands for none, or
// nothing makes room for its partition.
Result<codec::Submission> room_of(const core::State& state, const Executor& executor,
                                  const WaitingJob& job, const CoreThreads& threads);

}  // namespace dove::server
