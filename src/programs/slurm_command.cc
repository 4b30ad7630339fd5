// dove slurm: the adapter beside a Slurm. It dials out to the controller, as an agent does.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "agent/health/metrics_listener.h"
#include "cli/client/api.h"
#include "files/descriptor.h"
#include "files/text_file.h"
#include "programs/commands.h"
#include "programs/log_level.h"
#include "programs/service/notice.h"
#include "programs/settings.h"
#include "programs/slurm_output.h"
#include "slurm/accounting/past_uses.h"
#include "slurm/adapter.h"
#include "slurm/command_cluster.h"
#include "slurm/gate/gate_control.h"
#include "slurm/gate/gate_folder.h"
#include "slurm/gate/gate_keeper.h"
#include "slurm/gate/rest_gate.h"
#include "slurm/gate/scheduler_wake.h"
#include "slurm/rest/rest_cluster.h"
#include "slurm/rooms/room_keeper.h"
#include "slurm/slurm_json.h"
#include "slurm/works/steps.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "text/hostlist.h"
#include "wire/client.h"
#include "wire/cluster/controllers.h"
#include "wire/http.h"
#include "wire/loop.h"
#include "wire/secret.h"
#include "wire/tls/tls.h"

namespace dove::programs {
namespace {

constexpr std::int64_t kPauseMin_us = 30'000;  // from one cycle to the next
constexpr std::int64_t kPageMin_us = 50'000;   // after each, for the page of metrics
// With a gate nothing waits at the controller, which is asked for its word instead.
constexpr std::int64_t kGateLook_us = 100'000;  // looks at Slurm while a job is being started
constexpr std::int64_t kGateAsk_us = 50'000;    // while a job waits for the ledger
constexpr std::int64_t kAsk_us = 250'000;
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
      {"url", 0, "URL", "the controller, or several: URL,URL (http://127.0.0.1:7717)", false},
      insecure_spec(),
      {"key-file", 0, "FILE", "a key of the executor's service account", false},
      {"ca-file", 0, "FILE", "authorities of the controller's certificate (the system's)", false},
      {"executor", 0, "NAME", "the declared executor (slurm)", false},
      {"cluster", 0, "NAME",
       "this cluster's name in those of placeholders, if several share a Slurm (dove)", false},
      {"state-dir", 0, "DIR",
       "where the state of our jobs that Slurm runs is kept (/var/lib/dove-slurm)", false},
      {"gate", 0, "DIR",
       "hold Slurm's own jobs until the ledger has a place for them: the folder of "
       "deploy/slurm/job_submit.lua",
       false},
      {"agentless", 0, "NODES",
       "nodes where no agent of ours runs: jobs can still be given to Slurm there", false},
      {"rest", 0, "PLACE",
       "ask slurmrestd, in place of sinfo and squeue: unix:/PATH, http://HOST:PORT or "
       "https://HOST:PORT",
       false},
      {"rest-token-file", 0, "FILE",
       "file with a token for slurmrestd (`scontrol token`); it is read at each look and may be "
       "renewed",
       false},
      {"rest-user", 0, "NAME", "whose token that is (root)", false},
      {"rest-changes", 0, "",
       "also change jobs through slurmrestd, where it can: the token is root's or SlurmUser's",
       false},
      {"interval", 0, "TIME", "time between looks at Slurm (1s)", false},
      {"signal-wait", 0, "TIME",
       "what a job that makes room has after its own signal (sbatch --signal), at most (10m); 0s: "
       "it gets no signal",
       false},
      {"metrics", 0, "HOST:PORT",
       "serve Prometheus at /metrics there, over TLS beyond loopback (nowhere)", false},
      {"tls-certificate", 0, "FILE",
       "what that shows beyond loopback: a certificate with its chain", false},
      {"tls-key", 0, "FILE", "its private key", false},
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
  std::string gate;   // a directory; "": there is no gate
  std::optional<slurm::RestPlace> rest;
  std::string rest_token;  // a file; "": there is none
  std::string rest_user;
  bool rest_changes = false;
  std::string metrics;                     // an address; "": nowhere
  std::shared_ptr<wire::Tls> metrics_tls;  // null: plain
};

Error bad_setting(const char* option, const std::string& why) {
  return Error{ErrorKind::kInvalid, "bad_setting", fmt::format("{}: {}", option, why), option};
}

Result<std::vector<std::string>> hostlists_of(const Settings& given) {
  const std::string text = given.text("agentless", "");
  std::vector<std::string> lists;
  const auto words = text::split_hostlist(text);
  for (const std::string_view word : words.value_or(std::vector<std::string_view>{})) {
    if (!text::expand_host(word, text::kHostlistNamesMax)) break;
    lists.emplace_back(word);
  }
  if (words && lists.size() == words->size()) return lists;
  return bad_setting("--agentless",
                     fmt::format("\"{}\" is no list of nodes, such as gpu[5-8],login", text));
}

// As an agent's: over TLS beyond loopback where the cluster has it. A node has a certificate of the
// cluster; an adapter has none.
Result<void> read_metrics_settings(const Settings& given, SlurmSettings& settings) {
  settings.metrics = given.text("metrics", "");
  if (given.has("tls-certificate") != given.has("tls-key")) {
    return bad_setting("--tls-key", "--tls-certificate and --tls-key belong together");
  }
  if (agent::MetricsListener::is_local(settings.metrics)) return {};
  if (given.has("tls-key")) {
    constexpr std::size_t kFileMax = 1 << 20;
    wire::TlsServerOptions options;
    TRY_ASSIGN(options.own.chain_pem,
               files::read_text(given.text("tls-certificate", ""), kFileMax));
    TRY_ASSIGN(options.own.key_pem, files::read_text(given.text("tls-key", ""), kFileMax));
    TRY_ASSIGN(settings.metrics_tls, wire::Tls::for_server(options));
  } else if (settings.url.find("https://") != std::string::npos) {
    return bad_setting("--metrics",
                       "beyond loopback the page needs a certificate (--tls-certificate and "
                       "--tls-key): name one, or an address such as 127.0.0.1:9401");
  }
  return {};
}

Result<SlurmSettings> settings_of(const cli::Invocation& invocation) {
  TRY_ASSIGN(const Settings given, Settings::load(spec(), invocation));
  TRY(set_log_level(given, "info"));
  SlurmSettings settings;
  settings.url = given.text("url", "http://127.0.0.1:7717");
  TRY(wire::parse_server_urls(settings.url));
  TRY(may_show_secrets(given, settings.url));
  settings.executor = given.text("executor", "slurm");
  if (!given.has("key-file")) {
    return bad_setting("--key-file",
                       "name a file with a key of the executor's service account "
                       "(`dove key create`)");
  }
  TRY_ASSIGN(settings.client.bearer_token, read_small_file(given.text("key-file", "")));
  settings.client.ca_file = given.text("ca-file", "");
  TRY_ASSIGN(settings.interval_us, slurm::read_interval(given.text("interval", "1s")));
  TRY_ASSIGN(settings.adapter.signal_wait_s,
             slurm::read_signal_wait(given.text("signal-wait", "10m")));
  settings.adapter.cluster = given.text("cluster", "dove");
  settings.steps = given.text("state-dir", "/var/lib/dove-slurm") + "/" + settings.adapter.cluster;
  settings.gate = given.text("gate", "");
  TRY_ASSIGN(settings.adapter.agentless, hostlists_of(given));
  if (given.has("rest")) {
    TRY_ASSIGN(settings.rest, slurm::read_rest_place(given.text("rest", "")));
  }
  settings.rest_token = given.text("rest-token-file", "");
  settings.rest_user = given.text("rest-user", "root");
  TRY_ASSIGN(settings.rest_changes, given.flag("rest-changes"));
  if (settings.rest_changes && (!settings.rest || settings.rest_token.empty())) {
    return bad_setting("--rest-changes",
                       "name a slurmrestd (--rest) and a token of root or SlurmUser for it "
                       "(--rest-token-file)");
  }
  TRY(read_metrics_settings(given, settings));
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

Result<std::vector<slurm::GateJob>> tell_waiting(wire::Client& client, const std::string& target,
                                                 const slurm::GateRequest& request,
                                                 const std::vector<slurm::NodeSeen>& nodes) {
  TRY_ASSIGN(const wire::Response answer,
             client.call("POST", target, slurm::write_gate_request(request, nodes),
                         {{"Content-Type", "application/json"}}));
  if (answer.status >= 300) return cli::error_of_problem(answer.status, answer.body);
  return slurm::read_gate_answer(answer.body);
}

wire::Client rest_client(const slurm::RestPlace& place) {
  wire::ClientOptions options;
  options.unix_socket = place.socket;
  options.timeout_ms = kAnswerLimit_ms;
  options.response_bytes_max = slurm::kJsonBytesMax;
  return wire::Client(place.url, options);
}

Result<slurm::RestAnswer> call_rest(wire::Client& client, const SlurmSettings& settings,
                                    const slurm::RestRequest& request) {
  wire::Pairs headers;
  if (!settings.rest_token.empty()) {
    TRY_ASSIGN(std::string token, read_small_file(settings.rest_token));
    constexpr std::string_view kAs_printed = "SLURM_JWT=";
    if (token.starts_with(kAs_printed)) token.erase(0, kAs_printed.size());
    headers.emplace_back("X-SLURM-USER-NAME", settings.rest_user);
    headers.emplace_back("X-SLURM-USER-TOKEN", std::move(token));
  }
  if (!request.body.empty()) headers.emplace_back("Content-Type", "application/json");
  TRY_ASSIGN(wire::Response answer,
             client.call(request.method, request.target, request.body, headers));
  return slurm::RestAnswer{answer.status, std::move(answer.body)};
}

// The pauses between cycles, in which the page of metrics is served: all of this program is one
// thread, which forks keepers of steps.
class Pauses {
 public:
  // `ends`: readable once a signal has come to end the program. `poke`: ends a pause early while it
  // can be read; negative: there is none.
  Pauses(wire::Loop& loop, int ends, int poke) : loop_(loop), ends_(ends) {
    ends_watch_ = loop.watch_readable(ends, [this] { is_over_ = true; });
    if (poke >= 0) poke_watch_ = loop.watch_readable(poke, [this] { is_over_ = true; });
  }

  // Whether the program is to end.
  bool ended_within(std::int64_t us) {
    is_over_ = false;
    const std::chrono::milliseconds limit{std::max<std::int64_t>((us + 999) / 1000, 1)};
    loop_.run_until([this] { return is_over_; }, limit);
    pollfd end{ends_, POLLIN, 0};
    return ::poll(&end, 1, 0) > 0;
  }

 private:
  wire::Loop& loop_;
  const int ends_;
  bool is_over_ = false;
  wire::FdWatch ends_watch_;
  wire::FdWatch poke_watch_;
};

// Readable once SIGTERM or SIGINT has come.
files::Descriptor block_ends() {
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  return files::Descriptor(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Until a signal ends it: true; or until another adapter has taken its place: false. Between two
// looks at Slurm the controller's answer is waited for, so that what it wants is done at once.
bool keep_in_step(slurm::Adapter& adapter, const SlurmSettings& settings, wire::Loop& loop,
                  int ends, slurm::GateFolder* gate, ServiceSocket& service, SlurmOutput& output) {
  Pauses pauses(loop, ends, gate == nullptr ? -1 : gate->poll_fd());
  const bool may_wait = settings.adapter.wait_s > 0 && gate == nullptr;
  std::int64_t look_at_us = 0;
  std::int64_t look_at_all_us = 0;
  std::int64_t summary_at_us = telemetry::monotonic_us() + kSummaryEvery_us;
  for (;;) {
    const std::int64_t began_us = telemetry::monotonic_us();
    const bool is_poked = gate != nullptr && gate->was_poked();
    slurm::Look look = slurm::Look::kNone;
    if (began_us >= look_at_all_us) {
      look = slurm::Look::kAll;
      look_at_all_us = began_us + settings.interval_us;
    } else if (is_poked || began_us >= look_at_us) {
      look = slurm::Look::kJobs;
    }
    // The gate speaks before Slurm has the job: one that this look misses is seen by the next.
    if (look != slurm::Look::kNone)
      look_at_us = is_poked ? began_us + kGateLook_us : look_at_all_us;
    const slurm::CycleEnd end = adapter.cycle(look);
    if (end.replaced) return false;
    if (end.changed) look_at_us = 0;
    if (end.gate_starts) look_at_us = std::min(look_at_us, began_us + kGateLook_us);
    const std::int64_t now_us = telemetry::monotonic_us();
    if (now_us >= summary_at_us) {
      adapter.log_exposure();
      summary_at_us = now_us + kSummaryEvery_us;
    }
    const bool idle = !end.changed && !(end.controller_answers && may_wait);
    std::int64_t next_us = idle ? look_at_us : began_us + kPauseMin_us;
    if (gate != nullptr && idle && end.controller_answers) {
      next_us = std::min(next_us, began_us + (end.gate_waits ? kGateAsk_us : kAsk_us));
    }
    service.alive();
    output.keep();
    const std::int64_t least_us = settings.metrics.empty() ? 0 : kPageMin_us;
    if (pauses.ended_within(std::max(next_us - now_us, least_us))) return true;
  }
}

// What takes long is many short steps, and after each the service gets on.
slurm::CommandCluster::Run run_by(ServiceSocket& service) {
  return [&service](const slurm::CommandWanted& wanted) {
    service.alive();
    return slurm::run_command(wanted);
  };
}

// With what Slurm ran while the ledger did not hear of it.
slurm::Adapter::Sync sync_by(ServiceSocket& service, wire::Client& client, const std::string& path,
                             slurm::PastUses& past) {
  return [&service, &client, &past, target = path + "/sync"](const slurm::SyncRequest& request) {
    const auto tell = [&](const slurm::SyncRequest& whole) {
      service.alive();
      return sync(client, target, whole);
    };
    return past.sync(request, tell, telemetry::now_us() / 1'000'000);
  };
}

int fail(const Error& error) {
  fmt::print(stderr, "dove slurm: {}\n", error.message);
  return cli::exit_code(error);
}

Result<std::optional<slurm::GateFolder>> open_gate(const std::string& directory) {
  std::optional<slurm::GateFolder> folder;
  if (directory.empty()) return folder;
  TRY_ASSIGN(folder, slurm::GateFolder::open(directory,
                                             [] { return slurm::slurm_user(slurm::run_command); }));
  return folder;
}

Result<void> serve(agent::MetricsListener& page, const SlurmSettings& settings, const char* mode) {
  telemetry::metrics()
      .gauge("dove_slurm_mode", "1: the mode in which the adapter runs", {{"mode", mode}})
      .set(1);
  return settings.metrics.empty() ? Result<void>()
                                  : page.listen(settings.metrics, settings.metrics_tls);
}

int run(const cli::Invocation& invocation) {
  ServiceSocket service;
  const Result<SlurmSettings> settings = settings_of(invocation);
  if (!settings.ok()) return fail(settings.error());
  const files::Descriptor ends = block_ends();
  Result<std::optional<slurm::GateFolder>> opened = open_gate(settings->gate);
  if (!opened.ok()) return fail(opened.error());
  std::optional<slurm::GateFolder>& folder = *opened;
  const char* const mode = folder ? "gate" : "watch";
  wire::Loop loop;
  agent::MetricsListener page(loop, [] { return telemetry::metrics().render(); });
  const Result<void> serves = serve(page, *settings, mode);
  if (!serves.ok()) return fail(serves.error());
  wire::Client client(settings->url, settings->client);
  const std::string path = "/v1/executors/" + wire::percent_encode(settings->executor);
  slurm::CommandCluster commands(run_by(service));
  std::optional<wire::Client> rest;
  const slurm::RestApi api(
      [&](const slurm::RestRequest& request) { return call_rest(*rest, *settings, request); });
  std::optional<slurm::RestCluster> looks;
  if (settings->rest) {
    rest.emplace(rest_client(*settings->rest));
    looks.emplace(commands, api, settings->rest_changes);
  }
  slurm::SlurmCluster& cluster = looks ? static_cast<slurm::SlurmCluster&>(*looks) : commands;
  slurm::StepDirectory steps(settings->steps, run_by(service));
  slurm::CommandGate by_command(run_by(service));
  slurm::RestGate by_rest(by_command, api);
  slurm::GateControl& control =
      settings->rest_changes ? static_cast<slurm::GateControl&>(by_rest) : by_command;
  slurm::SchedulerWake wake(cluster, settings->adapter.cluster);
  slurm::PastEnds past_ends(run_by(service));
  const auto tell = [&](const slurm::GateRequest& request,
                        const std::vector<slurm::NodeSeen>& nodes) {
    service.alive();
    return tell_waiting(client, path + "/waiting", request, nodes);
  };
  slurm::GateKeeper gate(cluster, control, tell, folder ? &*folder : nullptr,
                         settings->adapter.cluster, settings->adapter.incarnation, &wake,
                         &past_ends, settings->adapter.signal_wait_s);
  slurm::RoomKeeper rooms(tell, settings->adapter.incarnation);
  slurm::PastUses past_uses(settings->adapter.cluster, run_by(service));
  slurm::Adapter adapter(cluster, sync_by(service, client, path, past_uses), telemetry::now_us,
                         settings->adapter, &steps, folder ? &gate : nullptr, &rooms);
  telemetry::log(telemetry::Level::kInfo, "watches_slurm",
                 {{"url", settings->url},
                  {"executor", settings->executor},
                  {"mode", mode},
                  {"incarnation", settings->adapter.incarnation}});
  service.ready(fmt::format("keeps in step with Slurm for executor {}, in {} mode",
                            settings->executor, mode));
  SlurmOutput output(settings->url, settings->client, path);
  const bool replaced = !keep_in_step(adapter, *settings, loop, ends.get(),
                                      folder ? &*folder : nullptr, service, output);
  service.stopping();
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
