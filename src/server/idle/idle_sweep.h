// IdleSweep: checks periodically which running jobs are idle by their rules, and records changes
// (IdleObserved, IdleEnded). The core decides what follows.
//
// It knows what people's connections, the nodes and the apps have reported; core/idle judges. A job
// about which something cannot be read is passed over and reported in the log, once. After a
// restart input is counted from then on, and warnings that were given stand. Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/idle/judge.h"
#include "model/event.h"
#include "model/exec.h"
#include "server/context.h"
#include "wire/loop.h"

namespace dove::server {

class IdleSweep {
 public:
  // Begins to look. REQUIRES: `context` outlives it.
  explicit IdleSweep(Context& context);

  // What has changed by `now`; each is told once in a second at most.
  std::vector<Event> look(Instant now);

 private:
  void look_again();
  Result<void> look_at(const core::Job& job, Instant now, std::vector<Event>& found);
  core::IdleFacts facts_of(const core::Job& job, const IdleRule& rule, const AppSpec& app,
                           Instant now) const;

  Context& context_;
  const Instant begun_;
  std::map<JobId, Instant> told_;
  std::set<JobId> unreadable_;  // that were logged
  wire::Timer timer_;
};

// When somebody was seen to use the session last; 0: never since the server started. `app` is its
// app, `use` what nodes report about it.
Instant last_input_of(const Context& context, const core::Job& job, const AppSpec& app,
                      const backends::JobUse& use);

// "nobody uses it: no input for 1 h (limit 1 h); by the rule all it is stopped at …"; "": it is not
// idle.
std::string idle_text(const core::State& state, const core::Job& job);

}  // namespace dove::server
