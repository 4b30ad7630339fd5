// Explanations: answers for the waiting jobs of one State, which keeps changing between them.
//
// It follows the State (core/state/changes.h), so the cost of an answer depends on the question,
// not on the number of nodes. Nobody else may follow that State: it is a projection, which never
// decides. Its answers are those of core/explain/explain.h on the State alone. Used from one
// thread.
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
