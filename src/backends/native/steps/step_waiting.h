// StepWaiting: steps that wait for room inside their jobs, first come first served.
//
// Among equal steps without room only the first is examined, so a thousand steps of one loop cost
// as much as one. Loop thread only.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>

#include "backends/step.h"
#include "model/ids.h"
#include "wire/server.h"

namespace dove::backends {

struct WaitingStep {
  JobId job;
  AttemptNumber attempt = 0;
  StepRequest request;
  StepProgram program;
  std::shared_ptr<wire::Outflow> out;
};

class StepWaiting {
 public:
  enum class Outcome { kBegun, kBusy, kOver };
  using Begin = std::function<Outcome(const std::shared_ptr<WaitingStep>&)>;

  void add(std::shared_ptr<WaitingStep> step);
  // Its client has gone.
  void remove(const WaitingStep* step);
  // Offers those of the attempt, in order, to `begin`; who is not busy leaves.
  void look(JobId job, AttemptNumber attempt, const Begin& begin);
  void look_at_all(const Begin& begin);
  bool empty() const { return by_attempt_.empty(); }
  void close_all();

 private:
  // No further ones are looked at in a turn once this number of different ones had no room.
  static constexpr std::size_t kBusyMax = 64;
  using Attempt = std::pair<JobId, AttemptNumber>;
  std::map<Attempt, std::list<std::shared_ptr<WaitingStep>>> by_attempt_;
};

}  // namespace dove::backends
