#include "cli/commands/app_start.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "cli/client/submission.h"
#include "cli/commands/job_options.h"
#include "cli/terminal/output.h"

namespace dove::cli {
namespace {

constexpr std::int64_t kPatienceMax_s = 86'400;

Result<std::int64_t> whole_number(const Invocation& invocation, const char* option,
                                  std::int64_t otherwise, std::int64_t most) {
  if (!invocation.has(option)) return otherwise;
  const std::string text = invocation.get(option);
  std::int64_t number = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && at == text.data() + text.size() && number >= 0 && number <= most) {
    return number;
  }
  return usage_error(fmt::format("--{}={}: give a number from 0 to {}", option, text, most));
}

// What people say of a session; --set says the rest.
bool is_of_sessions(const OptionSpec& option) {
  static const std::set<std::string> kNames = {"account",
                                               "begin",
                                               "comment",
                                               "constraint",
                                               "container-image",
                                               "container-mounts",
                                               "cores",
                                               "cpus-per-task",
                                               "dependency",
                                               "exclude",
                                               "export",
                                               "gpus",
                                               "gpus-per-node",
                                               "gpus-per-task",
                                               "gres",
                                               "image",
                                               "job-name",
                                               "mem",
                                               "mem-per-cpu",
                                               "mem-per-gpu",
                                               "memory",
                                               "name",
                                               "nodelist",
                                               "partition",
                                               "pool",
                                               "priority",
                                               "qos",
                                               "queue",
                                               "reservation",
                                               "signal",
                                               "start-at",
                                               "time",
                                               "volume"};
  return kNames.count(option.name) != 0;
}

}  // namespace

Result<void> read_way_in(const Invocation& invocation, SessionWanted& wanted) {
  TRY_ASSIGN(const std::int64_t port, whole_number(invocation, "local-port", 0, 65535));
  TRY_ASSIGN(const std::int64_t patience,
             whole_number(invocation, "patience", wanted.patience.count(), kPatienceMax_s));
  wanted.port = static_cast<std::uint16_t>(port);
  wanted.patience = std::chrono::seconds(patience);
  wanted.address = invocation.get("address", wanted.address);
  wanted.cancels = invocation.has("rm");
  wanted.takes_proxy = !wanted.cancels && !invocation.has("local-port") &&
                       !invocation.has("address") && !invocation.has("local");
  return {};
}

std::vector<OptionSpec> way_in_options() {
  return {{"local-port", 0, "PORT", "port of this machine (any that is free)"},
          {"address", 0, "ADDRESS",
           "listen here (127.0.0.1); on another address, whoever reaches it gets in"},
          {"patience", 0, "SECONDS", "how long the app may take to answer once the job runs (120)"},
          {"local", 0, "", "forward a port of this machine even if there is a proxy"},
          {"rm", 0, "", "cancel the job when this command is interrupted"}};
}

std::vector<OptionSpec> start_options() {
  std::vector<OptionSpec> options = way_in_options();
  options.push_back({"detach", 0, "", "submit the job and leave; `dove open JOB` leads to it"});
  options.push_back(set_option());
  for (OptionSpec& option : job_option_specs()) {
    if (is_of_sessions(option)) options.push_back(std::move(option));
  }
  return options;
}

Result<void> check_way_in(const Invocation& invocation) {
  SessionWanted unused;
  return read_way_in(invocation, unused);
}

Result<int> start_app(Api& api, const Invocation& invocation, const FoundApp& app,
                      const AppUse& use) {
  TRY_ASSIGN(jobfiles::ParsedJob job, app_job(app, use));
  TRY(set_fields(invocation, job));
  SessionWanted wanted = session_of(app, job);
  wanted.is_new = true;
  TRY(read_way_in(invocation, wanted));
  print_warnings(job.warnings);
  TRY_ASSIGN(const Submitted submitted, submit(api, job));
  print(fmt::format("Submitted job {}\n", submitted.id));
  std::fflush(stdout);
  if (invocation.has("detach")) {
    print(fmt::format("`dove open {}` leads to it, `dove cancel {}` ends it\n", submitted.id,
                      submitted.id));
    return kExitOk;
  }
  wanted.target.job = submitted.id;
  return serve_session(api.endpoint(), wanted);
}

}  // namespace dove::cli
