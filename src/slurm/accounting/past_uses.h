// PastUses: what Slurm ran while the ledger did not hear of it, queried from its accounting (sacct)
// interval by interval.
//
// An interval is a day, or less where a day has too many jobs. Its result goes with the next
// report, and with each one after that until the ledger asks for another. Where there is no
// accounting, nothing ended. Blocks for as long as sacct takes, at most once a report. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "slurm/accounting/ended_jobs.h"
#include "slurm/accounting/sacct.h"
#include "slurm/sync.h"

namespace dove::slurm {

// What ended longer ago is not looked up.
inline constexpr std::int64_t kPastMax_s = std::int64_t{30} * 86'400;
// slurmctld hands its records on within this, unless slurmdbd is away.
inline constexpr std::int64_t kAccounted_s = 15;
// In one part, as the controller takes them.
inline constexpr std::size_t kPastJobsMax = 5'000;

class PastUses {
 public:
  using Sync = std::function<Result<SyncAnswer>(const SyncRequest& request)>;
  // `cluster`: whose placeholders and fences are nobody's use. `run`: how a command is run, for
  // tests; else run_command().
  explicit PastUses(std::string cluster, RunCommand run = {});

  // The report with what is known of the past, and then asks for more if the answer wants it.
  Result<SyncAnswer> sync(const SyncRequest& request, const Sync& sync, std::int64_t now_s);

 private:
  void look(const SyncAnswer& answer, std::int64_t now_s);
  void refused(const Error& error);
  void ask(const Unwatched& wanted, const std::vector<std::string>& nodes, std::int64_t now_s);
  Result<std::vector<PastUse>> ended_in(Instant from, Instant until,
                                        const std::vector<std::string>& nodes) const;
  // What the accounting says about what ended in that time, and a little more.
  Result<std::string> accounted(Instant from, Instant until) const;
  void fail(const Error& error, PastPart part, std::int64_t now_s);
  bool is_ours(const std::string& name) const;

  const std::string cluster_;
  RunCommand run_;
  std::optional<PastPart> part_;
  std::int64_t window_s_;
  std::int64_t again_s_ = 0;  // when it is asked again
  std::int64_t pause_s_ = 0;  // before that; twice the one before while there is no answer
  std::string trouble_;
};

}  // namespace dove::slurm
