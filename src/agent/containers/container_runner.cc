#include "agent/containers/container_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/containers/container_network.h"
#include "agent/containers/container_plan.h"
#include "agent/devices/device_rules.h"
#include "containers/place.h"
#include "telemetry/log.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDeleteLimit{60};
constexpr std::chrono::minutes kSaveLimit{30};
constexpr std::chrono::milliseconds kDeleteAgain{500};
constexpr int kDeleteTries = 5;
constexpr std::chrono::hours kCollectEvery{6};
constexpr const char kImagesLane[] = "images";         // one hangs as the others do
constexpr const char kScript[] = "/dev/.dove-script";  // inside
constexpr const char kSave[] = "save";        // likewise: who saves which root directory, and where
constexpr const char kImageName[] = "image";  // in a container's directory: the key of its image

Error cannot_make(const std::string& path, int reason) {
  return Error{ErrorKind::kInternal, "container",
               fmt::format("cannot make {}: {}", path, std::strerror(reason)), path};
}

Result<void> write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return cannot_make(path, ENOSPC);
  return {};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

// A directory in the agent's data that a job's tasks share, theirs from its making on. Others are
// there by now, or missing.
Result<void> make_shared(const SharedPath& shared, const ContainerIdentity& identity) {
  if (!shared.is_ours || ::access(shared.source.c_str(), F_OK) == 0) return {};
  std::error_code error;
  fs::create_directories(shared.source, error);
  if (error ||
      ::chown(shared.source.c_str(), containers::outside_of(identity.uids, identity.uid),
              containers::outside_of(identity.gids, identity.gid)) != 0 ||
      ::chmod(shared.source.c_str(), 0700) != 0) {
    return cannot_make(shared.source, error ? error.value() : errno);
  }
  return {};
}

}  // namespace

struct ContainerRunner::Held {
  std::string directory;
  TaskPlan plan;  // its names alone
  TaskCallbacks callbacks;
  TaskEnd end;
  std::unique_ptr<containers::Child> deletion;
  wire::Timer again;
  bool in_network = false;  // of its gang
  int tries = 0;
};

// The holder's end; what it holds is deleted even when nobody waits for it any more.
class ContainerRunner::Task : public RunningTask {
 public:
  Task(std::shared_ptr<Held> held, std::unique_ptr<RunningTask> inner)
      : held_(std::move(held)), inner_(std::move(inner)) {}
  ~Task() override { held_->callbacks = {}; }
  void stop() override { inner_->stop(); }
  void signal(int number) override { inner_->signal(number); }
  void end_input() override { inner_->end_input(); }

 private:
  std::shared_ptr<Held> held_;
  std::unique_ptr<RunningTask> inner_;
};

ContainerRunner::ContainerRunner(wire::Loop& loop, ProcessRunner& processes,
                                 ContainerRunnerOptions options)
    : loop_(loop),
      processes_(processes),
      options_(std::move(options)),
      side_(loop, 1),
      images_(loop, image_options()),
      networks_(options_.data_dir + "/networks"),
      egress_(loop, {options_.contain_path, options_.data_dir + "/ways", options_.routes,
                     options_.controllers}),
      roots_(loop, options_.data_dir + "/roots", options_.contain_path) {
  std::error_code error;
  for (const std::string& path :
       {options_.data_dir + "/containers", options_.data_dir + "/images"}) {
    fs::create_directories(path, error);
    fs::permissions(path, fs::perms::owner_all, error);
  }
  collect_images();
  roots_.sweep();
  bool any = false;
  networks_.sweep([&](const std::string& attempt) {
    const bool needed = has_containers(attempt);
    any = any || needed;
    return needed;
  });
  egress_.begin(any);
}

ContainerRunner::~ContainerRunner() = default;

