#include "server/standing/standby_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <list>
#include <string_view>
#include <utility>

#include "listener/desk.h"
#include "listener/route.h"
#include "server/console_files.h"
#include "server/context.h"
#include "server/routes.h"
#include "server/standing/log_head.h"
#include "server/standing/nodes_elsewhere.h"
#include "server/streams/log_copies.h"
#include "wire/server_limits.h"

namespace dove::server {
namespace {

constexpr std::chrono::seconds kBehindMax{2};
constexpr std::size_t kWaitingMax = 1'000;

// Answered from the log alone, so by every controller.
constexpr std::array<std::string_view, 27> kReads = {
    "listJobs",        "getJob",      "whyJob",      "waitForJob",  "listNodes",
    "getNode",         "listPools",   "listQueues",  "listApps",    "listObjects",
    "getObject",       "listKeys",    "listSecrets", "listSshKeys", "getIdentityIssuer",
    "getIdentityKeys", "getMe",       "getQuota",    "getUsage",    "getCluster",
    "getEvents",       "getVersion",  "getMetrics",  "getOpenapi",  "readLog",
    "readLogSnapshot", "readLogBlobs"};

bool says(const wire::Response& response, std::string_view code) {
  return response.body.find(code) != std::string::npos;
}

// The leader reads it from the same log.
bool is_of_the_log(const wire::Response& response) {
  return says(response, "\"records_forgotten\"") || says(response, "\"snapshot_gone\"");
}

// A name or a token that the leader may know by now.
bool is_unknown_here(const wire::Response& response) {
  return (response.status == 404 && !is_of_the_log(response)) ||
         (response.status == 401 && says(response, "\"token_invalid\""));
}

// Whom to ask, of an answer that another controller gives better.
void add_leader(const StandbyOptions& options, wire::Response& response) {
  if (is_unknown_here(response)) {
    response = refused_by_standby(options.not_leader(), options.leader_url());
  } else if (response.status == 503 && response.header("Retry-After").empty()) {
    response.headers.emplace_back("Retry-After", "1");
    const std::string url = options.leader_url();
    if (!url.empty()) response.headers.emplace_back("Dove-Leader", url);
  }
}

listener::DeskOptions desk_options(const StandbyOptions& options) {
  listener::DeskOptions made;
  made.data_dir = options.data_dir;
  made.reads_aside = true;
  made.count_every_us = options.count_every_us;
  made.refused = options.refused;
  return made;
}

}  // namespace

bool is_standby_read(std::string_view operation) {
  return std::ranges::find(kReads, operation) != kReads.end();
}

wire::Response refused_by_standby(const Error& why, const std::string& leader_url) {
  wire::Response response = wire::problem(503, why);
  response.headers.emplace_back("Retry-After", "1");
  if (!leader_url.empty()) response.headers.emplace_back("Dove-Leader", leader_url);
  return response;
}

struct StandbyReads::Impl {
  Impl(wire::Loop& loop, StandbyOptions with, controller::Controller& controller,
       store::LogStore& log, core::State folded, listener::Identity identity, openid::Signer signer)
      : options(std::make_shared<const StandbyOptions>(std::move(with))),
        desk(loop, desk_options(*options), controller, log, std::move(identity), std::move(folded)),
        nodes(desk.state(), options->not_leader, options->leader_url),
        office(loop, desk.state(), log, {}),
        context{desk,
                nodes.access(),
                options->version,
                EventFeed(loop, desk.projection, log, *desk.open_access),
                JobWaits(loop, desk.projection),
                ListWatches(loop, desk.projection, *desk.open_access),
                ExecutorSyncs(desk),
                WaysIn(loop, {}, std::move(signer), options->public_url, {}, {}, false),
                office,
                Vault(options->data_dir + "/secrets.key")},
        copies(desk),
        routes(listener::bind_routes(context, api_routes())) {
    std::ranges::move(listener::bind_routes(copies, log_routes()), std::back_inserter(routes));
    context.origins = text::SessionOrigins::parse(options->sessions_url);
    context.sessions_url = options->sessions_url;
    context.elsewhere = options->not_leader;
    files.emplace(routes);
    std::erase_if(routes, [](const listener::Route& route) {
      return !is_standby_read(route.words.operation);
    });
    head->store(desk.state().head.value);
    desk.on_batch([this](const listener::RecentBatch& recent) {
      head->store(desk.state().head.value);
      context.feed.published(recent);
      context.waits.published(recent);
      context.lists.published(recent);
      serve_waiting();
    });
  }

  // A read of what is not here yet.
  struct Waiting {
    Seq wanted;
    wire::Request request;
    std::shared_ptr<wire::Responder> responder;
    wire::Timer ends;
  };

