#include "programs/server/standby_page.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "programs/commands.h"
#include "programs/server/shared_log.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

// A log that could not be read for this long may have gone on.
constexpr std::int64_t kStale_us = 5'000'000;
constexpr std::chrono::seconds kLook{1};
// A name is looked up for it, which the loop waits for.
constexpr std::int64_t kListenAgain_us = 10'000'000;

wire::ServerLimits limits_of(std::function<Error()> refusal) {
  wire::ServerLimits limits;
  limits.admit = [refusal = std::move(refusal)](const wire::Request&) -> Result<std::size_t> {
    return refusal();
  };
  return limits;
}

std::string url_of_leader(const Standing& now) {
  return now.leader && now.leader->left_us > 0 ? now.leader->url : "";
}

Error not_leader(const Standing& now) {
  std::string who = "nobody leads yet";
  if (now.leader && now.leader->left_us > 0) {
    who = fmt::format("standby of {} ({})", now.leader->holder, now.leader->url);
  } else if (now.leader && now.leader->epoch) {
    who = fmt::format("standby of {}, whose lease is over", now.leader->holder);
  }
  // The program's log says more; here anybody may ask.
  if (now.trouble) who += fmt::format("; the log cannot be followed now ({})", now.trouble->code);
  return Error{ErrorKind::kUnavailable, "not_leader", who, ""};
}

}  // namespace

StandbyPage::StandbyPage(wire::Loop& loop, ServerSettings settings,
                         std::function<Standing()> standing,
                         std::shared_ptr<listener::RefusalTally> refused)
    : loop_(loop),
      settings_(std::move(settings)),
      standing_(std::move(standing)),
      refused_(std::move(refused)),
      own_term_(own_term(settings_.data_dir)),
      server_(std::make_unique<wire::Server>(
          loop, limits_of([this] { return not_leader(standing_()); }),
          [this](wire::Request request, std::shared_ptr<wire::Responder> out) {
            serve(std::move(request), std::move(out));
          })) {}

Result<std::unique_ptr<StandbyPage>> StandbyPage::open(
    wire::Loop& loop, const ServerSettings& settings, std::function<std::int64_t()> now_us,
    std::function<Standing()> standing, std::shared_ptr<listener::RefusalTally> refused) {
  std::unique_ptr<StandbyPage> page(
      new StandbyPage(loop, settings, std::move(standing), std::move(refused)));
  std::shared_ptr<const wire::Tls> people;
  if (settings.tls.on) {
    TRY_ASSIGN(page->tls_, ServerTls::open(loop, settings.tls, settings.data_dir, settings.host,
                                           std::move(now_us)));
    people = page->tls_->for_api().people;
  }
  TRY(page->server_->listen(settings.host, settings.port, people));
  return page;
}

Result<void> StandbyPage::read_from(controller::Controller& controller, store::LogStore& log,
                                    core::State folded) {
  server::StandbyOptions options;
  options.data_dir = settings_.data_dir;
  options.version = version();
  options.public_url = settings_.sign_in.public_url;
  options.sessions_url = settings_.sessions_url;
  options.refused = refused_;
  options.not_leader = [standing = standing_] { return not_leader(standing()); };
  options.leader_url = [standing = standing_] { return url_of_leader(standing()); };
  reads_.reset();
  TRY_ASSIGN(reads_, server::StandbyReads::make(loop_, std::move(options), controller, log,
                                                std::move(folded)));
  look();
  return {};
}

void StandbyPage::fold(std::shared_ptr<const controller::CommittedBatch> batch) {
  if (reads_ != nullptr) reads_->fold(std::move(batch));
}

void StandbyPage::retire() {
  look_timer_.cancel();
  if (reads_ != nullptr) reads_->let_go();
  server_.reset();
  agents_port_.reset();
  tls_.reset();
}

bool StandbyPage::follows() const {
  return telemetry::monotonic_us() - standing_().followed_us <= kStale_us;
}

// Whoever waits for a change here must not wait for a log that cannot be read.
void StandbyPage::look() {
  look_timer_ = loop_.after(kLook, [this] { look(); });
  if (reads_ != nullptr && !follows()) reads_->let_go();
  if (tls_ != nullptr && agents_port_ == nullptr) listen_for_agents();
}

// A term of a former life of this controller. The name and the URL together tell those of a former
// version, which keeps no term.
bool StandbyPage::is_own(const store::LeaderSeen& leader) const {
  if (leader.epoch.value == own_term_) return true;
  return leader.holder == name_of_this(settings_) &&
         leader.url == url_of(settings_, settings_.port);
}

void StandbyPage::listen_for_agents() {
  const Standing now = standing_();
  if (!now.leader || !now.leader->epoch || is_own(*now.leader)) return;
  const std::int64_t now_us = telemetry::monotonic_us();
  if (now_us < listens_us_) return;
  server::AgentsPort::Answers answers;
  answers.admit = [this](const wire::Request&) -> Result<std::size_t> {
    return not_leader(standing_());
  };
  answers.handler = [this](const wire::Request& request,
                           const std::shared_ptr<wire::Responder>& out) {
    out->send(refusal(request));
  };
  const server::ApiTls shown = tls_->for_api();
  Result<std::unique_ptr<server::AgentsPort>> opened = server::AgentsPort::open(
      loop_, settings_.host, shown.agents_port, shown.agents, std::move(answers));
  if (opened.ok()) {
    agents_port_ = std::move(opened).value();
  } else if (std::exchange(listens_us_, now_us + kListenAgain_us) == 0) {
    telemetry::log(telemetry::Level::kWarning, "no_agents_port",
                   {{"why", opened.error().message},
                    {"effect", "agents need longer to find this controller once it leads"}});
  }
}

void StandbyPage::serve(wire::Request request, std::shared_ptr<wire::Responder> out) {
  if (request.method == "GET" && request.target == "/healthz") {
    nlohmann::json alive{{"status", "ok"}};
    if (tls_ != nullptr) alive["agents_port"] = agents_port_ == nullptr ? 0 : agents_port_->port();
    return out->send({200, {{"Content-Type", "application/json"}}, codec::dump_json(alive)});
  }
  const bool may_read = request.target != "/readyz" && reads_ != nullptr && follows();
  if (may_read && reads_->answer(request, out)) return;
  out->send(refusal(request));
}

wire::Response StandbyPage::refusal(const wire::Request& request) const {
  const Standing now = standing_();
  Error error = not_leader(now);
  if (now.leader && request.target == "/readyz") {
    error.message += fmt::format("; its log ends at {}, folded up to {}", now.leader->head.value,
                                 now.folded.value);
    const std::string trouble = reads_ == nullptr ? "" : reads_->trouble();
    if (!trouble.empty()) error.message += "; " + trouble;
  }
  return server::refused_by_standby(error, url_of_leader(now));
}

}  // namespace dove::programs
