// LogReplay: decides again over all that was logged since it was last asked. One thread.
#pragma once

#include <optional>
#include <string>

#include "core/queue/policy.h"
#include "store/log_store.h"

namespace dove::sim {

class LogReplay {
 public:
  // `policies` outlive it.
  explicit LogReplay(const core::Policies& policies) : policies_(policies) {}
  // "": the decisions are those that were logged.
  std::string difference(store::LogStore& log, store::LogKeeper& keeper);

 private:
  const core::Policies& policies_;
  std::optional<store::Snapshot> verified_;
};

}  // namespace dove::sim
