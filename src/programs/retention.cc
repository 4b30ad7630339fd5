#include "programs/retention.h"

#include "devices/emulated/inventory_file.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kDaysMax = 36'500;
constexpr std::int64_t kDay_s = 24 * 3600;

}  // namespace

std::vector<cli::OptionSpec> log_retention_specs() {
  return {
      {"log-days", 0, "DAYS", "how long records of the log are kept (30)", false},
      {"log-records", 0, "COUNT", "about how many records are kept at most (5000000)", false},
  };
}

Result<LogRetention> log_retention(const Settings& given) {
  LogRetention kept;
  TRY_ASSIGN(const std::int64_t days, given.integer("log-days", 30, 1, kDaysMax));
  TRY_ASSIGN(const std::int64_t records,
             given.integer("log-records", 5'000'000, 1000, 1'000'000'000'000));
  kept.age_max = seconds(days * kDay_s);
  kept.records = static_cast<std::uint64_t>(records);
  return kept;
}

std::vector<cli::OptionSpec> output_retention_specs() {
  return {
      {"output-days", 0, "DAYS", "how long the output of ended attempts is kept (7)", false},
      {"output-max", 0, "AMOUNT", "how much of it is kept at most, the newest first (10Gi)", false},
  };
}

Result<agent::FinishedLimits> output_retention(const Settings& given) {
  agent::FinishedLimits limits;
  TRY_ASSIGN(const std::int64_t days, given.integer("output-days", 7, 1, kDaysMax));
  TRY_ASSIGN(const Inventory sized,
             devices::emulated::parse_inventory("memory: " + given.text("output-max", "10Gi"),
                                                "--output-max"));
  if (sized.memory_bytes <= 0) {
    return Error{ErrorKind::kInvalid, "bad_setting",
                 "--output-max: give an amount of bytes, such as 10Gi", "--output-max"};
  }
  limits.age_max_s = days * kDay_s;
  limits.bytes_max = sized.memory_bytes;
  return limits;
}

std::vector<std::string> output_retention_flags(const Settings& given) {
  std::vector<std::string> flags;
  for (const cli::OptionSpec& option : output_retention_specs()) {
    if (given.has(option.name)) {
      flags.insert(flags.end(), {"--" + option.name, given.text(option.name, "")});
    }
  }
  return flags;
}

}  // namespace dove::programs