containers::ImageStoreOptions ContainerRunner::image_options() {
  containers::ImageStoreOptions images;
  images.images = options_.images;
  images.store = options_.data_dir + "/images";
  images.pulls = options_.pulls;
  images.contain = options_.contain_path;
  images.keep_for = options_.images_kept;
  images.look_limit = options_.look_limit;
  images.aside = [this](std::chrono::milliseconds limit, std::function<void()> look,
                        std::function<void(bool)> done) {
    side_.run(kImagesLane, limit, std::move(look), std::move(done));
  };
  return images;
}

void ContainerRunner::use_network(const std::string& attempt) {
  networks_.use(attempt);
  egress_.in_use(true);
}

void ContainerRunner::release_network(const std::string& attempt) {
  networks_.release(attempt);
  egress_.in_use(networks_.any());
}

void ContainerRunner::collect_images() {
  std::vector<std::string> in_use;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.data_dir + "/containers", error)) {
    in_use.push_back(read_text((entry.path() / kImageName).string()));
  }
  images_.collect(in_use);
  collect_timer_ = loop_.after(kCollectEvery, [this] { collect_images(); });
}

const Result<containers::Runtime>& ContainerRunner::runtime() {
  if (!runtime_) {
    runtime_ = containers::find_runtime(options_.runtime, processes_.only_v2(),
                                        options_.data_dir + "/containers/.runtime");
  }
  return *runtime_;
}

void ContainerRunner::prepare(const std::string& image, const std::string& linux_user,
                              std::function<void(Result<void>)> done) {
  if (image.empty()) return done({});
  if (!runtime().ok()) return done(runtime().error());
  const Result<std::string> reader = outside_user(linux_user);
  if (!reader.ok()) return done(reader.error());
  images_.prepare(image, *reader, std::move(done));
}

Result<std::string> ContainerRunner::image_of(const std::string& attempt,
                                              const ContainerSpec& container) {
  return roots_.image_of(attempt, container);
}

void ContainerRunner::attempt_over(const std::string& attempt) { roots_.drop_all(attempt); }

// The mark as a name: of a directory, and of the container for its runtime.
std::string ContainerRunner::directory_of(const TaskPlan& plan) const {
  return fmt::format("{}/containers/{}", options_.data_dir, file_name(plan.mark));
}

bool ContainerRunner::has_containers(const std::string& attempt) const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.data_dir + "/containers", error)) {
    if (entry.path().filename().string().starts_with(attempt + ".")) return true;
  }
  return false;
}

// What dove-contain is told, but for what the container sees of the node.
std::vector<std::string> ContainerRunner::enter_command(const TaskPlan& plan,
                                                        const ContainerIdentity& identity,
                                                        const containers::Image& image,
                                                        const std::string& log) const {
  std::vector<std::string> argv{options_.contain_path,
                                "enter",
                                "--log",
                                log,
                                "--ids",
                                containers::id_map_text(identity.uids),
                                containers::id_map_text(identity.gids),
                                "--scratch",
                                std::to_string(options_.scratch_bytes),
                                "--lower",
                                image.root};
  if (image.is_owned) argv.emplace_back("--owned-lower");
  if (const std::string kept = roots_.path(plan); !kept.empty()) {
    argv.insert(argv.end(), {"--kept", kept});
  }
  if (plan.network != nullptr) argv.insert(argv.end(), {"--network", networks_.path(plan.attempt)});
  for (const PublishedPort& port : plan.ports) {
    argv.insert(argv.end(), {"--publish", std::to_string(port.node_port)});
  }
  return argv;
}

