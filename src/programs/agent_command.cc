// dove agent: what runs jobs on a node.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "agent/agent.h"
#include "agent/containers/container_runner.h"
#include "agent/devices/device_health.h"
#include "agent/health/metrics_page.h"
#include "agent/secrets/task_secrets.h"
#include "agent/session/lease.h"
#include "agent/session/machine_id.h"
#include "agent/tasks/null_runner.h"
#include "agent/tasks/process_runner.h"
#include "devices/device_watch.h"
#include "devices/emulated/inventory_file.h"
#include "programs/agent_start.h"
#include "programs/commands.h"
#include "programs/container_settings.h"
#include "programs/device_findings.h"
#include "programs/device_settings.h"
#include "programs/join_settings.h"
#include "programs/log_level.h"
#include "programs/machine_of.h"
#include "programs/plugin_devices.h"
#include "programs/retention.h"
#include "programs/service/notice.h"
#include "programs/settings.h"
#include "telemetry/log.h"
#include "wire/address.h"
#include "wire/cluster/controllers.h"
#include "wire/http.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;

constexpr const char kOpenDevices[] = "/dev/infiniband/*";
constexpr std::int64_t kProcessesMax = 16'384;  // of a task, threads included

cli::CommandSpec spec() {
  cli::CommandSpec spec;
  spec.name = "agent";
  spec.summary = "Run jobs on this node";
  spec.group = "Programs";
  spec.description =
      "Connects to the controller and runs what it is given. The first start needs a one-time\n"
      "token (`dove join-token create`). Tasks survive the end of the agent, and the next one\n"
      "takes them over if it starts within the fence. Without --run-as-self every user needs a\n"
      "Linux user (kind: User, linux_user: ...), and the agent runs as root.";
  spec.options = {
      {"name", 0, "NAME", "the node's name (this machine's)", false},
      {"url", 0, "URL", "the controller (http://127.0.0.1:7717)", false},
      insecure_spec(),
      {"data", 0, "DIR", "the agent's own directory (~/.local/state/dove-agent)", false},
      {"address", 0, "ADDRESS", "where other nodes reach this one's tasks (127.0.0.1)", false},
      {"ca-file", 0, "FILE",
       "authorities that the controller's certificate may be from (the join token names the "
       "cluster's own; else the system's)",
       false},
      {"shared", 0, "DIR",
       "directory that all nodes share, for checkpoints and the homes of sessions in images "
       "(DATA/shared)",
       false},
      {"stage", 0, "DIR", "on the node's own disk: checkpoints are written here first (nowhere)",
       false},
      {"inventory", 0, "FILE", "emulate the devices in this YAML or TOML file", false},
      {"gpus", 0, "COUNT", "number of emulated GPUs", false},
      {"gpu-model", 0, "MODEL", "model of the emulated GPUs (H200)", false},
      {"cores", 0, "COUNT", "number of emulated cores", false},
      {"memory", 0, "AMOUNT", "emulated memory (16Gi)", false},
      {"nvml", 0, "LIBRARY", "NVIDIA's management library (libnvidia-ml.so.1)", false},
      {"checks", 0, "DIR", "programs that check this node, run every 30 s", false},
      {"hooks", 0, "DIR", "the programs reset, reboot, upgrade and agent, which repair this node",
       false},
      {"preflight", 0, "DIR", "programs that try this node before a job starts on it", false},
      {"preflight-limit-s", 0, "SECONDS",
       "time limit of the tests, and again of those between nodes (20)", false},
      {"preflight-mb-per-s", 0, "MB", "minimum rate to the next node of a job (0: any)", false},
      {"faults", 0, "FILE", "emulate findings of devices: a JSON list of them", false},
      {"look-s", 0, "SECONDS", "how often devices are checked (10)", false},
      {"planes", 0, "PLANES",
       "interfaces or cards for each kind of traffic: user=eth0,storage=ib4,gpu=ib0+ib1", false},
      {"sys", 0, "DIR", "look for network cards, lanes and huge pages below this (/sys)", false},
      {"metrics", 0, "HOST:PORT",
       "serve Prometheus at /metrics there, over TLS beyond loopback (nowhere)", false},
      {"run-as-self", 0, "", "run all tasks as the user of this process", false},
      {"cgroups", 0, "WHEN", "on or off: a cgroup for each task (on, but off with --run-as-self)",
       false},
      {"huge-pages-kept", 0, "AMOUNTS",
       "huge pages kept for the node itself: hugepages-2Mi=64Mi,hugepages-1Gi=1Gi", false},
      {"open-devices", 0, "PATHS",
       "device files, separated by commas, that every task may open besides those of its devices; "
       "any: all of them (/dev/infiniband/*)",
       false},
      {"runner", 0, "KIND", "process, or null: tasks are timers (process)", false},
      {"count", 0, "COUNT", "number of agents in this process (null runner only)", false},
      {"boot-id", 0, "ID", "boot id instead of the kernel's, for emulated nodes", false},
      {"machine-id", 0, "ID", "machine instead of the hardware's, for emulated nodes", false},
      {"stop-tasks-at-exit", 0, "", "SIGTERM ends the tasks too (dove up)", false},
      {"config", 0, "FILE", "YAML file of these settings (/etc/dove/agent.yaml)", false},
  };
  for (const auto& more : {join_option_specs(), device_option_specs(), container_option_specs(),
                           output_retention_specs(), log_level_specs()}) {
    spec.options.insert(spec.options.end() - 1, more.begin(), more.end());
  }
  return spec;
}

