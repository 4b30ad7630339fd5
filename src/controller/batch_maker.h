// BatchMaker makes one batch: admits and applies events to the ledger, decides, and writes down
// what is to be appended. For the controller's thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "controller/input.h"
#include "controller/ledger.h"
#include "controller/options.h"

namespace dove::controller {

struct PendingInput {
  Input input;
  Completion done;
  std::optional<Result<Committed>> answer;  // once its batch is durable
};

class BatchMaker {
 public:
  BatchMaker(Ledger& ledger, const ControllerOptions& options, Epoch epoch)
      : ledger_(ledger), options_(options), epoch_(epoch) {}

  // Stamps the batch: `now_us`, or the last batch's instant if that is later.
  void begin(std::int64_t now_us);
  // True when the log was restored since its last batch (model/incarnation.h). ClusterRestored is
  // stamped with that batch's instant, so that the fold knows how long the log was away.
  bool begin_incarnation(const Cause& cause);
  // While nothing could be written, agents were told that the controller lives and counts on them
  // (docs/decisions/0002-fence.md): those that are not connected get a grace anew.
  void begin_after_full();
  // Applies what can be admitted. An error leaves nothing of the input in the batch.
  Result<Committed> add(Input& input);
  void add(Event event, const Cause& cause);
  bool empty() const { return batch_.events.empty(); }
  // Nothing was added: the ledger is as before begin().
  void abandon();
  // Decides. REQUIRES: !empty().
  store::Batch finish();

 private:
  Result<void> admit(const Input& input, const StampedEvent& event, Committed& answer) const;
  Result<void> fit_to_level(InputKind kind, StampedEvent& event) const;
  Result<void> admit_all(const Input& input, Committed& answer) const;

  Ledger& ledger_;
  const ControllerOptions& options_;
  Epoch epoch_;
  Instant now_before_;
  Epoch epoch_before_;
  store::Batch batch_;
};

}  // namespace dove::controller
