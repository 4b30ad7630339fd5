#include "programs/server/server_runtime.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "backends/native/native_backend.h"
#include "controller/controller.h"
#include "core/queue/queue_tree.h"
#include "files/kept_time.h"
#include "files/text_file.h"
#include "foreign/policy_library.h"
#include "model/new_cluster.h"
#include "pam/ask.h"
#include "policies/standard.h"
#include "programs/commands.h"
#include "programs/service/log_check.h"
#include "programs/settings.h"
#include "server/server.h"
#include "store/sqlite/sqlite_store.h"
#include "telemetry/clock.h"
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
  std::unique_ptr<ServerTls> tls;
  std::unique_ptr<server::ApiServer> api;
  std::unique_ptr<LogCheck> check;
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
  wanted.outage_grace = given.outage_grace.value_or(now.outage_grace);
  wanted.silent_after = given.silent_after.value_or(now.silent_after);
  if (given.scheduling) wanted = with_scheduling(wanted, *given.scheduling).value_or(wanted);
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

BlobUsers blob_users(const core::State& state) {
  BlobUsers users;
  for (const auto& [id, job] : state.jobs) {
    auto& of = job.phase == JobPhase::kEnded ? users.over : users.live;
    of[job.spec->exec_digest].push_back(id);
  }
  return users;
}

controller::ControllerOptions controller_options(const ServerSettings& settings,
                                                 const core::Policies& policies) {
  const std::string data = settings.data_dir;
  controller::ControllerOptions options;
  options.policies = &policies;
  options.policy_digest = policies::policy_digest(policies);
  options.new_cluster = new_cluster_settings();
  options.build = version();
  options.holder = fmt::format("pid {}", getpid());
  options.records_kept = settings.log_kept.records;
  options.records_age_max = settings.log_kept.age_max;
  options.free_bytes = [data] { return free_bytes(data); };
  const files::KeptTime kept(data, files::KeptTime::this_boot());
  if (!settings.accepts_clock) options.begin_us = kept.now_us(telemetry::monotonic_us());
  options.keep_time = [kept](std::int64_t now_us, std::int64_t steady_us) {
    kept.keep(now_us, steady_us);
  };
  return options;
}

void take_sign_in(const SignInSettings& settings, server::ApiOptions& api) {
  api.sign_in = settings.providers;
  api.public_url = settings.public_url;
  if (!settings.pam.has_value()) return;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
  api.check_password = [own, service = *settings.pam](const std::string& user,
                                                      const std::string& password) {
    return pam::ask(own, service, user, password);
  };
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
  // The controller reads what came since the last snapshot, and so verifies it.
  store::SqliteOptions of_store;
  of_store.verifies_tail = false;
  TRY_ASSIGN(self.store, store::SqliteStore::open(data, store::OpenMode::kWrite, of_store));
  const auto give_up = [&self](const Error& error) {
    std::fprintf(stderr, "dove: %s\n", error.message.c_str());
    self.gave_up = true;
    self.loop.stop();
  };
  controller::ControllerOptions options = controller_options(self.settings, self.policies);
  options.on_fatal = [&self, give_up](const Error& error) {
    self.loop.post([give_up, error] { give_up(error); });
  };
  self.controller = std::make_unique<controller::Controller>(*self.store, *self.store, self.backend,
                                                             std::move(options));
  TRY(self.controller->open());
  BlobUsers users = blob_users(self.controller->state());
  TRY(check_live_blobs(*self.store, users));
  warn_of_missing(self.controller->state(), self.policies);
  server::ApiOptions api;
  api.data_dir = data;
  api.host = self.settings.host;
  api.port = self.settings.port;
  api.version = version();
  api.heartbeat_us = self.settings.heartbeat_us;
  api.on_fatal = give_up;
  api.sessions_url = self.settings.sessions_url;
  take_sign_in(self.settings.sign_in, api);
  api.notices = self.settings.notices;
  if (self.settings.tls.on) {
    TRY_ASSIGN(self.tls, ServerTls::open(loop, self.settings.tls, data, self.settings.host));
    api.tls = self.tls->for_api();
  }
  TRY_ASSIGN(self.api, server::ApiServer::make(loop, std::move(api), *self.controller, self.backend,
                                               *self.store));
  if (self.tls != nullptr) {
    self.tls->on_authorities(
        [&api = *self.api](const server::ApiAuthorities& all) { api.follow(all); });
  }
  const auto wanted = changed_settings(self.controller->state().settings, self.settings);
  self.controller->start();
  self.running = true;
  self.check = std::make_unique<LogCheck>(*self.store, std::move(users), [&self, give_up](Error e) {
    self.loop.post([give_up, error = std::move(e)] { give_up(error); });
  });
  if (wanted.has_value()) {
    StampedEvent event{ObjectApplied{Declared(*wanted)}, {}};
    event.cause.principal = "controller";
    controller::Input input;
    input.events.push_back(std::move(event));
    self.controller->submit(std::move(input), [](Result<controller::Committed>) {});
  }
  const bool anywhere = self.settings.host == "0.0.0.0" || self.settings.host == "::";
  self.url = fmt::format("{}://{}:{}", self.settings.tls.on ? "https" : "http",
                         anywhere ? "127.0.0.1" : self.settings.host, self.api->port());
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

void ServerRuntime::look(std::function<void()> alive) {
  impl_->controller->submit(controller::Input{},
                            [&loop = impl_->loop, alive = std::move(alive)](
                                const Result<controller::Committed>&) { loop.post(alive); });
}

int ServerRuntime::finish() {
  if (impl_->running) impl_->controller->stop();
  impl_->running = false;
  return impl_->gave_up ? 1 : 0;
}

}  // namespace dove::programs
