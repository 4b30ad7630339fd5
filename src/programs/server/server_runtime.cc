#include "programs/server/server_runtime.h"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <future>

#include "backends/native/native_backend.h"
#include "controller/controller.h"
#include "core/queue/queue_tree.h"
#include "files/kept_time.h"
#include "files/own_directory.h"
#include "files/text_file.h"
#include "foreign/policy_library.h"
#include "hook/ask.h"
#include "listener/refusal_tally.h"
#include "model/new_cluster.h"
#include "pam/ask.h"
#include "policies/standard.h"
#include "programs/commands.h"
#include "programs/follow/copy_mark.h"
#include "programs/server/shared_authorities.h"
#include "programs/server/shared_log.h"
#include "programs/server/standby_page.h"
#include "programs/server/term.h"
#include "programs/service/log_check.h"
#include "programs/settings.h"
#include "server/server.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"
#include "wire/streams/handshakes.h"

namespace dove::programs {

struct ServerRuntime::Impl {
  wire::Loop& loop;
  ServerSettings settings;
  std::vector<std::unique_ptr<foreign::PolicyLibrary>> libraries;
  core::Policies policies;
  std::unique_ptr<store::SqliteStore> store;  // one of both
  std::unique_ptr<store::PostgresStore> shared;
  store::LogStore* log = nullptr;  // that one, as are the next two
  store::LogKeeper* keeper = nullptr;
  store::LogAuditor* auditor = nullptr;
  backends::NativeBackend backend;
  std::unique_ptr<controller::Controller> controller;
  std::unique_ptr<ServerTls> tls;
  std::unique_ptr<server::ApiServer> api;
  std::unique_ptr<LogCheck> check;
  std::unique_ptr<SharedAuthorities> authorities;  // where controllers share a log, with TLS
  const std::shared_ptr<listener::RefusalTally> refused =
      std::make_shared<listener::RefusalTally>(wire::handshakes_failed);
  std::unique_ptr<Term> term;  // where controllers share a log
  std::unique_ptr<StandbyPage> standby;
  std::string url;
  ServerRuntime::OnTurn on_turn;
  std::atomic<bool> rests = false;  // handed over
  struct Retired {
    std::unique_ptr<server::ApiServer> api;  // one of both
    std::unique_ptr<StandbyPage> page;
    wire::Timer ends;
  };
  std::deque<Retired> retired;
  bool running = false;
  bool stopping = false;
  bool gave_up = false;

  Impl(wire::Loop& on, ServerSettings with) : loop(on), settings(std::move(with)) {}

