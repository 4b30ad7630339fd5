// Explanations: answers for the waiting jobs of one State, which goes on changing between them.
//
// It follows the State (core/state/changes.h), so that an answer costs what is asked and not a look
// at every node. Nobody else may follow that State: it is a projection, which never decides. What
// it answers is what core/explain/explain.h answers of the State alone. Used from one thread.
#pragma once

#include <memory>
#include <vector>

#include "core/explain/other_sets.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

class ExplainIndex;

class Explanations {
 public:
  // `state` outlives this.
  explicit Explanations(State& state);
  ~Explanations();

  std::vector<Reason> explain(const Policies& policies, const Job& job);
  OtherSets other_sets(const Policies& policies, const Job& job);

  // To be called now and then where nobody may ask for long: what is noted of the State stays
  // small.
  void forget_much();

 private:
  ExplainIndex& index(const Policies& policies);

  State& state_;
  std::unique_ptr<ExplainIndex> index_;
};

}  // namespace dove::core
