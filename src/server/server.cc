#include "server/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "codec/json.h"
#include "notices/delivery.h"
#include "server/console_files.h"
#include "server/context.h"
#include "server/former_members.h"
#include "server/idle/idle_sweep.h"
#include "server/routes.h"
#include "server/sessions/side_jobs.h"
#include "server/standing/agents_port.h"
#include "server/standing/log_head.h"
#include "server/streams/log_copies.h"
#include "telemetry/log.h"
#include "wire/secret.h"
#include "wire/server.h"

namespace dove::server {
namespace {

// What may wait for one reader: the end of a log, or 1 MiB of the event stream and a record that is
// as large as a body may be.
constexpr std::size_t kReaderBytesMax = 16 << 20;

std::shared_ptr<listener::NodeAuthority> authority_of(const ApiOptions& options,
                                                      const listener::Identity& identity) {
  if (!options.tls.has_value()) return nullptr;
  Result<wire::Authority> authority = wire::Authority::open(options.tls->authority);
  CHECK(authority.ok(), "the program has opened the authority before");
  return std::make_shared<listener::NodeAuthority>(std::move(authority).value(),
                                                   identity.cluster_id(), options.tls->node_valid_s,
                                                   options.tls->is_own);
}

listener::DeskOptions desk_options(const ApiOptions& options,
                                   std::shared_ptr<const listener::NodeAuthority> nodes) {
  listener::DeskOptions made{options.data_dir,      options.heartbeat_us, options.report_burst,
                             options.log_is_remote, options.reads_aside,  std::move(nodes),
                             options.on_fatal};
  made.count_every_us = options.count_every_us;
  made.refused = options.refused;
  made.throttle = options.throttle;
  return made;
}

notices::OfficeOptions office_options(const ApiOptions& options, const listener::Identity& identity,
                                      const openid::Signer& signer) {
  const auto delivery = std::make_shared<notices::Delivery>(options.notices, signer);
  notices::OfficeOptions out;
  out.settings = options.notices;
  out.place = options.notices_place.read != nullptr
                  ? options.notices_place
                  : notices::file_place(options.data_dir + "/notices.json");
  out.cluster_id = identity.cluster_id();
  out.limits.per_hour = options.notices.per_hour;
  out.deliver = [delivery](const notices::Letter& letter, const notices::Origin& origin) {
    return delivery->deliver(letter, origin);
  };
  out.stop = [delivery] { delivery->stop(); };
  return out;
}

// Where people find the console, for links in what they are sent.
std::string console_url(const ApiOptions& options, std::uint16_t port) {
  if (!options.public_url.empty()) return options.public_url;
  std::string host = options.host;
  if (char machine[256] = {}; host == "0.0.0.0" || host == "::") {
    host = gethostname(machine, sizeof machine - 1) == 0 ? machine : "localhost";
  }
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return fmt::format("{}://{}:{}", options.tls.has_value() ? "https" : "http", host, port);
}

}  // namespace

struct ApiServer::Impl {
  Impl(wire::Loop& loop, ApiOptions with, controller::Controller& controller,
       backends::NodeBackend& on, store::LogStore& log, listener::Identity identity,
       openid::Signer signer)
      : nodes(authority_of(with, identity)),
        options(std::move(with)),
        desk(loop, desk_options(options, nodes), controller, log, std::move(identity)),
        backend(on),
        office(desk.loop, desk.state(), log, office_options(options, desk.identity, signer)),
        context{desk,
                backend.open(desk),
                options.version,
                EventFeed(loop, desk.projection, log, *desk.open_access),
                JobWaits(loop, desk.projection),
                ListWatches(loop, desk.projection, *desk.open_access),
                ExecutorSyncs(desk),
                WaysIn(loop, options.sign_in, std::move(signer), options.public_url,
                       options.check_password, options.ask_hook, options.local_passwords),
                office,
                Vault(options.data_dir + "/secrets.key")},
        idle(context),
        sides(context),
        copies(desk),
        routes(listener::bind_routes(context, api_routes())) {
    context.origins = text::SessionOrigins::parse(options.sessions_url);
    context.sessions_url = options.sessions_url;
    context.controllers = options.controllers;
    if (const Result<void> keys = context.vault.check(desk.state().secrets); !keys.ok()) {
      telemetry::log(
          telemetry::Level::kWarning, keys.error().code,
          {{"why", keys.error().message}, {"effect", "tasks with secrets do not start"}});
    }
    desk.open_secret = [this](const Secret& secret) { return context.vault.open(secret); };
    std::ranges::move(listener::bind_routes(copies, log_routes()), std::back_inserter(routes));
    backend.add_routes(routes);
    if (nodes != nullptr) part_routes();
    files.emplace(routes);
    seen->store(desk.state().head.value);
    desk.on_batch([this](const listener::RecentBatch& recent) {
      seen->store(desk.state().head.value);
      context.feed.published(recent);
      context.waits.published(recent);
      context.lists.published(recent);
      context.syncs.published();
      office.committed(recent.committed->batch);
      for (const StampedEvent& event : recent.committed->batch.events) cut_off(event.event);
    });
  }