  void give_up(const Error& error);
  std::function<void(const Error&)> gives_up();
  Result<void> prepare();
  server::ApiOptions api_options();
  std::function<std::int64_t()> time_of_cluster() {
    return [this] { return controller->now_us(); };
  }
  server::ControllerPeers peers();
  Result<void> lead();
  Result<void> begin_standing();
  void take_turn();
  void rest_notices();
  void hand_on();
  void stand_by_again();
  controller::Controller::Following reads_of_standby();
  void retire(std::unique_ptr<server::ApiServer> former, std::unique_ptr<StandbyPage> page);
};

namespace {

// What a server had asked others before it handed over has come back by then.
constexpr std::chrono::seconds kRetired{60};
constexpr std::chrono::milliseconds kNoticesUnderWay{150};

Result<void> make_data_dir(const std::string& path) {
  const Result<void> made = files::make_own_directory(path);
  if (made.ok()) return {};
  return Error{ErrorKind::kInvalid, "data_dir",
               made.error().message + "; give the server a directory of its own with --data", path};
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

controller::ControllerOptions controller_options(const ServerSettings& settings,
                                                 const core::Policies& policies) {
  const std::string data = settings.data_dir;
  controller::ControllerOptions options;
  options.policies = &policies;
  options.policy_digest = policies::policy_digest(policies);
  options.new_cluster = new_cluster_settings();
  options.first_level = settings.first_level;
  options.build = version();
  options.holder = fmt::format("pid {}", getpid());
  options.records_kept = settings.log_kept.records;
  options.records_age_max = settings.log_kept.age_max;
  options.free_bytes = [data] { return free_bytes(data); };
  const files::KeptTime kept(data, files::KeptTime::this_boot());
  options.begin_us = kept.now_us(telemetry::monotonic_us());
  // Where controllers share a log, another may have led meanwhile.
  if (settings.store.empty()) {
    options.off_since_us = kept.before_boot_us();
    options.doubted_us = kept.doubted_us(telemetry::monotonic_us());
  }
  options.clock_accepted = kept.accepted(telemetry::monotonic_us());
  options.keep_time = [kept](std::int64_t now_us, std::int64_t steady_us, bool accepted,
                             std::int64_t doubted_us) {
    kept.keep(now_us, steady_us, accepted, doubted_us);
  };
  return options;
}

void take_sign_in(const SignInSettings& settings, server::ApiOptions& api) {
  api.sign_in = settings.providers;
  api.public_url = settings.public_url;
  api.local_passwords = settings.local_passwords;
  if (settings.hook.has_value()) {
    api.ask_hook = [hook = *settings.hook](hook::Question question) {
      return hook::ask(hook, std::move(question));
    };
  }
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

void ServerRuntime::Impl::give_up(const Error& error) {
  std::fprintf(stderr, "dove: %s\n", error.message.c_str());
  gave_up = true;
  loop.stop();
}

// From any thread.
std::function<void(const Error&)> ServerRuntime::Impl::gives_up() {
  return [this](const Error& error) { loop.post([this, error] { give_up(error); }); };
}

// Everything but the log's first reading.
Result<void> ServerRuntime::Impl::prepare() {
  TRY(make_data_dir(settings.data_dir));
  TRY(check_no_copy(settings.data_dir));
  TRY(load_policies(settings.policies, libraries, policies));
  controller::ControllerOptions options = controller_options(settings, policies);
  options.on_fatal = gives_up();
  if (settings.store.empty()) {
    // The controller reads what came since the last snapshot, and so verifies it.
    store::SqliteOptions of_store;
    of_store.verifies_tail = false;
    TRY_ASSIGN(auto opened,
               store::SqliteStore::open(settings.data_dir, store::OpenMode::kWrite, of_store));
    log = opened.get(), keeper = opened.get(), auditor = opened.get();
    store = std::move(opened);
  } else {
    TRY_ASSIGN(shared, open_shared(settings));
    log = shared.get(), keeper = shared.get(), auditor = shared.get();
    options.free_bytes = {};
    options.holder = name_of_this(settings);
  }
  controller = std::make_unique<controller::Controller>(*log, *keeper, backend, std::move(options));
  return {};
}

server::ApiOptions ServerRuntime::Impl::api_options() {
  server::ApiOptions made;
  made.data_dir = settings.data_dir;
  made.host = settings.host;
  made.port = settings.port;
  made.version = version();
  made.heartbeat_us = settings.heartbeat_us;
  made.on_fatal = [this](const Error& error) { give_up(error); };
  made.reads_aside = true;
  made.sessions_url = settings.sessions_url;
  take_sign_in(settings.sign_in, made);
  made.notices = settings.notices;
  if (shared != nullptr) made.notices_place = shared_notices(*shared, settings.data_dir);
  if (term != nullptr) {
    made.silence = [this]() -> std::optional<Error> {
      if (rests) {
        return Error{ErrorKind::kUnavailable, "not_leader",
                     "this controller hands over to another one", ""};
      }
      if (term->holds()) return std::nullopt;
      return Error{ErrorKind::kUnavailable, "lease_over",
                   "this controller could not renew its lease, and another may lead by now", ""};
    };
    made.log_is_remote = true;
    made.log_note = [this] { return term->can_be_lost(); };
    made.controllers = peers();
    made.refused = refused;
  }
  return made;
}

server::ControllerPeers ServerRuntime::Impl::peers() {
  const auto line_of = [](const store::ControllerSeen& seen) {
    return server::ControllerPeer{seen.name,
                                  seen.url,
                                  seen.version,
                                  /*leads=*/false,
                                  seen.folded.value,
                                  seen.ago_us,
                                  seen.level,
                                  listener::read_refusals(seen.says)};
  };
  server::ControllerPeers made;
  made.all = [this, line_of] {
    const store::PostgresOptions& own = shared->options();
    std::vector<server::ControllerPeer> all = {{own.name, own.leads_at, own.version,
                                                /*leads=*/true, shared->head().seq.value, 0,
                                                kProgramLevel, refused->said()}};
    for (const auto& seen : term->standbys()) all.push_back(line_of(seen));
    return all;
  };
  made.are_known = [this] { return term->knows_standbys(); };
  made.hand_over = [this, line_of](const std::string& to) -> Result<server::ControllerPeer> {
    TRY_ASSIGN(const store::ControllerSeen next, term->hand_over(to));
    return line_of(next);
  };
  return made;
}

// The controller is open, and begins to decide and to answer.
Result<void> ServerRuntime::Impl::lead() {
  const std::string data = settings.data_dir;
  BlobUsers users = blob_users(controller->state());
  // Over a network it is done beside the work: the cluster waits for its new leader.
  if (shared == nullptr) TRY(check_live_blobs(*log, users));
  warn_of_missing(controller->state(), policies);
  server::ApiOptions options = api_options();
  if (standby != nullptr) tls = standby->take_tls();
  if (settings.tls.on && tls == nullptr) {
    TRY_ASSIGN(tls, ServerTls::open(loop, settings.tls, data, settings.host, time_of_cluster()));
  }
  if (tls != nullptr) {
    tls->keep_fresh();  // its certificate is of the time that this standby had
    options.tls = tls->for_api();
  }
  if (standby != nullptr) {
    if (tls != nullptr) options.tls->port = standby->take_agents_port();
    standby->retire();  // it listens where the API is to
    retire(nullptr, std::move(standby));
    controller->on_following({});
  }
  TRY_ASSIGN(api, server::ApiServer::make(loop, std::move(options), *controller, backend, *log));
  if (shared != nullptr) TRY(agree_on_keys(*shared, data));
  if (shared != nullptr) TRY(keep_own_term(data, controller->state().epoch.value));
  if (tls != nullptr) {
    tls->on_authorities([&on = *api](const server::ApiAuthorities& all) { on.follow(all); });
  }
  const auto wanted = changed_settings(controller->state().settings, settings);
  controller->start();
  api->begin();
  running = true;
  check = std::make_unique<LogCheck>(*auditor, shared.get(), std::move(users), gives_up());
  if (wanted.has_value()) {
    telemetry::log(telemetry::Level::kInfo, "settings_applied",
                   {{"effect", "what this server was started with replaces what was declared"}});
    StampedEvent event{ObjectApplied{Declared(*wanted)}, {}};
    event.cause.principal = "controller";
    controller::Input input;
    input.events.push_back(std::move(event));
    controller->submit(std::move(input), [](Result<controller::Committed>) {});
  }
  url = url_of(settings, api->port());
  keep_url(data, url);
  return {};
}

Result<std::unique_ptr<ServerRuntime>> ServerRuntime::start(wire::Loop& loop,
                                                            ServerSettings settings) {
  auto impl = std::make_unique<Impl>(loop, std::move(settings));
  TRY(impl->prepare());
  TRY(impl->controller->open());
  TRY(impl->lead());
  return std::unique_ptr<ServerRuntime>(new ServerRuntime(std::move(impl)));
}

// Listens as a standby, and waits for its turn on a thread of its own.
Result<void> ServerRuntime::Impl::begin_standing() {
  TRY_ASSIGN(standby,
             StandbyPage::open(
                 loop, settings, time_of_cluster(),
                 [this] { return term == nullptr ? Standing() : term->standing(); }, refused));
  controller->on_following(reads_of_standby());
  Term::Calls calls;
  calls.over = gives_up();
  if (authorities != nullptr) {
    authorities->stands_by();
  } else if (settings.tls.on) {
    authorities =
        std::make_unique<SharedAuthorities>(shared_authorities(*shared), settings.data_dir);
  }
  calls.leads = [this] {
    const auto take = [this] { loop.post([this] { take_turn(); }); };
    authorities != nullptr ? authorities->leads(take) : take();
  };
  calls.rests = [this] {
    rest_notices();
    rests = true;
  };
  calls.handed = [this] {
    check.reset();  // here, as it may have to wait for the database
    loop.post([this] { hand_on(); });
  };
  term = std::make_unique<Term>(*shared, *controller, std::move(calls), [refused = refused] {
    return listener::write_refusals(refused->said(), store::Standbys::kSaysMax);
  });
  return {};
}

// Both are called on the term's thread.
controller::Controller::Following ServerRuntime::Impl::reads_of_standby() {
  controller::Controller::Following calls;
  calls.whole = [this](const core::State& state) {
    if (!agrees_on_keys(*shared, settings.data_dir)) return false;  // its tokens would be strange
    loop.post([this, folded = std::make_shared<core::State>(state)] {
      if (standby == nullptr) return;
      const Result<void> reads = standby->read_from(*controller, *log, std::move(*folded));
      if (reads.ok()) return;
      telemetry::log(telemetry::Level::kWarning, "standby_without_reads",
                     {{"code", reads.error().code}, {"why", reads.error().message}});
    });
    return true;
  };
  calls.batch = [this](std::shared_ptr<const controller::CommittedBatch> batch) {
    loop.post([this, batch = std::move(batch)]() mutable {
      if (standby != nullptr) standby->fold(std::move(batch));
    });
  };
  return calls;
}

void ServerRuntime::Impl::retire(std::unique_ptr<server::ApiServer> former,
                                 std::unique_ptr<StandbyPage> page) {
  retired.push_back(
      {std::move(former), std::move(page), loop.after(kRetired, [this] { retired.pop_front(); })});
}

void ServerRuntime::Impl::take_turn() {
  if (stopping) return;
  const Result<void> led = lead();
  if (!led.ok()) return give_up(led.error());
  on_turn(/*leads=*/true);
}

// The next leader goes on from what this one has kept of notices, and it may write only while it
// leads. On the term's thread, which renews the lease: it waits for a part of that alone.
void ServerRuntime::Impl::rest_notices() {
  const auto kept = std::make_shared<std::promise<void>>();
  std::future<void> done = kept->get_future();
  loop.post([this, kept] {
    if (stopping || api == nullptr) return kept->set_value();
    api->rest_notices(kNoticesUnderWay, [kept] { kept->set_value(); });
  });
  done.wait_for(2 * kNoticesUnderWay);
}

// Another controller leads or is about to: agents are told so, and what is in progress is answered.
void ServerRuntime::Impl::hand_on() {
  if (stopping) return;
  running = false;
  api->shutdown([this] { loop.post([this] { stand_by_again(); }); });
}

void ServerRuntime::Impl::stand_by_again() {
  if (stopping) return;
  term.reset();  // its thread is over
  tls.reset();
  api->retire();
  controller->forget_observers();
  retire(std::move(api), nullptr);
  rests = false;
  const Result<void> stands = begin_standing();
  if (!stands.ok()) return give_up(stands.error());
  on_turn(/*leads=*/false);
}

Result<std::unique_ptr<ServerRuntime>> ServerRuntime::stand_by(wire::Loop& loop,
                                                               ServerSettings settings,
                                                               OnTurn on_turn) {
  auto impl = std::make_unique<Impl>(loop, std::move(settings));
  TRY(impl->prepare());
  impl->url = url_of(impl->settings, impl->settings.port);
  impl->on_turn = std::move(on_turn);
  TRY(impl->begin_standing());
  return std::unique_ptr<ServerRuntime>(new ServerRuntime(std::move(impl)));
}

const std::string& ServerRuntime::url() const { return impl_->url; }

server::ApiServer& ServerRuntime::api() { return *impl_->api; }

void ServerRuntime::shut_down() {
  if (impl_->stopping || impl_->api == nullptr) {
    impl_->stopping = true;
    impl_->loop.stop();
    return;
  }
  impl_->stopping = true;
  // Whoever may not lead any more says no farewell: agents would take it for one of their leader.
  if (impl_->term != nullptr && !impl_->term->holds()) return impl_->loop.stop();
  impl_->api->shutdown([this] { impl_->loop.stop(); });
}

void ServerRuntime::look(std::function<void()> alive) {
  if (!impl_->running) return alive();
  impl_->controller->submit(controller::Input{},
                            [&loop = impl_->loop, alive = std::move(alive)](
                                const Result<controller::Committed>&) { loop.post(alive); });
}

int ServerRuntime::finish() {
  if (impl_->running) impl_->controller->stop();
  impl_->running = false;
  impl_->term.reset();
  impl_->check.reset();
  if (impl_->shared != nullptr) impl_->shared->release();
  return impl_->gave_up ? 1 : 0;
}

}  // namespace dove::programs