// "https://a:7717,https://b:7717": the controllers of one cluster.
Result<void> read_address(const std::string& text, agent::AgentOptions& options) {
  Result<std::vector<wire::ServerUrl>> read = wire::parse_server_urls(text);
  if (!read.ok()) {
    return Error{ErrorKind::kInvalid, "bad_setting", "--url: " + read.error().message, "--url"};
  }
  std::vector<wire::ServerUrl> all = std::move(read).value();
  for (const wire::ServerUrl& one : all) {
    if (one.prefix.empty()) continue;
    return Error{ErrorKind::kInvalid, "bad_setting",
                 fmt::format("--url: '{}': agents call a controller without a path", one.prefix),
                 "--url"};
  }
  options.host = all.front().host;
  options.port = all.front().port;
  options.tls = all.front().secure;
  all.erase(all.begin());
  for (const wire::ServerUrl& other : all) {
    if (other.secure == options.tls) continue;
    return Error{ErrorKind::kInvalid, "bad_setting",
                 "--url: either all controllers are called by https:// or none", "--url"};
  }
  options.other_controllers = std::move(all);
  return {};
}

// A machine may have agents of several clusters under one name, and jobs of the same numbers.
std::string cgroup_of(const agent::AgentOptions& options) {
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(options.data_dir, error);
  const std::string mark = wire::sha256_hex(error ? options.data_dir : place.string());
  return fmt::format("dove-{}.{}", options.name, mark.substr(0, 8));
}

agent::HealthOptions health_options(const Settings& given, const agent::AgentOptions& options) {
  agent::HealthOptions health;
  health.node = options.name;
  health.data_dir = options.data_dir;
  health.shared_directory = options.shared_directory;
  if (given.has("checks")) health.checks_directory = fs::absolute(given.text("checks", ""));
  if (given.has("hooks")) health.hooks_directory = fs::absolute(given.text("hooks", ""));
  if (given.has("faults")) health.faults_path = fs::absolute(given.text("faults", ""));
  return health;
}

Result<void> read_preflight(const Settings& given, agent::AgentOptions& options) {
  options.has_ring = true;
  options.preflight.checks_memory = options.preflight.tries_gpus = !is_emulated(given);
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self/exe", error).string();
  if (!error) options.preflight.probe = {self, "probe"};
  if (given.has("preflight")) {
    options.preflight.programs_directory = fs::absolute(given.text("preflight", ""));
  }
  TRY_ASSIGN(const std::int64_t limit_s, given.integer("preflight-limit-s", 20, 1, 20));
  options.preflight.limit = std::chrono::seconds(limit_s);
  TRY_ASSIGN(const std::int64_t mb_per_s, given.integer("preflight-mb-per-s", 0, 0, 1'000'000));
  options.preflight.bandwidth_bytes = mb_per_s * 1'000'000;
  return {};
}

std::string data_of(const Settings& given) {
  return fs::absolute(given.text("data", default_data_dir() + "-agent")).string();
}