// A further process in the container of the task that it joins.
Result<TaskPlan> ContainerRunner::exec_plan(const TaskPlan& plan, const std::string& directory) {
  TRY_ASSIGN(const containers::Runtime runtime_found, runtime());
  TaskPlan other;
  other.mark = plan.joins;
  TRY_ASSIGN(const containers::Image image,
             images_.held(read_text(directory_of(other) + "/" + kImageName)));
  TRY_ASSIGN(ContainerIdentity identity, container_identity(plan.linux_user, plan.container.root));
  // The runtime begins in the root directory as it is named outside.
  for (const char* path : {containers::kPlace, containers::kRoot}) {
    if (::mkdir(path, 0755) != 0 && errno != EEXIST) return cannot_make(path, errno);
  }
  if (::mkdir(directory.c_str(), 0700) != 0) return cannot_make(directory, errno);
  TRY_ASSIGN(const containers::CdiEdits edits, cdi_edits(plan, options_.cdi));
  containers::Bundle bundle = container_bundle(plan, image, identity, {});
  apply_cdi(edits, identity, bundle);
  bundle.argv = {containers::kInit, "exec"};
  if (!plan.terminal.empty()) bundle.argv.emplace_back(containers::kTerminalWord);
  bundle.argv.insert(bundle.argv.end(), plan.argv.begin(), plan.argv.end());
  for (std::string& word : bundle.argv) {  // the image does not have it
    if (plan.argv.size() == 1 && word == containers::kSftpWord) word = containers::kSftp;
  }
  const std::string process = directory + "/process.json";
  TRY(write_text(process, containers::process_file(bundle)));
  TRY(write_text(directory + "/" + kImageName, image.key));
  TaskPlan launch = plan;
  launch.launch.pid_file = directory + "/pid";
  launch.launch.argv =
      containers::exec_command(runtime_found, fs::path(directory_of(other)).filename().string(),
                               process, launch.launch.pid_file, directory + "/log");
  return launch;
}

// The batch script in place of its path on the node; the entry point before it.
Result<void> ContainerRunner::begin_program(const TaskPlan& plan, const std::string& directory,
                                            containers::Bundle& bundle) {
  const auto program = bundle.argv.begin() + containers::kInitWords;
  if (!plan.script_path.empty()) {
    // The container's user can read only a copy.
    std::error_code error;
    fs::copy_file(plan.script_path, directory + "/script", error);
    fs::permissions(directory + "/script", fs::perms(0555), error);
    *program = kScript;
  }
  if (!plan.container.entrypoint) return {};
  TRY_ASSIGN(const std::string reader, outside_user(plan.linux_user));
  TRY_ASSIGN(const std::vector<std::string> words,
             images_.entrypoint(plan.container.image, reader));
  bundle.argv.insert(program, words.begin(), words.end());
  return {};
}

