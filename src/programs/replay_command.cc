// dove replay --verify DIR: decides again over a log and compares.
#include <fmt/format.h>

#include <cstdio>

#include "controller/replay.h"
#include "policies/standard.h"
#include "programs/commands.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "replay";
  spec.summary = "Decide again over a server's log and compare every decision";
  spec.group = "Programs";
  spec.operands = "DIR";
  spec.completes = "file";
  spec.operands_min = 1;
  spec.operands_max = 1;
  spec.description =
      "Reads DIR (the --data of a server, running or not), checks the hash chain, folds every "
      "event,\n"
      "decides again, and compares each decision and each recorded state hash; then it compares\n"
      "each blob and snapshot with its digest. Exits 0 when all are equal, else 1, with the first\n"
      "difference and everything that is damaged.";
  spec.options = {{"verify", 0, "", "compare (the default, and the only mode)", false},
                  {"output", 'o', "FORMAT", "text or json", false}};
  return spec;
}

int fail(const Error& error) {
  fmt::print(stderr, "dove replay: {}\n", error.message);
  return error.kind == ErrorKind::kCorrupt ? cli::kExitFailed : cli::exit_code(error);
}

void print_text(const controller::ReplayReport& report, const std::vector<Error>& damages) {
  const double cpu_s = static_cast<double>(report.cpu_us) / 1e6;
  fmt::print("records {}-{}: {} batches, {} events, {} decisions in {:.2f} CPU seconds\n",
             report.first.value, report.last.value, report.batches, report.events, report.decisions,
             cpu_s);
  fmt::print(
      "{} batches decided again, {} folded only (other policies); {} state hashes compared\n",
      report.verified_batches, report.unverified_batches, report.hashes_compared);
  fmt::print("state hash {:016x}\n", report.state_hash);
  if (!report.clean()) fmt::print("DIFFERENT: {}\n", *report.first_difference);
  for (const Error& damage : damages) fmt::print("DAMAGED: {}\n", damage.message);
  if (report.clean() && damages.empty()) {
    fmt::print("verified: every decision, blob and snapshot is as recorded\n");
  }
}

void print_json(const controller::ReplayReport& report, const std::vector<Error>& damages) {
  fmt::print(
      R"({{"batches":{},"events":{},"decisions":{},"verified_batches":{},"unverified_batches":{},)"
      R"("hashes_compared":{},"cpu_us":{},"state_hash":"{:016x}","damages":{},"clean":{}}})"
      "\n",
      report.batches, report.events, report.decisions, report.verified_batches,
      report.unverified_batches, report.hashes_compared, report.cpu_us, report.state_hash,
      damages.size(), report.clean() && damages.empty());
  if (!report.clean()) fmt::print(stderr, "{}\n", *report.first_difference);
  for (const Error& damage : damages) fmt::print(stderr, "{}\n", damage.message);
}

int run(const cli::Invocation& invocation) {
  auto store = store::SqliteStore::open(invocation.operands.front(), store::OpenMode::kReadOnly);
  if (!store.ok()) return fail(store.error());
  Result<Seq> forgotten = (*store)->forgotten_through();
  if (!forgotten.ok()) return fail(forgotten.error());
  std::optional<store::Snapshot> from;
  if (*forgotten) {  // the beginning is gone: begin at the snapshot that covers it
    Result<std::optional<store::Snapshot>> latest = (*store)->latest_snapshot();
    if (!latest.ok()) return fail(latest.error());
    from = std::move(*latest);
  }
  controller::ReplayOptions options;
  options.policies = &policies::standard_policies();
  options.policy_digest = policies::policy_digest(*options.policies);
  Result<controller::ReplayReport> report = controller::replay_verify(**store, from, options);
  if (!report.ok()) return fail(report.error());
  const Result<std::vector<Error>> damages = (*store)->damages();
  if (!damages.ok()) return fail(damages.error());
  if (invocation.get("output", "text") == "json") {
    print_json(*report, *damages);
  } else {
    print_text(*report, *damages);
  }
  return report->clean() && damages->empty() ? cli::kExitOk : cli::kExitFailed;
}

}  // namespace

cli::Command replay_command() { return {spec(), run}; }

}  // namespace dove::programs
