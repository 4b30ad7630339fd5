// dove ssh-gateway: `ssh 42@gateway` into running jobs, with no sshd in their images.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "programs/commands.h"
#include "programs/log_level.h"
#include "programs/service/notice.h"
#include "programs/settings.h"
#include "ssh/gateway.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "ssh-gateway";
  spec.summary = "Let people into running jobs by SSH";
  spec.group = "Programs";
  spec.description =
      "`ssh 42@gateway` opens a shell in job 42 with a key of the job's user. The gateway needs\n"
      "only the API and one token, which the server makes: the file `ssh_gateway_token` in its\n"
      "data directory. `dove up` starts a gateway by itself. docs/operate/ssh.md says what it is\n"
      "trusted with.";
  spec.options = {
      {"url", 0, "URL", "the server, or several controllers: URL,URL (http://127.0.0.1:7717)",
       false},
      insecure_spec(),
      {"key-file", 0, "FILE", "the gateway's token", false},
      {"ca-file", 0, "FILE", "authorities of the server's certificate (the system's)", false},
      {"data", 0, "DIR", "directory of its host key (/var/lib/dove-ssh)", false},
      {"host", 0, "ADDRESS", "address to listen on (127.0.0.1)", false},
      {"port", 0, "PORT", "port to listen on, 0 for a free one (7722)", false},
      {"public-host", 0, "NAME", "what people are told to connect to (the address)", false},
      {"connections", 0, "COUNT", "the most connections at a time (1000)", false},
      {"config", 0, "FILE", "YAML file of these settings (/etc/dove/ssh-gateway.yaml)", false},
  };
  const auto more = log_level_specs();
  spec.options.insert(spec.options.end() - 1, more.begin(), more.end());
  return spec;
}

Result<ssh::GatewaySettings> settings_of(const cli::Invocation& invocation) {
  TRY_ASSIGN(const Settings given, Settings::load(spec(), invocation));
  TRY(set_log_level(given, "info"));
  ssh::GatewaySettings settings;
  settings.server.url = given.text("url", "http://127.0.0.1:7717");
  TRY(may_show_secrets(given, settings.server.url));
  if (!given.has("key-file")) {
    return Error{ErrorKind::kInvalid, "bad_setting",
                 "--key-file: name the file with the gateway's token; the server makes it as "
                 "`ssh_gateway_token` in its data directory",
                 "key-file"};
  }
  TRY_ASSIGN(settings.server.token, read_small_file(given.text("key-file", "")));
  settings.server.ca_file = given.text("ca-file", "");
  settings.data_dir = fs::absolute(given.text("data", "/var/lib/dove-ssh"));
  std::error_code error;
  fs::create_directories(settings.data_dir, error);
  settings.host = given.text("host", "127.0.0.1");
  settings.public_host = given.text("public-host", "");
  TRY_ASSIGN(const std::int64_t port, given.integer("port", 7722, 0, 65'535));
  settings.port = static_cast<std::uint16_t>(port);
  TRY_ASSIGN(const std::int64_t most, given.integer("connections", 1000, 1, 20'000));
  settings.limits.connections_max = static_cast<std::size_t>(most);
  return settings;
}

int run(const cli::Invocation& invocation) {
  ServiceSocket service;
  ssh::GatewayWatch watch;
  watch.ready = [&](const std::string& status) { service.ready(status); };
  watch.alive = [&] { service.alive(); };
  watch.stopping = [&] { service.stopping(); };
  watch.every = std::chrono::milliseconds(service.watchdog_us() / 2'000);
  const Result<ssh::GatewaySettings> settings = settings_of(invocation);
  const Result<void> ran = settings.ok() ? ssh::run_gateway(*settings, watch) : settings.error();
  if (ran.ok()) return cli::kExitOk;
  fmt::print(stderr, "dove ssh-gateway: {}\n", ran.error().message);
  return cli::exit_code(ran.error());
}

}  // namespace

cli::Command ssh_gateway_command() { return {spec(), run}; }

}  // namespace dove::programs
