// dove server: the controller of a cluster.
#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <sstream>

#include "cli/cli.h"
#include "programs/commands.h"
#include "programs/follow/follow_run.h"
#include "programs/full_disk.h"
#include "programs/log_level.h"
#include "programs/retention.h"
#include "programs/scheduling.h"
#include "programs/server/notice_settings.h"
#include "programs/server/server_runtime.h"
#include "programs/server/sign_in_settings.h"
#include "programs/service/notice.h"
#include "programs/settings.h"
#include "wire/address.h"

namespace dove::programs {
namespace {

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "server";
  spec.summary = "Run the controller of a cluster";
  spec.group = "Programs";
  spec.description =
      "Keeps the log, decides, and serves the API. Agents of the cluster's nodes connect to it\n"
      "(see `dove agent`). DOVE_* variables override --config, and flags override both. The\n"
      "administrator's token is in DATA/token. Beyond loopback the server speaks TLS with a\n"
      "certificate of its own authority, DATA/ca.pem.";
  spec.options = {
      {"data", 0, "DIR", "directory of the log (~/.local/state/dove)", false},
      {"store", 0, "URL", "PostgreSQL with the log of several controllers (postgres://...)", false},
      {"advertise", 0, "URL", "the URL at which others reach this one of several controllers",
       false},
      {"first-level", 0, "N",
       "a new log's level; 1: controllers of the former version read it, too", false},
      {"lease-ms", 0, "MS", "how long its term lasts once it is cut off (1500)", false},
      {"host", 0, "ADDRESS", "address to listen on (127.0.0.1)", false},
      {"port", 0, "PORT", "port to listen on, 0 for a free one (7717)", false},
      {"cluster-name", 0, "NAME", "the cluster's name (dove)", false},
      {"fence-s", 0, "SECONDS", "a task ends this long after its agent is gone (5)", false},
      {"disconnect-grace-s", 0, "SECONDS",
       "how long tasks run on while agents cannot reach it (300)", false},
      {"outage-grace-s", 0, "SECONDS", "and how long while its process is down (86400)", false},
      {"silent-after-s", 0, "SECONDS", "a node that does not answer is silent after this (10)",
       false},
      {"heartbeat-ms", 0, "MS", "how often agents report (2000)", false},
      {"sessions-url", 0, "URL", "where `dove proxy` serves sessions; it prints this at its start",
       false},
      {"policies", 0, "FILE,...", "shared libraries with policies (api/dove/policy.h)", false},
      {"config", 0, "FILE", "YAML file of these settings (/etc/dove/server.yaml)", false},
  };
  for (const auto& more : {scheduling_specs(), log_retention_specs(), log_level_specs(),
                           tls_option_specs(), sign_in_specs(), notice_specs(), follow_specs()}) {
    spec.options.insert(spec.options.end() - 1, more.begin(), more.end());
  }
  return spec;
}

Result<void> read_store(const Settings& given, ServerSettings& settings) {
  settings.store = given.text("store", "");
  settings.advertised = given.text("advertise", "");
  TRY_ASSIGN(const std::int64_t lease_ms,
             given.integer("lease-ms", settings.lease_us / 1000, 500, 60'000));
  settings.lease_us = lease_ms * 1000;
  TRY_ASSIGN(const std::int64_t level,
             given.integer("first-level", kProgramLevel, kFirstLevel, kProgramLevel));
  settings.first_level = static_cast<std::int32_t>(level);
  const auto bad = [](const char* why, const char* option) {
    return Error{ErrorKind::kInvalid, "bad_setting", why, option};
  };
  const bool is_alone = settings.store.empty();
  if (is_alone && (given.has("advertise") || given.has("lease-ms"))) {
    return bad("--advertise and --lease-ms have an effect with --store only", "--store");
  }
  if (!is_alone && settings.port == 0) {
    return bad("with --store others must know the port: give one with --port", "--port");
  }
  if (!settings.advertised.empty()) TRY(wire::parse_server_url(settings.advertised));
  return {};
}

Result<ServerSettings> settings_of(const cli::Invocation& invocation) {
  TRY_ASSIGN(const Settings given, Settings::load(spec(), invocation));
  ServerSettings settings;
  settings.data_dir = given.text("data", default_data_dir());
  settings.host = given.text("host", "127.0.0.1");
  TRY_ASSIGN(const std::int64_t port, given.integer("port", 7717, 0, 65'535));
  settings.port = static_cast<std::uint16_t>(port);
  TRY(read_store(given, settings));
  TRY_ASSIGN(settings.follow, follow_settings(given));
  TRY_ASSIGN(settings.tls, tls_settings(given, settings.host, settings.port));
  TRY_ASSIGN(const std::int64_t beat_ms, given.integer("heartbeat-ms", 2000, 10, 3000));
  settings.heartbeat_us = beat_ms * 1000;
  TRY_ASSIGN(settings.log_kept, log_retention(given));
  TRY_ASSIGN(settings.sign_in, sign_in_settings(given));
  TRY_ASSIGN(settings.notices, notice_settings(given));
  settings.sessions_url = given.text("sessions-url", "");
  TRY(set_log_level(given, "info"));
  if (given.has("cluster-name")) settings.cluster_name = given.text("cluster-name", "");
  TRY_ASSIGN(settings.scheduling, scheduling_option(given));
  const auto span = [&](const char* name, std::optional<Span>& out) -> Result<void> {
    if (!given.has(name)) return {};
    TRY_ASSIGN(const std::int64_t value, given.integer(name, 0, 1, 7 * 24 * 3600));
    out = seconds(value);
    return {};
  };
  TRY(span("fence-s", settings.fence));
  TRY(span("disconnect-grace-s", settings.disconnect_grace));
  TRY(span("outage-grace-s", settings.outage_grace));
  TRY(span("silent-after-s", settings.silent_after));
  std::stringstream files(given.text("policies", ""));
  for (std::string file; std::getline(files, file, ',');) settings.policies.push_back(file);
  return settings;
}

int run(const cli::Invocation& invocation) {
  Result<ServerSettings> settings = settings_of(invocation);
  if (!settings.ok()) {
    fmt::print(stderr, "dove server: {}\n", settings.error().message);
    return cli::kExitUsage;
  }
  if (!settings->follow.urls.empty()) return run_follower(*settings);
  wire::Loop loop;
  ServiceNotice notice(loop);
  const bool is_shared = !settings->store.empty();
  std::string url;
  const auto on_turn = [&](bool leads) {
    const std::string now = (leads ? "ready at " : "stands by at ") + url;
    notice.status(now);
    fmt::print("dove server: {}\n", now);
    std::fflush(stdout);
  };
  Result<std::unique_ptr<ServerRuntime>> server =
      is_shared ? stand_by_once_there_is_a_store(loop, *settings, on_turn)
                : start_once_there_is_room(loop, *settings);
  if (!server.ok()) {
    fmt::print(stderr, "dove server: {}\n", server.error().message);
    return cli::exit_code(server.error());
  }
  loop.on_signal({SIGTERM, SIGINT}, [&](int) {
    notice.stopping();
    (*server)->shut_down();
  });
  url = (*server)->url();
  const std::string now = (is_shared ? "stands by at " : "ready at ") + url;
  notice.ready(now, [&](std::function<void()> alive) { (*server)->look(std::move(alive)); });
  fmt::print("dove server: {}\n", now);
  std::fflush(stdout);
  loop.run();
  return (*server)->finish();
}

}  // namespace

cli::Command server_command() { return {spec(), run}; }

const char* version() { return cli::version(); }

}  // namespace dove::programs
