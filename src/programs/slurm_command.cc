// dove slurm: the adapter beside a Slurm. It dials out to the controller, as an agent does.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/client/api.h"
#include "programs/commands.h"
#include "programs/log_level.h"
#include "programs/settings.h"
#include "slurm/adapter.h"
#include "slurm/command_cluster.h"
#include "slurm/steps.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "wire/client.h"
#include "wire/http.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kPauseMin_us = 30'000;  // from one cycle to the next
constexpr std::int64_t kSummaryEvery_us = 60'000'000;
constexpr int kAnswerLimit_ms = 10'000;  // beyond the time that an answer may wait

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "slurm";
  spec.summary = "Keep a Slurm on the same nodes and the ledger in step";
  spec.group = "Programs";
  spec.description =
      "Runs where Slurm's commands are, as root or SlurmUser; SLURM_CONF says which Slurm. Jobs\n"
      "that Slurm starts by itself are reported to the controller with the devices, cores and\n"
      "memory that they hold. What the ledger gave to others is held in Slurm by placeholders:\n"
      "allocations that run nothing. SIGTERM ends the adapter and leaves them in place; the next\n"
      "one takes them up. docs/operate/slurm.md says what this guarantees and what it does not.";
  spec.options = {
      {"url", 0, "URL", "the controller (http://127.0.0.1:7717)", false},
      {"key-file", 0, "FILE", "a key of the executor's service account", false},
      {"ca-file", 0, "FILE", "authorities of the controller's certificate (the system's)", false},
      {"executor", 0, "NAME", "the declared executor (slurm)", false},
      {"cluster", 0, "NAME",
       "in the names of placeholders, if several clusters share a Slurm (dove)", false},
      {"state-dir", 0, "DIR", "what is kept of jobs of ours that Slurm runs (/var/lib/dove-slurm)",
       false},
      {"interval", 0, "TIME", "between looks at Slurm (1s)", false},
      {"config", 0, "FILE", "YAML file of these settings (/etc/dove/slurm.yaml)", false},
  };
  const auto more = log_level_specs();
  spec.options.insert(spec.options.end() - 1, more.begin(), more.end());
  return spec;
}

struct SlurmSettings {
  std::string url;
  std::string executor;
  std::int64_t interval_us = 0;
  wire::ClientOptions client;
  slurm::AdapterOptions adapter;
  std::string steps;  // a directory
};

Error bad_setting(const char* option, const std::string& why) {
  return Error{ErrorKind::kInvalid, "bad_setting", fmt::format("{}: {}", option, why), option};
}

Result<SlurmSettings> settings_of(const cli::Invocation& invocation) {
  TRY_ASSIGN(const Settings given, Settings::load(spec(), invocation));
  TRY(set_log_level(given, "info"));
  SlurmSettings settings;
  settings.url = given.text("url", "http://127.0.0.1:7717");
  settings.executor = given.text("executor", "slurm");
  if (!given.has("key-file")) {
    return bad_setting("--key-file",
                       "name a file with a key of the executor's service account "
                       "(`dove key create`)");
  }
  TRY_ASSIGN(settings.client.bearer_token, read_small_file(given.text("key-file", "")));
  settings.client.ca_file = given.text("ca-file", "");
  TRY_ASSIGN(settings.interval_us, slurm::read_interval(given.text("interval", "1s")));
  settings.adapter.cluster = given.text("cluster", "dove");
  settings.steps = given.text("state-dir", "/var/lib/dove-slurm") + "/" + settings.adapter.cluster;
  settings.adapter.incarnation = wire::sha256_hex(wire::random_token(16)).substr(0, 16);
  settings.adapter.wait_s = static_cast<int>(settings.interval_us / 1'000'000);
  settings.client.timeout_ms = settings.adapter.wait_s * 1000 + kAnswerLimit_ms;
  settings.client.response_bytes_max = slurm::kAnswerBytesMax;
  return settings;
}

Result<slurm::SyncAnswer> sync(wire::Client& client, const std::string& target,
                               const slurm::SyncRequest& request) {
  TRY_ASSIGN(const wire::Response answer, client.call("POST", target, slurm::write_request(request),
                                                      {{"Content-Type", "application/json"}}));
  if (answer.status >= 300) return cli::error_of_problem(answer.status, answer.body);
  return slurm::read_answer(answer.body);
}

// Whether SIGTERM or SIGINT came within that time; both are blocked, and wait here for us.
bool ended_within(std::int64_t us) {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  const timespec limit{us / 1'000'000, us % 1'000'000 * 1000};
  return ::sigtimedwait(&ends, nullptr, &limit) > 0;
}

void block_ends() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
}

// Until a signal ends it: true; or until another adapter has taken its place: false. Between two
// looks at Slurm the controller's answer is waited for, so that what it wants is done at once.
bool keep_in_step(slurm::Adapter& adapter, const SlurmSettings& settings) {
  const bool may_wait = settings.adapter.wait_s > 0;
  std::int64_t look_at_us = 0;
  std::int64_t summary_at_us = telemetry::monotonic_us() + kSummaryEvery_us;
  for (;;) {
    const std::int64_t began_us = telemetry::monotonic_us();
    const bool look = began_us >= look_at_us;
    if (look) look_at_us = began_us + settings.interval_us;
    const slurm::CycleEnd end = adapter.cycle(look);
    if (end.replaced) return false;
    if (end.changed) look_at_us = 0;
    const std::int64_t now_us = telemetry::monotonic_us();
    if (now_us >= summary_at_us) {
      adapter.log_exposure();
      summary_at_us = now_us + kSummaryEvery_us;
    }
    const bool idle = !end.changed && !(end.controller_answers && may_wait);
    const std::int64_t next_us = idle ? look_at_us : began_us + kPauseMin_us;
    if (ended_within(std::max<std::int64_t>(next_us - now_us, 0))) return true;
  }
}

int run(const cli::Invocation& invocation) {
  const Result<SlurmSettings> settings = settings_of(invocation);
  if (!settings.ok()) {
    fmt::print(stderr, "dove slurm: {}\n", settings.error().message);
    return cli::exit_code(settings.error());
  }
  block_ends();
  wire::Client client(settings->url, settings->client);
  const std::string target = "/v1/executors/" + wire::percent_encode(settings->executor) + "/sync";
  slurm::CommandCluster cluster;
  slurm::StepDirectory steps(settings->steps);
  slurm::Adapter adapter(
      cluster, [&](const slurm::SyncRequest& request) { return sync(client, target, request); },
      telemetry::now_us, settings->adapter, &steps);
  telemetry::log(telemetry::Level::kInfo, "watches_slurm",
                 {{"url", settings->url},
                  {"executor", settings->executor},
                  {"mode", "watch"},
                  {"incarnation", settings->adapter.incarnation}});
  const bool replaced = !keep_in_step(adapter, *settings);
  adapter.log_exposure();
  telemetry::log(telemetry::Level::kInfo, "ends", {{"placeholders", "stay in Slurm"}});
  if (!replaced) return cli::kExitOk;
  fmt::print(stderr, "dove slurm: another adapter speaks for executor {}; this one ends\n",
             settings->executor);
  return cli::kExitConflict;
}

}  // namespace

cli::Command slurm_command() { return {spec(), run}; }

}  // namespace dove::programs
