// dove usage: who held how many GPU hours and core hours.
#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/views.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"
#include "wire/http.h"

namespace dove::cli {
namespace {

using nlohmann::json;

Result<std::string> target_of(const Invocation& invocation) {
  const std::string given = invocation.get("since", "7d");
  const std::optional<std::int64_t> since_us = parse_span_us(given);
  if (!since_us || *since_us < 1'000'000) {
    return Error{ErrorKind::kInvalid, "bad_option",
                 fmt::format("--since={} is not a length of time such as 12h or 30d", given), ""};
  }
  return fmt::format("/v1/usage?by={}&seconds={}&limit=1000",
                     wire::percent_encode(invocation.get("by", "user")), *since_us / 1'000'000);
}

Result<int> run_usage(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(const std::string target, target_of(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.get(target));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  std::string by = text_of(answer, "by");
  for (char& letter : by) letter = static_cast<char>(std::toupper(letter));
  Table table({{by}, {"GPU HOURS", true}, {"CORE HOURS", true}, {"JOBS", true}});
  for (const json& row : list_of(answer, "rows")) {
    const std::string name = text_of(row, "name");
    table.add({{name.empty() ? "-" : name, ""},
               {fmt::format("{:.1f}", row.at("gpu_hours").get<double>()), ""},
               {fmt::format("{:.1f}", row.at("core_hours").get<double>()), ""},
               {std::to_string(number_of(row, "jobs")), ""}});
  }
  print(table.text(colours_on()));
  const std::int64_t complete_us = number_of(answer, "complete_from_us");
  if (complete_us > number_of(answer, "from_us")) {
    say(fmt::format("what jobs held before {} may be missing", zoned_text(complete_us)));
  }
  return kExitOk;
}

}  // namespace

std::vector<Command> usage_commands() {
  CommandSpec usage;
  usage.name = "usage";
  usage.summary = "Show who held how many GPU hours and core hours";
  usage.group = "People";
  usage.description =
      "Counts from when a job got its devices and cores until its attempt had ended, whatever\n"
      "the job did with them (`dove use` shows that). It counts the jobs that you may see,\n"
      "including those that the cluster has forgotten: their use is kept per UTC day for 400\n"
      "days.";
  usage.options = {{"by", 0, "WHAT", "user, project, domain or queue (user)"},
                   {"since", 0, "TIME", "how far back: 12h, 7d, 30d (7d)"},
                   output_option()};
  return {{usage, guarded("usage", run_usage)}};
}

}  // namespace dove::cli
