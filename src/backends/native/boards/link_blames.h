// Which ranks of running jobs blame one another for a failed collective, as their agents report,
// and the resulting votes against links.
//
// The log gets one vote for each pair of nodes, from each end, once in an attempt, and kBlames_max
// in an attempt altogether: more would not change what is suspected. In memory only; a vote that is
// repeated after a restart changes nothing in the ledger but the time. Loop thread only.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/state/state.h"
#include "model/event.h"
#include "protocol/reports.h"

namespace dove::backends {

class LinkBlames {
 public:
  static constexpr std::size_t kBlames_max = 64;

  // What is new in what `node` said. Nothing counts that is about an attempt that does not run
  // there, comes from a rank that is elsewhere, or names a rank that is not on another node of the
  // attempt.
  std::vector<Event> take(const core::State& state, NodeId node, const protocol::Progress& said);
  // A decision that was just folded: the attempt is over with it.
  void decided(const Decision& decision);

 private:
  struct Told {
    AttemptNumber attempt = 0;
    std::set<std::pair<NodeId, NodeId>> links;  // from, to
  };
  std::map<JobId, Told> jobs_;
};

}  // namespace dove::backends