  void dispatch(wire::Request request, std::shared_ptr<wire::Responder> responder) {
    listener::dispatch(desk, routes, std::move(request), std::move(responder));
  }
  void wait(Seq wanted, wire::Request request, std::shared_ptr<wire::Responder> responder);
  void serve_waiting();
  Error behind(Seq wanted) const;

  const std::shared_ptr<const StandbyOptions> options;
  listener::Desk desk;
  NodesElsewhere nodes;
  notices::Office office;  // never started: notices are the leader's to send
  Context context;
  LogCopies copies;
  std::vector<listener::Route> routes;
  std::optional<const ConsoleFiles> files;  // once the routes are known
  std::shared_ptr<std::atomic<std::uint64_t>> head =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::list<Waiting> waiting;
};

Error StandbyReads::Impl::behind(Seq wanted) const {
  return Error{ErrorKind::kUnavailable, "standby_behind",
               fmt::format("this controller has the log up to record {}, and the answer has to "
                           "contain record {}: ask again, or ask the leader",
                           desk.state().head.value, wanted.value),
               kLogHead};
}

void StandbyReads::Impl::wait(Seq wanted, wire::Request request,
                              std::shared_ptr<wire::Responder> responder) {
  if (waiting.size() >= kWaitingMax) {
    return responder->send(refused_by_standby(behind(wanted), options->leader_url()));
  }
  const auto one = waiting.insert(waiting.end(), {wanted, std::move(request), responder, {}});
  one->ends = desk.loop.after(kBehindMax, [this, one] {
    const auto late = std::move(one->responder);
    const Seq missed = one->wanted;
    waiting.erase(one);
    late->send(refused_by_standby(behind(missed), options->leader_url()));
  });
}

void StandbyReads::Impl::serve_waiting() {
  std::list<Waiting> ready;
  for (auto one = waiting.begin(); one != waiting.end();) {
    const auto next = std::next(one);
    if (one->wanted <= desk.state().head) ready.splice(ready.end(), waiting, one);
    one = next;
  }
  for (Waiting& one : ready) {
    one.ends.cancel();
    dispatch(std::move(one.request), std::move(one.responder));
  }
}

Result<std::unique_ptr<StandbyReads>> StandbyReads::make(wire::Loop& loop, StandbyOptions options,
                                                         controller::Controller& controller,
                                                         store::LogStore& log, core::State folded) {
  TRY_ASSIGN(auto identity, listener::Identity::open(options.data_dir, folded));
  TRY_ASSIGN(openid::Signer signer, openid::Signer::open(options.data_dir + "/identity.pem"));
  return std::unique_ptr<StandbyReads>(new StandbyReads(
      std::make_unique<Impl>(loop, std::move(options), controller, log, std::move(folded),
                             std::move(identity), std::move(signer))));
}

StandbyReads::StandbyReads(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

StandbyReads::~StandbyReads() {
  let_go();
  impl_->desk.cut();
}

void StandbyReads::fold(std::shared_ptr<const controller::CommittedBatch> batch) {
  impl_->desk.take_batch(std::move(batch));
}

std::string StandbyReads::trouble() {
  const Result<void> keys = impl_->context.vault.check(impl_->desk.state().secrets);
  return keys.ok() ? "" : keys.error().message;
}

bool StandbyReads::answer(wire::Request& request, std::shared_ptr<wire::Responder>& responder) {
  Impl& self = *impl_;
  const listener::Route* route = listener::find_route(self.routes, request);
  if (route == nullptr) return self.files->answer(self.desk, request, *responder);
  auto headed = with_log_head(std::move(responder), self.head,
                              [options = self.options](auto& made) { add_leader(*options, made); });
  const Result<Seq> wanted = wanted_head(request);
  if (!wanted.ok()) {
    headed->send(wire::problem(wanted.error()));
  } else if (*wanted <= self.desk.state().head || route->rule->who == accounts::Who::kAnyone) {
    self.dispatch(std::move(request), std::move(headed));
  } else if (const auto may = listener::admit(self.desk, self.routes, request); !may.ok()) {
    headed->send(wire::problem(may.error()));  // a stranger keeps nothing waiting
  } else {
    self.wait(*wanted, std::move(request), std::move(headed));
  }
  return true;
}

void StandbyReads::let_go() {
  impl_->desk.refusals->flush();
  for (Impl::Waiting& one : std::exchange(impl_->waiting, {})) {
    one.ends.cancel();
    one.responder->send(
        refused_by_standby(impl_->behind(one.wanted), impl_->options->leader_url()));
  }
  impl_->context.feed.close_all();
  impl_->context.waits.close_all();
  impl_->context.lists.close_all();
  impl_->copies.close_all();
}

}  // namespace dove::server
