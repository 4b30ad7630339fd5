// dove sim: the simulator's commands.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "policies/standard.h"
#include "programs/commands.h"
#include "sim/fleet_log.h"
#include "store/sqlite/sqlite_store.h"

namespace dove::programs {
namespace {

cli::CommandSpec record_spec() {
  cli::CommandSpec spec;
  spec.name = "sim record";
  spec.summary = "Fill an empty log with the work of a simulated fleet";
  spec.group = "Programs";
  spec.operands = "DIR";
  spec.completes = "file";
  spec.operands_min = 1;
  spec.operands_max = 1;
  spec.description =
      "The real controller decides, in virtual time, over 1 000 simulated nodes of 8 GPUs with "
      "200\n"
      "submissions a second and 10 000 running jobs. `dove replay --verify DIR` reads the result.";
  spec.options = {{"events", 0, "COUNT", "stop after this number of events (1000000)", false}};
  return spec;
}

int run_record(const cli::Invocation& invocation) {
  sim::FleetOptions options;
  const std::string count = invocation.get("events", "1000000");
  const auto [end, error] =
      std::from_chars(count.data(), count.data() + count.size(), options.events);
  if (error != std::errc() || end != count.data() + count.size()) {
    fmt::print(stderr, "dove sim record: --events: '{}' is not a count\n", count);
    return cli::kExitUsage;
  }
  options.policies = &policies::standard_policies();
  options.policy_digest = policies::policy_digest(*options.policies);
  auto store = store::SqliteStore::open(invocation.operands.front(), store::OpenMode::kWrite);
  const Result<void> done =
      store.ok() ? sim::record_fleet(**store, **store, options) : Result<void>(store.error());
  if (done.ok()) return cli::kExitOk;
  fmt::print(stderr, "dove sim record: {}\n", done.error().message);
  return cli::exit_code(done.error());
}

}  // namespace

cli::Command sim_record_command() { return {record_spec(), run_record}; }

}  // namespace dove::programs
