// Goodput: accounting of GPU time: how allocated GPU time was spent. A restart continues
// from what the previous process saved, and from what the ledger has about attempts that ended
// since.
//
// The time of an ended attempt is useful from the start of its tasks to their end if they
// succeeded, else up to the last checkpoint that it reported. The rest is lost, by the reason for
// its end; the time before the start is lost to "preparing". Free devices count as "unavailable"
// (the device or its node is closed, drained or away), as "idle_while_waiting" when jobs wait, or
// as "idle". The unit is GPU microseconds in thousandths of a GPU; a large cluster has more of them
// than an int64 can count. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/state/state.h"
#include "model/event.h"
#include "telemetry/exposition.h"

namespace dove::listener {

class Goodput {
 public:
  // A decision that was just folded into `state`.
  void decided(const core::State& state, const Decision& decision);
  // Takes up what keep() gave ("" : nothing was kept), and what `state` has of attempts that ended
  // later. Nodes that `state` does not have (an older log was put back) are left out. False: it
  // could not be read, and was passed over. REQUIRES: nothing was counted yet.
  bool restore(const core::State& state, const std::string& kept);
  // All that was counted up to `state`, as JSON: rows of cause, user, queue and amount, and of
  // node, cause and amount.
  std::string keep(const core::State& state) const;

  // Counts the time since the last call; the first call only begins. `now_us` never goes back.
  // Looks at every node: to be called every few seconds.
  void passed(const core::State& state, std::int64_t now_us);
  // Adds "goodput" to the job's object: GPU seconds of its attempts that ended, useful and by cause
  // lost; null when there are none. "yield" is its old name.
  static void show(const core::Job& job, nlohmann::json& object);
  // As counters of GPU seconds: by cause, user and queue, of those users whom `shows` lets through
  // ("": what nobody held); and by cause and node. Each has its old name, dove_yield_…, as well.
  using ShowsUser = std::function<bool(const std::string& user)>;
  void add_to(telemetry::Exposition& out, const core::State& state, const ShowsUser& shows) const;

  // Thousandths of GPU microseconds, all users and queues; for tests.
  std::int64_t total(const std::string& cause) const;

 private:
  using ByNode = std::map<std::pair<NodeId, std::string>, double>;
  struct Gpu {
    std::size_t device = 0;  // index into the inventory
    bool is_lost = false;
  };
  // A node's GPUs that no attempt held.
  struct Unallocated {
    std::shared_ptr<const Inventory> inventory;  // that `gpus` are of
    std::vector<Gpu> gpus;
    double idle = 0;
    double idle_while_waiting = 0;
    double unavailable = 0;
  };

  void count(const core::Job& job, const core::Attempt& attempt);
  void read(const core::State& state, const nlohmann::json& kept);
  static void find_gpus(const core::Node& node, Unallocated& unallocated);
  ByNode all_by_node() const;
  void add_families(telemetry::Exposition& out, const core::State& state, const ShowsUser& shows,
                    const std::string& prefix, const std::string& warning) const;

  std::map<std::tuple<std::string, std::string, std::string>, double> by_user_;
  ByNode by_node_;                         // of attempts, and what was restored
  ById<NodeId, Unallocated> unallocated_;  // since the process began
  std::int64_t passed_us_ = 0;             // at the last call of passed(); 0: there was none
};

}  // namespace dove::listener
