#include "programs/server/standby_page.h"

#include <fmt/format.h>

#include <utility>

namespace dove::programs {
namespace {

wire::ServerLimits limits_of(std::function<Error()> refusal) {
  wire::ServerLimits limits;
  limits.admit = [refusal = std::move(refusal)](const wire::Request&) -> Result<std::size_t> {
    return refusal();
  };
  return limits;
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

StandbyPage::StandbyPage(wire::Loop& loop, std::function<Standing()> standing)
    : standing_(std::move(standing)),
      server_(loop, limits_of([this] { return not_leader(standing_()); }),
              [this](const wire::Request& request, const std::shared_ptr<wire::Responder>& out) {
                out->send(answer(request));
              }) {}

Result<std::unique_ptr<StandbyPage>> StandbyPage::open(wire::Loop& loop,
                                                       const ServerSettings& settings,
                                                       std::function<Standing()> standing) {
  std::unique_ptr<StandbyPage> page(new StandbyPage(loop, std::move(standing)));
  std::shared_ptr<const wire::Tls> people;
  if (settings.tls.on) {
    TRY_ASSIGN(page->tls_, ServerTls::open(loop, settings.tls, settings.data_dir, settings.host));
    people = page->tls_->for_api().people;
  }
  TRY(page->server_.listen(settings.host, settings.port, people));
  return page;
}

wire::Response StandbyPage::answer(const wire::Request& request) const {
  if (request.method == "GET" && request.target == "/healthz") {
    return {200, {{"Content-Type", "application/json"}}, "{\"status\":\"ok\"}"};
  }
  const Standing now = standing_();
  Error error = not_leader(now);
  if (now.leader && request.target == "/readyz") {
    error.message += fmt::format("; its log ends at {}, folded up to {}", now.leader->head.value,
                                 now.folded.value);
  }
  wire::Response out = wire::problem(503, error);
  out.headers.emplace_back("Retry-After", "1");
  if (now.leader && now.leader->left_us > 0)
    out.headers.emplace_back("Dove-Leader", now.leader->url);
  return out;
}

}  // namespace dove::programs
