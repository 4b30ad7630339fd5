// Reading the Philly trace.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/traces/csv_table.h"
#include "sim/traces/decimal.h"
#include "sim/traces/queue_accounts.h"

namespace dove::sim {
namespace {

// Days since 1970-01-01 of the proleptic Gregorian calendar; the year begins in March, so that the
// leap day is its last.
std::int64_t days_of(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2;
  const std::int64_t before = year * 365 + year / 4 - year / 100 + year / 400;
  const std::int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return before + in_year - 719'468;
}

// "2017-10-09 07:01:55" as seconds since 1970; -1 when it is not of that form.
std::int64_t instant_s(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd";
  if (text.size() != kForm.size()) return -1;
  std::int64_t parts[6] = {};
  std::size_t part = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd') {
      if (!is_digit) return -1;
      parts[part] = parts[part] * 10 + (text[i] - '0');
    } else {
      if (text[i] != kForm[i]) return -1;
      ++part;
    }
  }
  const auto [year, month, day, hour, minute, second] = parts;
  const bool good = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= 31 &&
                    hour < 24 && minute < 60 && second <= 60;
  return good ? days_of(year, month, day) * 86'400 + hour * 3600 + minute * 60 + second : -1;
}

bool is_word(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

Result<QueueTrace> read_philly(const std::string& path) {
  TRY_ASSIGN(const CsvTable table, CsvTable::read(path));
  TRY_ASSIGN(const std::size_t timestamp, table.column("timestamp"));
  TRY_ASSIGN(const std::size_t duration, table.column("duration"));
  TRY_ASSIGN(const std::size_t gpus, table.column("num_gpus"));
  TRY_ASSIGN(const std::size_t cluster, table.column("cluster"));
  QueueTrace trace;
  trace.accounts_are_queues = true;
  QueueAccounts accounts;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    QueueJob job;
    const std::int64_t at_s = instant_s(table.field(row, timestamp));
    if (at_s < 0) {
      return table.error(row, timestamp,
                         fmt::format("timestamp is '{}'; write it as 2017-10-09 07:01:55",
                                     table.field(row, timestamp).substr(0, 40)));
    }
    job.submitted_at = Instant{} + seconds(at_s);
    TRY_ASSIGN(job.run.us, decimal(table, row, duration, 1'000'000, 0, kQueueTimeMax_s));
    TRY_ASSIGN(job.gpus, table.number(row, gpus, 0, kQueueGpusMax));
    TRY_ASSIGN(const std::string_view name, table.name(row, cluster));
    if (!is_word(name)) {
      return table.error(row, cluster,
                         "cluster has other than letters, digits and -_. in its name; rename it");
    }
    job.account = accounts.number(trace, name);
    job.limit = job.run;
    if (job.gpus == 0 || job.run.us == 0) {
      ++trace.left_out;
    } else {
      trace.jobs.push_back(job);
    }
  }
  return finished_trace(std::move(trace), path);
}

}  // namespace dove::sim
