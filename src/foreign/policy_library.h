// PolicyLibrary: an order and a score that come from a shared library (api/dove/policy.h).
//
// The adapter between the C interface and the core's: what comes in is checked once, when the
// library is loaded, and what comes out is cut to its range. A library is code that runs as the
// server: only files that nobody but root and the server's user can write are loaded. Its answers
// are logged as decisions like all others; its name carries a digest of the file, so that a replay
// without it, or with another one, counts what was decided as unverified.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/queue/policy.h"

namespace dove::foreign {

class PolicyLibrary {
 public:
  // Never unloaded. Errors name the file and the remedy: not absolute, not safe, not loadable,
  // another version, a name that is no name or is among `known`.
  static Result<std::unique_ptr<PolicyLibrary>> load(const std::string& path,
                                                     const core::Policies& known);
  ~PolicyLibrary();

  const std::string& name() const;
  const core::OrderPolicy* order() const;  // null: it ranks no jobs; lives as long as this
  const core::ScorePolicy* score() const;  // null: it scores no nodes; lives as long as this

 private:
  struct Impl;
  explicit PolicyLibrary(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// `own` with what the libraries add. They and `own` must outlive it.
core::Policies with_libraries(const core::Policies& own,
                              const std::vector<std::unique_ptr<PolicyLibrary>>& libraries);

}  // namespace dove::foreign