Result<TaskPlan> ContainerRunner::launch_plan(const TaskPlan& plan, const std::string& directory) {
  if (!plan.joins.empty()) return exec_plan(plan, directory);
  TRY_ASSIGN(const containers::Runtime runtime_found, runtime());
  TRY_ASSIGN(const std::string reader, outside_user(plan.linux_user));
  TRY_ASSIGN(const containers::Image image, images_.find(plan.container.image, reader));
  TRY_ASSIGN(ContainerIdentity identity, container_identity(plan.linux_user, plan.container.root));
  const bool own_network = plan.network != nullptr;
  const std::string hosts = own_network ? directory + "/hosts" : "/etc/hosts";
  const std::string resolver = own_network ? directory + "/resolv.conf" : "/etc/resolv.conf";
  std::error_code error;
  fs::remove_all(directory, error);  // of a former attempt to start it
  if (::mkdir(directory.c_str(), 0700) != 0) return cannot_make(directory, errno);
  if (own_network) {
    TRY(write_text(hosts, containers::hosts_text(*plan.network)));
    TRY(write_text(resolver, egress_.resolver()));
    TRY(networks_.describe(plan.attempt, *plan.network, egress_.text()));
  }
  TRY_ASSIGN(std::vector<ContainerBind> all,
             container_binds(plan, options_.volume_roots,
                             {options_.contain_path, hosts, resolver, options_.python_directory}));
  TRY_ASSIGN(const containers::CdiEdits edits, cdi_edits(plan, options_.cdi));
  for (ContainerBind& bind : cdi_binds(edits)) all.push_back(std::move(bind));
  for (const SharedPath& shared : plan.shared) TRY(make_shared(shared, identity));
  if (!plan.script_path.empty()) all.push_back({"ro", directory + "/script", "", kScript});
  if (::mkdir(containers::kPlace, 0755) != 0 && errno != EEXIST) {
    return cannot_make(containers::kPlace, errno);
  }
  containers::Bundle bundle = container_bundle(plan, image, identity, all);
  TRY(begin_program(plan, directory, bundle));
  if (const auto& open = processes_.options().open_devices; open) {
    for (const std::string& path : expand_device_paths(*open)) bundle.devices.push_back(path);
  }
  apply_cdi(edits, identity, bundle);
  bundle.annotations = plan.edits.annotations;
  bundle.hostname = plan.hostname.empty() ? options_.hostname : plan.hostname;
  bundle.cgroup = processes_.cgroup_path(plan);
  bundle.memory_bytes = plan.attempt.empty() ? plan.memory_bytes : 0;
  bundle.processes_max = processes_.options().processes_max;
  if (processes_.options().pins_cores) {
    bundle.cpus = plan.cores;
    bundle.numa_nodes = plan.numa_nodes;
  }
  TRY(write_text(directory + "/config.json", containers::config_json(bundle)));
  TRY(write_text(directory + "/" + kImageName, image.key));
  if (const std::string kept = roots_.path(plan); !kept.empty()) {
    TRY(roots_.note(plan));
    if (!plan.container.save.empty() && plan.rank == 0) {
      TRY(write_text(directory + "/" + kSave, reader + "\n" + kept + "\n" + plan.container.save));
    }
  }

  TaskPlan launch = plan;
  const std::string log = directory + "/log";
  std::vector<std::string>& argv = launch.launch.argv;
  argv = enter_command(plan, identity, image, log);
  for (const ContainerBind& bind : all) {
    argv.insert(argv.end(), {"--bind", bind.how, bind.root, bind.path});
  }
  argv.emplace_back("--");
  launch.launch.pid_file = directory + "/pid";
  for (std::string& word :
       containers::run_command(runtime_found, fs::path(directory).filename().string(), directory,
                               launch.launch.pid_file, log, 1 + plan.ports.size())) {
    argv.push_back(std::move(word));
  }
  return launch;
}

Result<std::unique_ptr<RunningTask>> ContainerRunner::start(const TaskPlan& plan,
                                                            TaskCallbacks callbacks) {
  if (plan.container.image.empty()) return processes_.start(plan, std::move(callbacks));
  auto held = std::make_shared<Held>();
  held->directory = directory_of(plan);
  held->plan.mark = plan.mark;
  held->plan.attempt = plan.attempt;
  held->plan.step = plan.step;
  held->callbacks = std::move(callbacks);
  held->in_network = plan.network != nullptr;
  if (held->in_network) use_network(plan.attempt);
  Result<TaskPlan> launch = launch_plan(plan, held->directory);
  Result<std::unique_ptr<RunningTask>> inner =
      launch.ok() ? processes_.start(*launch, watch(held)) : launch.error();
  if (!inner.ok()) {
    std::error_code error;
    fs::remove_all(held->directory, error);
    if (held->in_network) release_network(plan.attempt);
    return inner.error();
  }
  return std::unique_ptr<RunningTask>(
      std::make_unique<Task>(std::move(held), std::move(inner).value()));
}

// What has no directory of a container never was in one, or was deleted with it.
Result<std::unique_ptr<RunningTask>> ContainerRunner::adopt(const TaskPlan& plan,
                                                            TaskCallbacks callbacks) {
  const std::string directory = directory_of(plan);
  if (::access(directory.c_str(), F_OK) != 0) return processes_.adopt(plan, std::move(callbacks));
  auto held = std::make_shared<Held>();
  held->directory = directory;
  held->plan.mark = plan.mark;
  held->plan.attempt = plan.attempt;
  held->plan.step = plan.step;
  held->callbacks = std::move(callbacks);
  held->in_network = networks_.is_there(plan.attempt);
  if (held->in_network) use_network(plan.attempt);
  TaskPlan known = plan;
  known.launch.pid_file = directory + "/pid";
  Result<std::unique_ptr<RunningTask>> inner = processes_.adopt(known, watch(held));
  if (!inner.ok()) return inner.error();
  return std::unique_ptr<RunningTask>(
      std::make_unique<Task>(std::move(held), std::move(inner).value()));
}

