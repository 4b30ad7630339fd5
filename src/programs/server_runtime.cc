#include "programs/server_runtime.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "backends/native/native_backend.h"
#include "controller/controller.h"
#include "core/queue/queue_tree.h"
#include "files/text_file.h"
#include "foreign/policy_library.h"
#include "policies/standard.h"
#include "programs/commands.h"
#include "programs/settings.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "telemetry/log.h"

namespace dove::programs {

struct ServerRuntime::Impl {
  wire::Loop& loop;
  ServerSettings settings;
  std::vector<std::unique_ptr<foreign::PolicyLibrary>> libraries;
  core::Policies policies;
  std::unique_ptr<store::SqliteStore> store;
  backends::NativeBackend backend;
  std::unique_ptr<controller::Controller> controller;
  std::unique_ptr<server::ApiServer> api;
  std::string url;
  bool running = false;
  bool stopping = false;
  bool gave_up = false;

  Impl(wire::Loop& on, ServerSettings with) : loop(on), settings(std::move(with)) {}
};

namespace {

Result<void> make_data_dir(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || access(path.c_str(), W_OK) != 0) {
    return Error{ErrorKind::kInvalid, "data_dir",
                 fmt::format("{}: {}; give a directory that can be written with --data", path,
                             error ? error.message() : strerror(errno)),
                 path};
  }
  chmod(path.c_str(), 0700);
  return {};
}

// What was given on the command line becomes declared state, as if applied.
std::optional<ClusterSettings> changed_settings(const ClusterSettings& now,
                                                const ServerSettings& given) {
  ClusterSettings wanted = now;
  wanted.name = given.cluster_name.value_or(now.name);
  wanted.fence = given.fence.value_or(now.fence);
  wanted.disconnect_grace = given.disconnect_grace.value_or(now.disconnect_grace);
  wanted.silent_after = given.silent_after.value_or(now.silent_after);
  if (wanted == now) return std::nullopt;
  return wanted;
}

// `all`: those of this program and of the libraries.
Result<void> load_policies(const std::vector<std::string>& files,
                           std::vector<std::unique_ptr<foreign::PolicyLibrary>>& libraries,
                           core::Policies& all) {
  all = policies::standard_policies();
  for (const std::string& file : files) {
    TRY_ASSIGN(auto library, foreign::PolicyLibrary::load(file, all));
    libraries.push_back(std::move(library));
    all = foreign::with_libraries(policies::standard_policies(), libraries);
  }
  return {};
}

// Queues may name what an earlier start had loaded.
void warn_of_missing(const core::State& state, const core::Policies& policies) {
  for (const auto& [name, queue] : state.queues) {
    if (queue.order.empty() || core::find_order(policies, queue.order) != nullptr) continue;
    telemetry::log(telemetry::Level::kWarning, "policy_missing",
                   {{"queue", name},
                    {"order", queue.order},
                    {"used", policies.order->name()},
                    {"remedy", "start with --policies FILE, or declare another order"}});
  }
}

std::string jobs_text(const std::vector<JobId>& jobs) {
  std::string text;
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(jobs.size(), kShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", jobs[i].value);
  }
  if (jobs.size() > kShown) text += fmt::format(" and {} more", jobs.size() - kShown);
  return text;
}

// What jobs that are not over are to run must be whole. A damaged blob of others is set aside: they
// cannot be run again, and nothing else is wrong.
Result<void> check_blobs(store::SqliteStore& store, const core::State& state) {
  std::map<std::string, std::vector<JobId>> live;
  std::map<std::string, std::vector<JobId>> over;
  for (const auto& [id, job] : state.jobs) {
    (job.phase == JobPhase::kEnded ? over : live)[job.spec->exec_digest].push_back(id);
  }
  for (const auto& [digest, jobs] : live) {
    const Result<std::optional<std::string>> blob = store.blob(digest);
    if (blob.ok() && blob->has_value()) continue;
    const std::string why =
        blob.ok() ? fmt::format("blob {} is missing", digest) : blob.error().message;
    return Error{ErrorKind::kCorrupt, "blob_damaged",
                 fmt::format("what job {} is to run is damaged, and it is not over: {}",
                             jobs_text(jobs), why),
                 digest};
  }
  TRY_ASSIGN(const std::vector<Error> damages, store.damages());
  constexpr std::string_view kBlob = "blob ";
  for (const Error& damage : damages) {
    if (!damage.field.starts_with(kBlob)) continue;  // an older snapshot, which nothing needs
    const std::string digest = damage.field.substr(kBlob.size());
    TRY(store.set_aside(digest));
    const auto jobs = over.find(digest);
    telemetry::log(telemetry::Level::kError, "blob_set_aside",
                   {{"sha256", digest},
                    {"why", "it was changed, and only jobs that are over ran it"},
                    {"jobs", jobs == over.end() ? "none" : jobs_text(jobs->second)}});
  }
  return {};
}

}  // namespace