Result<agent::AgentOptions> options_of(const Settings& given) {
  agent::AgentOptions options;
  char host_name[256] = "node";
  gethostname(host_name, sizeof host_name - 1);
  options.name = given.text("name", host_name);
  const std::string urls = given.text("url", "http://127.0.0.1:7717");
  TRY(read_address(urls, options));
  TRY(may_show_secrets(given, urls));
  if (given.has("ca-file")) options.ca_file = fs::absolute(given.text("ca-file", ""));
  std::error_code error;
  options.data_dir = data_of(given);
  fs::create_directories(options.data_dir, error);
  if (error) {
    return Error{ErrorKind::kInvalid, "data_dir",
                 fmt::format("{}: {}; give a directory that can be written with --data",
                             options.data_dir, error.message()),
                 options.data_dir};
  }
  options.address = given.text("address", "127.0.0.1");
  options.shared_directory = fs::absolute(given.text("shared", options.data_dir + "/shared"));
  make_shared_places(options.shared_directory);
  options.bin_directory = options.data_dir + "/bin";
  options.python_directory = options.data_dir + "/python";
  if (given.has("stage")) options.stage_directory = fs::absolute(given.text("stage", ""));
  options.health = health_options(given, options);
  options.watches_health = true;
  options.shares = share_settings(given, beside_us("libdove-share.so"));
  TRY(read_preflight(given, options));
  TRY_ASSIGN(options.finished, output_retention(given));
  TRY(set_log_level(given, "info"));
  TRY_ASSIGN(options.networks, network_rule(given));
  options.version = version();
  TRY_ASSIGN(options.planes, agent::parse_planes(given.text("planes", "")));
  TRY_ASSIGN(const bool run_as_self, given.flag("run-as-self"));
  options.mapped_users = !run_as_self;
  if (options.mapped_users && geteuid() != 0) {
    return Error{ErrorKind::kInvalid, "not_root",
                 "only root can run tasks as their submitters; start the agent as root, or with "
                 "--run-as-self to run all of them as yourself",
                 "--run-as-self"};
  }
  if (given.has("boot-id")) {
    options.boot_id = given.text("boot-id", "");
  } else {
    TRY_ASSIGN(options.boot_id, read_small_file("/proc/sys/kernel/random/boot_id"));
  }
  options.machine_id = given.text("machine-id", agent::machine_id());
  options.memory_directory = agent::secrets_memory();
  return options;
}

int fail(const Error& error) {
  fmt::print(stderr, "dove agent: {}\n", error.message);
  return cli::exit_code(error);
}

// Many agents that only pretend, in one process (bench/null_fleet).
int run_fleet(const agent::AgentOptions& options, const Inventory& inventory,
              const std::vector<std::string>& tokens, std::int64_t count) {
  wire::Loop loop;
  agent::NullRunner runner(loop);
  std::vector<std::unique_ptr<agent::Agent>> agents;
  for (std::int64_t i = 0; i < count; ++i) {
    agent::AgentOptions one = options;
    one.keeps_records = false;
    one.mapped_users = false;
    one.has_ring = false;
    if (count > 1) {
      one.name = fmt::format("{}{:04}", options.name, i + 1);
      one.data_dir = fmt::format("{}/{}", options.data_dir, one.name);
      one.health.node = one.name;
      one.health.data_dir = one.data_dir;
      one.health.shared_directory.clear();
      if (!one.health.faults_path.empty()) one.health.faults_path += "." + one.name;
    }
    if (static_cast<std::size_t>(i) < tokens.size()) {
      if (Result<void> taken = take_join_token(tokens[i], one); !taken.ok()) {
        return fail(taken.error());
      }
    }
    agents.push_back(std::make_unique<agent::Agent>(loop, one, inventory, runner));
    if (Result<void> started = agents.back()->start(); !started.ok()) return fail(started.error());
  }
  loop.on_signal({SIGTERM, SIGINT}, [&](int) { loop.stop(); });
  loop.run();
  return 0;
}

struct RunnerSettings {
  agent::ProcessRunnerOptions processes;
  std::optional<agent::ContainerRunnerOptions> containers;
  bool stop_tasks = false;
  std::chrono::seconds look{10};  // between looks at the devices
  std::string metrics;            // "": nowhere
  std::string sys_root;
  std::string plugin_directory;  // "": there are no device plug-ins
  std::shared_ptr<devices::kubelet::PlugBoard> board;
};

