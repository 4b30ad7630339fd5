#include "programs/follow/follow_page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "telemetry/clock.h"
#include "telemetry/exposition.h"

namespace dove::programs {
namespace {

Error no_controller(const std::string& url) {
  return Error{
      ErrorKind::kUnavailable, "follower",
      fmt::format("this is a follower, which keeps a copy of the log of {}: ask there", url), ""};
}

wire::ServerLimits limits_of(const std::string& url) {
  wire::ServerLimits limits;
  limits.admit = [url](const wire::Request&) -> Result<std::size_t> { return no_controller(url); };
  return limits;
}

// A follower makes none: it would be another cluster's, beside a copy that is to go on as this one.
Result<void> has_authority(const std::string& data) {
  for (const char* name : {"/ca.pem", "/ca.key"}) {
    if (::access((data + name).c_str(), R_OK) == 0) continue;
    return Error{
        ErrorKind::kInvalid, "no_authority",
        fmt::format("{}{} is not there: copy ca.* from the source's data directory, for a "
                    "page with TLS; or give --tls-certificate, leave the page on loopback, "
                    "or say --insecure",
                    data, name),
        "--host"};
  }
  return {};
}

// Since the copy was known to be whole; -1: it has not been since the start.
std::int64_t behind_s(const Follower::Standing& now) {
  if (now.whole_us == 0) return -1;
  return (telemetry::monotonic_us() - now.whole_us) / 1'000'000;
}

wire::Response json(int status, const nlohmann::json& body) {
  return {status, {{"Content-Type", "application/json"}}, codec::dump_json(body)};
}

}  // namespace

FollowPage::FollowPage(wire::Loop& loop, std::string url,
                       std::function<Follower::Standing()> standing)
    : url_(std::move(url)),
      standing_(std::move(standing)),
      server_(loop, limits_of(url_),
              [this](const wire::Request& request, const std::shared_ptr<wire::Responder>& out) {
                out->send(answer(request));
              }) {}

Result<std::unique_ptr<FollowPage>> FollowPage::open(wire::Loop& loop,
                                                     const ServerSettings& settings,
                                                     std::function<Follower::Standing()> standing) {
  std::unique_ptr<FollowPage> page(new FollowPage(loop, settings.follow.urls, std::move(standing)));
  std::shared_ptr<const wire::Tls> people;
  if (settings.tls.on && !settings.tls.certificate_path.empty()) {
    wire::TlsServerOptions options;
    options.allows_1_2 = settings.tls.allows_1_2;
    TRY_ASSIGN(page->site_, SiteCertificate::open(loop, settings.tls.certificate_path,
                                                  settings.tls.key_path, options));
    people = page->site_->tls();
  } else if (settings.tls.on) {
    TRY(has_authority(settings.data_dir));
    TRY_ASSIGN(page->tls_, ServerTls::open(loop, settings.tls, settings.data_dir, settings.host,
                                           [] { return telemetry::now_us(); }));
    people = page->tls_->for_api().people;
  }
  TRY(page->server_.listen(settings.host, settings.port, people));
  return page;
}

wire::Response FollowPage::answer(const wire::Request& request) const {
  if (request.method == "GET" && request.target == "/healthz") {
    return json(200, {{"status", "ok"}});
  }
  if (request.method == "GET" && request.target == "/readyz") return readiness();
  if (request.method == "GET" && request.target == "/metrics") {
    return {200, {{"Content-Type", "text/plain; version=0.0.4"}}, metrics()};
  }
  return wire::problem(503, no_controller(url_));
}

wire::Response FollowPage::readiness() const {
  const Follower::Standing now = standing_();
  const std::string how_far = fmt::format("the copy ends at {}, the log of {} at {}",
                                          now.kept.value, url_, now.source.value);
  if (now.is_current(telemetry::monotonic_us())) {
    return json(200, {{"status", "ready"},
                      {"follows", url_},
                      {"records_to", now.kept.value},
                      {"source_head", now.source.value},
                      {"behind_s", behind_s(now)}});
  }
  // The program's log says more; here anybody may ask.
  const std::string why = now.trouble ? "not followed now (" + now.trouble->code + ")" : "behind";
  return wire::problem(503,
                       Error{ErrorKind::kUnavailable, "copy_is_behind", why + ": " + how_far, ""});
}

std::string FollowPage::metrics() const {
  using Kind = telemetry::Exposition::Kind;
  const Follower::Standing now = standing_();
  telemetry::Exposition out;
  const auto gauge = [&](const char* name, const char* about, std::uint64_t value) {
    out.family(name, Kind::kGauge, about);
    out.add({}, static_cast<double>(value));
  };
  gauge("dove_follower_records_to", "The last record of the copy.", now.kept.value);
  gauge("dove_follower_source_head", "The last record of the source, when it last answered.",
        now.source.value);
  gauge("dove_follower_interrupted", "1 while the source cannot be followed.", now.trouble ? 1 : 0);
  if (now.whole_us == 0) return out.text();
  gauge("dove_follower_behind_seconds", "Since the copy was known to be whole.",
        static_cast<std::uint64_t>(behind_s(now)));
  return out.text();
}

}  // namespace dove::programs
