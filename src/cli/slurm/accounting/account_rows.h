// The lines of sacct (one for a job, its batch script, or one of its steps), and the fields of such
// a line.
//
// Plain values; pure except for the local time zone and user database; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client/views.h"
#include "cli/slurm/accounting/exit_words.h"
#include "cli/slurm/columns.h"

namespace dove::cli {

struct AccountRow {
  const JobView* job = nullptr;  // must outlive the row
  bool is_step = false;
  std::string id, raw_id;  // "12_3.batch", "15.batch"
  std::string name, state;
  SlurmExit exit;
  std::vector<std::string> nodes;
  std::int64_t tasks = 0, cores = 0;
  std::int64_t start_us = 0, end_us = 0;  // 0: not yet
};

// The job, and with `steps` its batch script and steps behind it.
std::vector<AccountRow> account_rows(const JobView& job, bool steps);

// The fields of sacct as Slurm 22.05 lists them.
const std::vector<SlurmColumn>& account_columns();
// What a job's own page says and no list does: these need it.
bool needs_own_page(const std::string& column);

struct AccountContext {
  std::int64_t now_us = 0;
  std::string cluster;
};
// "" for what Dovetail does not measure, as Slurm prints it without a gatherer.
std::string account_field(const AccountRow& row, const std::string& column,
                          const AccountContext& context);

}  // namespace dove::cli