Result<RunnerSettings> runner_settings(const Settings& given, const agent::AgentOptions& options) {
  RunnerSettings settings;
  settings.processes.shim_path = beside_us("dove-shim");
  settings.processes.data_dir = options.data_dir;
  settings.processes.pins_cores = !is_emulated(given);
  settings.processes.processes_max = kProcessesMax;
  const std::string cgroups = given.text("cgroups", options.mapped_users ? "on" : "off");
  if (cgroups != "on" && cgroups != "off") {
    return Error{ErrorKind::kInvalid, "bad_setting", "--cgroups is on or off", "--cgroups"};
  }
  settings.processes.limits_processes = cgroups == "on";
  settings.processes.cgroup = cgroup_of(options);
  if (const std::string open = given.text("open-devices", kOpenDevices); open != "any") {
    settings.processes.open_devices.emplace();
    std::stringstream paths(open);
    for (std::string path; std::getline(paths, path, ',');) {
      settings.processes.open_devices->push_back(path);
    }
  }
  TRY_ASSIGN(settings.containers, container_settings(given, options, beside_us("dove-contain")));
  TRY_ASSIGN(settings.stop_tasks, given.flag("stop-tasks-at-exit"));
  TRY_ASSIGN(const std::int64_t look_s, given.integer("look-s", 10, 1, 3600));
  settings.look = std::chrono::seconds(look_s);
  settings.metrics = given.text("metrics", "");
  settings.sys_root = given.text("sys", "/sys");
  settings.plugin_directory = given.text("device-plugins", "");
  TRY_ASSIGN(auto models, plugged_models(given.text("plugin-gpus", "*/gpu")));
  settings.board = std::make_shared<devices::kubelet::PlugBoard>(
      std::move(models), settings.plugin_directory.empty() ? "" : options.data_dir + "/plugged");
  return settings;
}

void log_driver_errors(const std::vector<Error>& errors, std::string& last) {
  std::string now;
  for (const Error& error : errors) now += error.message + '\n';
  if (now != last && !now.empty()) {
    telemetry::log(telemetry::Level::kError, "devices_lost", {{"why", errors.front().message}});
  }
  last = now;
}

// A second signal does not wait for the tasks.
void end_on_signals(wire::Loop& loop, agent::Agent& agent, bool& stop_tasks, int& code) {
  loop.on_signal({SIGTERM, SIGINT}, [&](int) {
    if (!stop_tasks) return loop.stop();
    stop_tasks = false;
    code = 1;  // tasks are left
    agent.stop_all([&](bool over) {
      code = over ? 0 : 1;
      loop.stop();
    });
  });
}

void run_as_service(wire::Loop& loop, ServiceNotice& notice) {
  notice.ready("runs tasks", [](const std::function<void()>& alive) { alive(); });
  loop.run();
  notice.stopping();
}

Result<void> serve_metrics(agent::Agent& agent, agent::MetricsPage& page,
                           const std::string& address, bool secure) {
  if (address.empty()) return {};
  if (!secure || agent::MetricsListener::is_local(address)) return page.listen(address);
  agent.once_certified([&page, address](const auto& tls) { return page.listen(address, tls); });
  return {};
}