  // An expelled node's connections end at once, and it gets no further one (may_enter).
  void cut_off(const Event& event) {
    const auto* asked = std::get_if<NodeActionRequested>(&event);
    if (asked == nullptr || agents_port == nullptr) return;
    const core::Node* node = desk.state().find_node(asked->node);
    if (node != nullptr && core::is_expelled(*node)) agents_port->drop(nodes->uri_of(node->name));
  }
  // Whether the node of that URI may connect to the port of agents: its certificate, and its
  // pre-shared key, outlive its removal. Its agent takes a refusal for the leader's: whoever may
  // not answer does not know who was expelled, or has joined, since, and says nothing.
  std::optional<bool> may_enter(const std::string& uri) const {
    if (options.silence && options.silence()) return std::nullopt;
    const auto name = nodes->node_of(uri);
    const core::Node* node = name ? desk.state().find_node(*name) : nullptr;
    return node != nullptr && listener::may_speak(*node).ok();
  }

  // Calls that need a node's certificate are answered where one is asked for, and nowhere else.
  void part_routes() {
    const auto of_agents = [](const listener::Route& route) {
      return route.rule->who == accounts::Who::kAgent;
    };
    const auto first = std::stable_partition(routes.begin(), routes.end(),
                                             [&](const auto& route) { return !of_agents(route); });
    agent_routes.assign(std::make_move_iterator(first), std::make_move_iterator(routes.end()));
    routes.erase(first, routes.end());
  }
  AgentsPort::Answers answers(const std::vector<listener::Route>& table);
  std::unique_ptr<wire::Server> serve_people();
  Result<void> serve_agents(std::shared_ptr<AgentsPort> port);
  std::optional<Error> silence(const wire::Request& request) const {
    if (!options.silence || request.target == "/healthz") return std::nullopt;
    return options.silence();
  }
  // Whether it was a request for /readyz, and there is something to note.
  bool noted(const wire::Request& request, wire::Responder& responder) const;

