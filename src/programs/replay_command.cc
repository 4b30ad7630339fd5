// dove replay --verify DIR | --store URL: decides again over a log and compares.
#include <fmt/format.h>

#include <cstdio>

#include "controller/replay.h"
#include "policies/standard.h"
#include "programs/commands.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "replay";
  spec.summary = "Decide again over a server's log and compare every decision";
  spec.group = "Programs";
  spec.operands = "[DIR]";
  spec.completes = "file";
  spec.operands_max = 1;
  spec.description =
      "Reads the log in DIR (the --data of a server, running or not), or in the database of\n"
      "several controllers, and writes nothing. Checks the hash chain, folds every event, decides\n"
      "again, and compares each decision and each recorded state hash; then it compares each blob\n"
      "and snapshot with its digest. Exits 0 when all are equal, else 1, with the first "
      "difference\n"
      "and everything that is damaged.";
  spec.options = {{"verify", 0, "", "compare (the default, and the only mode)", false},
                  {"store", 0, "URL", "PostgreSQL of several controllers (postgres://...)", false},
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

// Which snapshot the log has to be folded from; none: from its beginning, which is there.
Result<std::optional<store::Snapshot>> begins_at(store::LogStore& log, store::LogKeeper& keeper) {
  const Result<void> first = log.read(Seq{}, [](const store::Batch&) { return false; });
  if (first.ok()) return std::optional<store::Snapshot>();
  if (first.error().code == "records_forgotten") return keeper.latest_snapshot();
  return first.error();
}

template <class Store>
int verify(Result<std::unique_ptr<Store>> store, bool as_json) {
  if (!store.ok()) return fail(store.error());
  const auto from = begins_at(**store, **store);
  if (!from.ok()) return fail(from.error());
  controller::ReplayOptions options;
  options.policies = &policies::standard_policies();
  options.policy_digest = policies::policy_digest(*options.policies);
  const Result<controller::ReplayReport> report =
      controller::replay_verify(**store, *from, options);
  if (!report.ok()) return fail(report.error());
  const Result<std::vector<Error>> damages = (*store)->damages();
  if (!damages.ok()) return fail(damages.error());
  as_json ? print_json(*report, *damages) : print_text(*report, *damages);
  return report->clean() && damages->empty() ? cli::kExitOk : cli::kExitFailed;
}

int run(const cli::Invocation& invocation) {
  const std::string url = invocation.get("store", "");
  if (invocation.operands.empty() == url.empty()) {
    fmt::print(stderr, "dove replay: name one log: a server's --data directory, or --store URL\n");
    return cli::kExitUsage;
  }
  const bool as_json = invocation.get("output", "text") == "json";
  if (url.empty()) {
    const std::string& directory = invocation.operands.front();
    return verify(store::SqliteStore::open(directory, store::OpenMode::kReadOnly), as_json);
  }
  store::PostgresOptions options;
  options.url = url;
  options.only_reads = true;
  return verify(store::PostgresStore::open(std::move(options)), as_json);
}

}  // namespace

cli::Command replay_command() { return {spec(), run}; }

}  // namespace dove::programs