TaskCallbacks ContainerRunner::watch(const std::shared_ptr<Held>& held) {
  return TaskCallbacks{[held] {
                         const TaskCallbacks callbacks = held->callbacks;
                         if (callbacks.on_started) callbacks.on_started();
                       },
                       [this, held](TaskEnd end) { ended(held, std::move(end)); }};
}

void ContainerRunner::ended(const std::shared_ptr<Held>& held, TaskEnd end) {
  held->end = std::move(end);
  std::string& cause = held->end.exit.cause;
  if (cause.starts_with("start_failed")) {
    const std::string why = containers::last_complaint(held->directory + "/log");
    if (!why.empty()) cause = "start_failed: " + why;
  }
  ending_[held->directory] = held;
  save_or_remove(held);
}

void ContainerRunner::save_or_remove(const std::shared_ptr<Held>& held) {
  std::istringstream lines(read_text(held->directory + "/" + kSave));
  std::string who;
  std::string kept;
  std::string path;
  if (!std::getline(lines, who) || !std::getline(lines, kept) || !std::getline(lines, path) ||
      !roots_.was_made(kept)) {
    return remove(held);
  }
  const std::weak_ptr<Held> weak = held;
  held->deletion = std::make_unique<containers::Child>(
      loop_,
      std::vector<std::string>{options_.contain_path, "save", who, kept + "/root", path,
                               held->directory + "/save.part"},
      kSaveLimit, [this, weak, kept](const Result<void>& done) {
        const std::shared_ptr<Held> over = weak.lock();
        if (over == nullptr) return;
        if (!done.ok() && over->end.exit.cause.empty()) {
          over->end.exit.cause = "container_not_saved: " + done.error().message;
          if (over->end.exit.exit_code == 0) over->end.exit.exit_code = 1;
        }
        if (kept.find(".save-") != std::string::npos) roots_.drop(kept);
        remove(over);
      });
}

// Its processes are gone; what is left are the runtime's records and cgroups. Also of a container
// that was never made, which is no error to the runtime.
void ContainerRunner::remove(const std::shared_ptr<Held>& held) {
  if (!runtime().ok()) return removed(held, runtime().error());
  const std::weak_ptr<Held> weak = held;
  held->deletion = std::make_unique<containers::Child>(
      loop_, containers::delete_command(*runtime(), fs::path(held->directory).filename().string()),
      kDeleteLimit, [this, weak](const Result<void>& done) {
        if (const std::shared_ptr<Held> over = weak.lock()) removed(over, done);
      });
}

void ContainerRunner::removed(const std::shared_ptr<Held>& held, const Result<void>& done) {
  if (!done.ok()) {
    telemetry::log(telemetry::Level::kWarning, "container_not_deleted",
                   {{"container", held->directory}, {"why", done.error().message}});
    if (++held->tries < kDeleteTries) {
      const std::weak_ptr<Held> weak = held;
      held->again = loop_.after(kDeleteAgain, [this, weak] {
        if (const std::shared_ptr<Held> over = weak.lock()) remove(over);
      });
      return;
    }
  }
  const std::shared_ptr<Held> kept = held;
  ending_.erase(kept->directory);
  std::error_code error;
  fs::remove_all(kept->directory, error);
  if (kept->in_network) release_network(kept->plan.attempt);
  processes_.clear_cgroup(kept->plan);
  const TaskCallbacks callbacks = kept->callbacks;
  if (callbacks.on_ended) callbacks.on_ended(kept->end);
}

}  // namespace dove::agent