  const std::shared_ptr<listener::NodeAuthority> nodes;
  const ApiOptions options;
  listener::Desk desk;
  backends::NodeBackend& backend;
  notices::Office office;
  Context context;
  IdleSweep idle;
  SideJobs sides;
  LogCopies copies;
  std::vector<listener::Route> routes;
  std::vector<listener::Route> agent_routes;  // with TLS
  std::optional<const ConsoleFiles> files;    // once the routes are known
  const std::shared_ptr<std::atomic<std::uint64_t>> seen =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::unique_ptr<wire::Server> http;
  std::shared_ptr<AgentsPort> agents_port;  // with TLS
  bool is_retired = false;
};

AgentsPort::Answers ApiServer::Impl::answers(const std::vector<listener::Route>& table) {
  AgentsPort::Answers made;
  made.admit = [this, &table](const wire::Request& head) -> Result<std::size_t> {
    if (const auto silent = silence(head)) return *silent;
    return listener::admit(desk, table, head);
  };
  made.handler = [this, &table](wire::Request request, std::shared_ptr<wire::Responder> responder) {
    if (const auto silent = silence(request)) {
      wire::Response answer = wire::problem(503, *silent);
      answer.headers.emplace_back("Retry-After", "1");
      return responder->send(std::move(answer));
    }
    if (&table == &routes &&
        (noted(request, *responder) || files->answer(desk, request, *responder))) {
      return;
    }
    if (!request.path.starts_with("/v1/agents/")) {
      responder = with_log_head(std::move(responder), seen);
    }
    listener::dispatch(desk, table, std::move(request), std::move(responder));
  };
  return made;
}

std::unique_ptr<wire::Server> ApiServer::Impl::serve_people() {
  AgentsPort::Answers made = answers(routes);
  wire::ServerLimits limits;
  // Without TLS agents call there, too.
  limits.stream_buffer_bytes = nodes == nullptr ? kOrdersBytesMax : kReaderBytesMax;
  limits.admit = std::move(made.admit);
  return std::make_unique<wire::Server>(desk.loop, limits, std::move(made.handler));
}

Result<void> ApiServer::Impl::serve_agents(std::shared_ptr<AgentsPort> port) {
  AgentsPort::Answers made = answers(agent_routes);
  made.may_enter = [this](const std::string& uri) { return may_enter(uri); };
  if (port != nullptr) {
    port->answer_by(std::move(made));
    agents_port = std::move(port);
  } else {
    TRY_ASSIGN(agents_port, AgentsPort::open(desk.loop, options.host, options.tls->agents_port,
                                             options.tls->agents, std::move(made)));
  }
  nodes->listens_at(agents_port->port());
  context.agents_port = agents_port->port();
  return {};
}

bool ApiServer::Impl::noted(const wire::Request& request, wire::Responder& responder) const {
  if (!options.log_note || request.method != "GET" || request.target != "/readyz") return false;
  const std::string note = options.log_note();
  if (note.empty() || desk.controller.refusal() || desk.controller.shortage()) return false;
  responder.send({200,
                  {{"Content-Type", "application/json"}},
                  codec::dump_json(nlohmann::json{{"status", "ready"}, {"warning", note}})});
  return true;
}

Result<std::unique_ptr<ApiServer>> ApiServer::make(wire::Loop& loop, ApiOptions options,
                                                   controller::Controller& controller,
                                                   backends::NodeBackend& backend,
                                                   store::LogStore& log) {
  TRY_ASSIGN(auto identity, listener::Identity::open(options.data_dir, controller.state()));
  if (!options.sessions_url.empty() && !text::SessionOrigins::parse(options.sessions_url)) {
    return invalid(
        "bad_sessions_url",
        fmt::format("{} is neither a name for each session, such as https://*.apps.example.org, "
                    "nor a range of ports, such as http://127.0.0.1:20000-20099",
                    options.sessions_url),
        "--sessions-url");
  }
  TRY_ASSIGN(openid::Signer signer, openid::Signer::open(options.data_dir + "/identity.pem"));
  std::shared_ptr<AgentsPort> open_port;
  if (options.tls.has_value()) open_port = std::move(options.tls->port);
  auto impl = std::make_unique<Impl>(loop, std::move(options), controller, backend, log,
                                     std::move(identity), std::move(signer));
  Impl& self = *impl;
  self.http = self.serve_people();
  auto server = std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
  const auto& tls = self.options.tls;
  TRY(self.http->listen(self.options.host, self.options.port,
                        tls.has_value() ? tls->people : nullptr));
  self.office.start(console_url(self.options, self.http->port()));
  if (const auto local = self.http->listen_unix(self.options.data_dir + "/socket"); !local.ok()) {
    telemetry::log(telemetry::Level::kWarning, "no_socket", {{"why", local.error().message}});
  }
  if (tls.has_value()) TRY(self.serve_agents(std::move(open_port)));
  return server;
}

void ApiServer::begin() {
  controller::Input members;
  members.events = bind_former_members(impl_->desk.state());
  if (!members.events.empty()) impl_->desk.submit(std::move(members), [](const auto&) {});
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ApiServer::~ApiServer() { retire(); }

void ApiServer::retire() {
  if (std::exchange(impl_->is_retired, true)) return;
  impl_->desk.stop();
  impl_->desk.cut();
  impl_->agents_port.reset();
  impl_->http.reset();
  impl_->backend.close();
}

std::uint16_t ApiServer::port() const { return impl_->http->port(); }

std::uint16_t ApiServer::agents_port() const {
  return impl_->agents_port == nullptr ? port() : impl_->agents_port->port();
}

std::string ApiServer::token_path() const { return impl_->options.data_dir + "/token"; }

std::int64_t ApiServer::nodes_connected() const {
  const auto& nodes = impl_->desk.state().nodes;
  return std::count_if(nodes.begin(), nodes.end(), [](const core::Node& node) {
    return !node.removed && node.contact == Contact::kConnected;
  });
}

void ApiServer::follow(const ApiAuthorities& authorities) {
  const auto open = [](const wire::Credentials& credentials) {
    Result<wire::Authority> authority = wire::Authority::open(credentials);
    CHECK(authority.ok(), "the program has opened the authority before");
    return std::move(authority).value();
  };
  std::optional<wire::Authority> next;
  if (authorities.next) next = open(*authorities.next);
  impl_->nodes->follow(open(authorities.shown), std::move(next), authorities.certified);
}

void ApiServer::issue_join_token(const std::string& node, Span valid_for,
                                 std::function<void(Result<std::string>)> done) {
  const std::string token = wire::random_token(32);
  controller::Input input;
  StampedEvent event{JoinTokenIssued{wire::sha256_hex(token), node, impl_->desk.now() + valid_for},
                     {}};
  event.cause.principal = "controller";
  input.events.push_back(std::move(event));
  impl_->desk.submit(std::move(input), [this, token, done = std::move(done)](
                                           const Result<controller::Committed>& committed) {
    if (!committed.ok()) return done(committed.error());
    done(impl_->nodes == nullptr ? token : impl_->nodes->join_token(token));
  });
}

void ApiServer::rest_notices(std::chrono::microseconds at_most, std::function<void()> done) {
  impl_->office.rest(at_most, std::move(done));
}

void ApiServer::shutdown(std::function<void()> on_done) {
  impl_->desk.refusals->flush();
  impl_->desk.stop();
  impl_->desk.keep_goodput();
  impl_->backend.end_streams();
  impl_->context.feed.close_all();
  impl_->context.waits.close_all();
  impl_->context.lists.close_all();
  impl_->copies.close_all();
  impl_->context.ways.devices.close_all();
  impl_->context.syncs.close_all();
  impl_->context.outputs.close_all();
  impl_->office.stop();
  if (impl_->agents_port == nullptr) {
    return impl_->http->shutdown(std::chrono::seconds(3), std::move(on_done));
  }
  impl_->agents_port->shutdown(std::chrono::seconds(3), [this, on_done = std::move(on_done)] {
    impl_->http->shutdown(std::chrono::seconds(3), on_done);
  });
}

}  // namespace dove::server
