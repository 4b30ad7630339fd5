#include "controller/batch_maker.h"

#include <fmt/format.h>

#include <algorithm>

#include "codec/record.h"
#include "controller/level_fit.h"
#include "core/admit/admit.h"
#include "core/queue/policy.h"
#include "core/state/apply.h"
#include "core/state/hash.h"
#include "model/incarnation.h"

namespace dove::controller {

void BatchMaker::begin(std::int64_t now_us) {
  now_before_ = ledger_.state().now;
  epoch_before_ = ledger_.state().epoch;
  const Instant at{std::max(now_us, now_before_.us)};
  batch_.number = BatchNumber(ledger_.last_batch().value + 1);
  batch_.epoch = epoch_;
  batch_.at = at;
  batch_.first_seq = Seq(ledger_.state().head.value + 1);
  ledger_.begin_batch(at, epoch_);
}

bool BatchMaker::begin_incarnation(const Cause& cause) {
  const core::State& state = ledger_.state();
  if (restored_s(epoch_) == restored_s(state.epoch)) return false;
  std::string why = fmt::format("the log ends at record {}: dove restore", state.head.value);
  const std::int64_t incarnation = state.incarnation + 1;
  begin(/*now_us=*/0);
  add(ClusterRestored{incarnation, std::move(why)}, cause);
  return true;
}

void BatchMaker::abandon() { ledger_.abandon_batch(now_before_, epoch_before_); }

void BatchMaker::add(Event event, const Cause& cause) {
  batch_.events.push_back(StampedEvent{std::move(event), cause});
  ledger_.apply(batch_.events.back());
}

Result<void> BatchMaker::admit(const Input& input, const StampedEvent& event,
                               Committed& answer) const {
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.event)) {
    TRY_ASSIGN(std::vector<std::string> warnings, core::admit(ledger_.state(), *submitted->spec));
    std::move(warnings.begin(), warnings.end(), std::back_inserter(answer.warnings));
    return {};
  }
  // What has happened is not asked for. Only who somebody is may be doubted.
  const bool happened = input.kind == InputKind::kReport || input.kind == InputKind::kFact;
  if (happened && !std::holds_alternative<NodeRegistered>(event.event)) return {};
  static const core::Policies none;
  return core::admit(ledger_.state(), options_.policies == nullptr ? none : *options_.policies,
                     event.event);
}

// What is declared together is checked in turn: a queue may name the parent before it.
Result<void> BatchMaker::admit_all(const Input& input, Committed& answer) const {
  const bool declares = input.events.size() > 1 &&
                        std::all_of(input.events.begin(), input.events.end(), [](const auto& one) {
                          return std::holds_alternative<ObjectApplied>(one.event);
                        });
  if (!declares) {
    for (const StampedEvent& event : input.events) TRY(admit(input, event, answer));
    return {};
  }
  core::State trial(ledger_.state());
  for (const StampedEvent& event : input.events) {
    TRY(core::admit(trial, *options_.policies, event.event));
    core::apply(trial, event);
  }
  return {};
}

// Only what a record can hold at the cluster's level is folded, so that the state is that of the
// log. What somebody asked for is refused rather than shortened.
Result<void> BatchMaker::fit_to_level(InputKind kind, StampedEvent& event) const {
  const std::int32_t level = ledger_.state().level;
  Result<void> fits = check_level(event, level);
  if (fits.ok() || (kind != InputKind::kReport && kind != InputKind::kFact)) return fits;
  event = codec::at_level(event, level);
  return {};
}

Result<Committed> BatchMaker::add(Input& input) {
  Committed answer;
  for (const StampedEvent& event : input.events) {
    if (!std::holds_alternative<JobSubmitted>(event.event)) continue;
    const Idempotency::Entry* before = ledger_.idempotency.find(event.cause);
    if (before == nullptr) continue;
    if (before->body_sha256 != event.cause.body_sha256) {
      return Error{ErrorKind::kConflict, "idempotency_key_reused",
                   "this Idempotency-Key came with another body before; take a new key for a new "
                   "submission",
                   "Idempotency-Key"};
    }
    answer.first_job = before->first_job;
    answer.jobs = before->jobs;
    // Warnings that the snapshot of a restart did not hold are those of now.
    answer.warnings =
        before->warnings.has_value()
            ? *before->warnings
            : core::submission_warnings(ledger_.state(), *std::get<JobSubmitted>(event.event).spec);
    answer.replayed = true;
    return answer;
  }
  // Without skips_refused all events are admitted before any is applied, so none needs undoing.
  if (!input.skips_refused) {
    for (StampedEvent& event : input.events) TRY(fit_to_level(input.kind, event));
    TRY(admit_all(input, answer));
  }
  for (StampedEvent& event : input.events) {
    if (input.skips_refused) {
      Result<void> admitted = fit_to_level(input.kind, event);
      if (admitted.ok()) admitted = admit(input, event, answer);
      if (!admitted.ok()) {
        if (!answer.first_refusal.has_value()) answer.first_refusal = admitted.error();
        continue;
      }
    }
    const bool is_job = std::holds_alternative<JobSubmitted>(event.event);
    batch_.events.push_back(event);
    const Ledger::Submitted submitted = ledger_.apply(batch_.events.back());
    ++answer.admitted;
    if (is_job && !answer.first_job) {
      answer.first_job = submitted.first;
      answer.jobs = submitted.jobs;
      ledger_.idempotency.keep_warnings(event.cause, answer.warnings);
    }
  }
  if (answer.admitted > 0) {
    for (const auto& blob : input.blobs) batch_.blobs.push_back(blob);
  }
  return answer;
}

void BatchMaker::begin_after_full() {
  Cause cause;
  cause.principal = "controller";
  for (const core::Node& node : ledger_.state().nodes) {
    const bool waits = node.contact == Contact::kBroken || node.contact == Contact::kSilent;
    if (waits && !node.removed) add(NodeDisconnected{node.id, /*silent=*/true}, cause);
  }
}

store::Batch BatchMaker::finish() {
  CHECK(!empty(), "a batch has an event");
  batch_.decisions = ledger_.decide();
  batch_.level = ledger_.state().level;
  batch_.decisions_digest = codec::digest_decisions(batch_.decisions, batch_.level);
  // More rarely the more jobs there are, so that the cost per batch does not grow with them.
  std::uint64_t every = options_.hash_every_batches;
  while (every > 1 && every < ledger_.state().jobs.size()) every *= 2;
  if (batch_.number.value % every == 0) {
    batch_.state_hash = core::state_hash(ledger_.state(), core::hash_level_of(batch_.level));
  }
  return std::move(batch_);
}

}  // namespace dove::controller