std::int64_t free_bytes(const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return std::int64_t{1} << 40;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

ServerRuntime::ServerRuntime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ServerRuntime::~ServerRuntime() {
  if (impl_ != nullptr) finish();
}

Result<std::unique_ptr<ServerRuntime>> ServerRuntime::start(wire::Loop& loop,
                                                            ServerSettings settings) {
  TRY(make_data_dir(settings.data_dir));
  auto impl = std::make_unique<Impl>(loop, std::move(settings));
  Impl& self = *impl;
  const std::string data = self.settings.data_dir;
  TRY(load_policies(self.settings.policies, self.libraries, self.policies));
  TRY_ASSIGN(self.store, store::SqliteStore::open(data, store::OpenMode::kWrite));
  // Opening looks at what came since the last snapshot; nothing starts on a log changed before it.
  TRY(self.store->verify());
  controller::ControllerOptions options;
  options.policies = &self.policies;
  options.policy_digest = policies::policy_digest(*options.policies);
  options.build = version();
  options.holder = fmt::format("pid {}", getpid());
  options.free_bytes = [data] { return free_bytes(data); };
  const auto give_up = [&self](const Error& error) {
    std::fprintf(stderr, "dove: %s\n", error.message.c_str());
    self.gave_up = true;
    self.loop.stop();
  };
  options.on_fatal = [&self, give_up](const Error& error) {
    self.loop.post([give_up, error] { give_up(error); });
  };
  self.controller = std::make_unique<controller::Controller>(*self.store, *self.store, self.backend,
                                                             std::move(options));
  TRY(self.controller->open());
  TRY(check_blobs(*self.store, self.controller->state()));
  warn_of_missing(self.controller->state(), self.policies);
  server::ApiOptions api;
  api.data_dir = data;
  api.host = self.settings.host;
  api.port = self.settings.port;
  api.version = version();
  api.heartbeat_us = self.settings.heartbeat_us;
  api.on_fatal = give_up;
  TRY_ASSIGN(self.api, server::ApiServer::make(loop, std::move(api), *self.controller, self.backend,
                                               *self.store));
  const auto wanted = changed_settings(self.controller->state().settings, self.settings);
  self.controller->start();
  self.running = true;
  if (wanted.has_value()) {
    StampedEvent event{ObjectApplied{Declared(*wanted)}, {}};
    event.cause.principal = "controller";
    controller::Input input;
    input.events.push_back(std::move(event));
    self.controller->submit(std::move(input), [](Result<controller::Committed>) {});
  }
  self.url = fmt::format("http://{}:{}", self.settings.host, self.api->port());
  TRY(files::write_atomically(data + "/url", self.url + "\n", 0644));
  return std::unique_ptr<ServerRuntime>(new ServerRuntime(std::move(impl)));
}

const std::string& ServerRuntime::url() const { return impl_->url; }

server::ApiServer& ServerRuntime::api() { return *impl_->api; }

void ServerRuntime::shut_down() {
  if (impl_->stopping) {
    impl_->loop.stop();
    return;
  }
  impl_->stopping = true;
  impl_->api->shutdown([this] { impl_->loop.stop(); });
}

int ServerRuntime::finish() {
  if (impl_->running) impl_->controller->stop();
  impl_->running = false;
  return impl_->gave_up ? 1 : 0;
}

}  // namespace dove::programs
