#include "notices/delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "telemetry/clock.h"
#include "wire/outside/smtp.h"
#include "wire/outside/web_post.h"
#include "wire/secret.h"

namespace dove::notices {
namespace {

using Json = nlohmann::json;
using Ending = Attempted::Ending;

constexpr std::int64_t kSignatureValid_s = 300;
constexpr int kGone = 410;
// What Slack answers to a form, a token or a channel that will not do, ever
// (docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, "Error handling").
constexpr int kSlackForGood[] = {400, 403, 404, kGone};

bool is_for_good(NoticeBy by, int status) {
  if (by != NoticeBy::kSlack) return status == kGone;
  return std::ranges::find(kSlackForGood, status) != std::end(kSlackForGood);
}

// Whether nobody answered: then the host is left alone for a while.
bool is_hosts(const Error& error) {
  if (error.code == "mail_delayed") return false;  // it answered, about this recipient
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout ||
         error.code == "login_refused";
}

}  // namespace

Attempted Delivery::deliver(const Letter& letter, const Origin& origin) const {
  return letter.target.by == NoticeBy::kMail ? by_mail(letter, origin) : by_web(letter, origin);
}

Attempted Delivery::by_mail(const Letter& letter, const Origin& origin) const {
  if (!settings_.smtp.has_value()) {
    return {Ending::kRefused, false,
            Error{ErrorKind::kInvalid, "no_mail", "this cluster sends no mail any more", ""}};
  }
  const wire::Mail mail{settings_.from, letter.target.to,
                        mail_of(letter.notice, origin, settings_.from, letter.target.to, letter.id,
                                Instant{telemetry::now_us()})};
  const Result<void> sent = wire::send_mail(*settings_.smtp, mail, stopping_);
  if (sent.ok()) return {};
  const Error& error = sent.error();
  const bool for_good = error.code == "mail_refused";
  return {for_good ? Ending::kRefused : Ending::kRetry, is_hosts(error) && !for_good, error};
}

std::string Delivery::signature(const Letter& letter, const Origin& origin,
                                const std::string& body) const {
  const Result<wire::OutsideUrl> url = wire::parse_outside_url(letter.target.to);
  const std::int64_t now_s = telemetry::now_us() / 1'000'000;
  const Json claims{{"iss", origin.url}, {"aud", "notice:" + (url.ok() ? url->origin : "")},
                    {"iat", now_s},      {"exp", now_s + kSignatureValid_s},
                    {"jti", letter.id},  {"body_sha256", wire::sha256_hex(body)}};
  return signer_.sign(claims, "dove-notice+jwt");
}

Attempted Delivery::by_web(const Letter& letter, const Origin& origin) const {
  const bool is_slack = letter.target.by == NoticeBy::kSlack;
  wire::WebPost post;
  post.url = letter.target.to;
  post.ca_file = settings_.ca_file;
  post.body = codec::dump_json(is_slack ? slack_body(letter.notice, origin)
                                        : webhook_body(letter.notice, origin, letter.id));
  post.headers = {{"Content-Type", "application/json"},
                  {"User-Agent", "dove-notices"},
                  {"Dove-Notice-Id", letter.id}};
  if (!is_slack) {
    post.headers.emplace_back("Dove-Notice-Signature", signature(letter, origin, post.body));
  }
  const Result<int> status = wire::post_outside(post, settings_.webhook_networks, stopping_);
  if (!status.ok()) return {Ending::kRetry, is_hosts(status.error()), status.error()};
  if (*status >= 200 && *status < 300) return {};
  const char* remedy = *status >= 300 && *status < 400 ? "; redirects are not followed" : "";
  const Error error{ErrorKind::kUnavailable, fmt::format("http_{}", *status),
                    fmt::format("{} answered {}{}", letter.lane, *status, remedy), ""};
  const bool for_good = is_for_good(letter.target.by, *status);
  return {for_good ? Ending::kRefused : Ending::kRetry, false, error};
}

}  // namespace dove::notices