int run_processes(agent::AgentOptions options, std::unique_ptr<devices::Machine> machine,
                  RunnerSettings settings) {
  Result<Inventory> inventory = machine->inventory();
  if (!inventory.ok()) return fail(inventory.error());
  std::vector<std::int32_t> cut = machine->cut();
  devices::DeviceFiles files = machine->files();
  devices::Fabric fabric = machine->fabric();
  if (Result<void> made = make_tools(options); !made.ok()) return fail(made.error());
  wire::Loop loop;
  ServiceNotice notice(loop);
  Result<agent::LeaseWriter> lease = agent::LeaseWriter::open(options.data_dir + "/lease");
  if (!lease.ok()) return fail(lease.error());
  options.renew_lease = [&lease](std::int64_t until_us) { lease->renew(until_us); };
  Result<std::unique_ptr<agent::ProcessRunner>> runner =
      agent::ProcessRunner::make(loop, settings.processes);
  if (!runner.ok()) return fail(runner.error());
  std::optional<agent::ContainerRunner> containers;
  if (settings.containers) containers.emplace(loop, **runner, *settings.containers);
  describe_node(**runner, containers ? &*containers : nullptr, settings.containers, options);
  agent::Runner& runs = containers ? static_cast<agent::Runner&>(*containers) : **runner;
  const agent::HostPaths paths{"/proc", "/sys/fs/cgroup", options.data_dir,
                               settings.processes.cgroup};
  // Before the agent, which asks it; after the loop, to which it posts.
  devices::DeviceWatch watch(std::move(machine), settings.look,
                             [&loop](std::function<void()> call) { loop.post(std::move(call)); });
  options.arrange = [&watch](std::int32_t device, std::vector<SlicePlace> places, auto done) {
    watch.arrange(device, std::move(places), std::move(done));
  };
  PluginDevices plugins(loop, settings.plugin_directory, settings.board,
                        [&watch] { watch.look_now(); });
  if (!settings.plugin_directory.empty()) {
    if (Result<void> serves = plugins.start(); !serves.ok()) return fail(serves.error());
    options.plugins = plugins.plugins();
  }
  // Left by a `dove up` that was killed: it is still ending its tasks.
  if (settings.stop_tasks) options.former_wait = std::chrono::seconds(15);
  int code = 0;
  options.join_refused = [&loop, &code, node = options.name](const Error& error) {
    code = fail({error.kind, error.code, error.message + "; " + how_to_join(node), ""});
    loop.stop();
  };
  const bool secure = options.tls;
  agent::Agent agent(loop, std::move(options), std::move(inventory).value(), runs);
  agent.set_cut(std::move(cut));
  agent.set_device_files(std::move(files));
  agent.set_fabric(std::move(fabric));
  agent::MetricsPage page(loop, agent, paths);
  const Result<void> listens = serve_metrics(agent, page, settings.metrics, secure);
  if (!listens.ok()) return fail(listens.error());
  if (Result<void> started = agent.start(); !started.ok()) return fail(started.error());
  std::string driver_errors;
  agent::DeviceHealth health(settings.sys_root, paths.data_dir + "/device-findings");
  watch.start([&](devices::Sighting seen) {
    log_driver_errors(seen.driver_errors, driver_errors);
    for (Finding& finding : findings_of(seen)) agent.found(std::move(finding));
    for (Finding& finding : health.look(seen, loop.monotonic_us())) agent.found(std::move(finding));
    agent.set_inventory(std::move(seen.inventory));
    agent.set_cut(std::move(seen.cut));
    agent.saw(seen.samples);
    agent.set_device_files(std::move(seen.files));
    agent.set_fabric(std::move(seen.fabric));
    page.saw(std::move(seen.samples));
  });
  const auto images = watch_images(loop, agent, settings.containers, settings.look);
  end_on_signals(loop, agent, settings.stop_tasks, code);
  run_as_service(loop, notice);
  lease->leave();
  return code;
}

int forget(const std::string& data_dir) {
  if (const Result<void> forgotten = forget_contact(data_dir); !forgotten.ok()) {
    return fail(forgotten.error());
  }
  fmt::print("{}: what a controller told this agent is forgotten; start it\n", data_dir);
  return 0;
}

int run(const cli::Invocation& invocation) {
  Result<Settings> given = Settings::load(spec(), invocation);
  if (!given.ok()) return fail(given.error());
  const Result<bool> forgets = given->flag("forget-contact");
  if (!forgets.ok()) return fail(forgets.error());
  if (*forgets) return forget(data_of(*given));
  Result<agent::AgentOptions> options = options_of(*given);
  if (!options.ok()) return fail(options.error());
  Result<std::vector<std::string>> tokens = join_tokens(*given);
  Result<std::int64_t> count = given->integer("count", 1, 1, 100'000);
  Result<RunnerSettings> settings = runner_settings(*given, *options);
  if (!tokens.ok()) return fail(tokens.error());
  if (!count.ok()) return fail(count.error());
  if (!settings.ok()) return fail(settings.error());
  std::unique_ptr<devices::Accelerators> plugged;
  if (!settings->plugin_directory.empty()) {
    plugged = std::make_unique<devices::kubelet::Plugged>(settings->board);
  }
  Result<std::unique_ptr<devices::Machine>> machine =
      machine_of(*given, options->data_dir, options->boot_id, std::move(plugged));
  if (!machine.ok()) return fail(machine.error());
  (*machine)->look_for_cards(given->text("sys", "/sys"));
  const std::string runner = given->text("runner", "process");
  if (runner == "null") {
    const Result<Inventory> inventory = (*machine)->inventory();
    if (!inventory.ok()) return fail(inventory.error());
    return run_fleet(*options, *inventory, *tokens, *count);
  }
  if (runner != "process" || *count != 1) {
    return fail(Error{ErrorKind::kInvalid, "bad_setting",
                      "--runner is process or null, and --count needs --runner null", "--runner"});
  }
  if (!tokens->empty()) {
    if (Result<void> taken = take_join_token(tokens->front(), *options); !taken.ok()) {
      return fail(taken.error());
    }
  }
  if (Result<void> may = may_join(*options); !may.ok()) return fail(may.error());
  return run_processes(std::move(*options), std::move(*machine), std::move(*settings));
}

}  // namespace

cli::Command agent_command() { return {spec(), run}; }

}  // namespace dove::programs
