#include "notices/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "notices/settings.h"
#include "wire/outside/web_post.h"
#include "wire/secret.h"

namespace dove::notices {
namespace {

constexpr std::size_t kTargetsMax = 16;
constexpr std::string_view kHidden = "/***";

Error invalid(const char* code, std::string message) {
  return Error{ErrorKind::kInvalid, code, std::move(message), "targets"};
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string domain_of(const std::string& address) {
  std::string domain = address.substr(address.rfind('@') + 1);
  std::ranges::transform(domain, domain.begin(), [](unsigned char c) { return tolower(c); });
  return domain;
}

Result<void> check_mail(const Settings& settings, const NoticeTarget& target) {
  if (!settings.smtp.has_value()) {
    return invalid("no_mail",
                   "this cluster sends no mail; choose a webhook, or have an administrator start "
                   "the server with --notices and a file with `smtp:` (docs/operate/notices.md)");
  }
  if (!is_mail_address(target.to)) {
    return invalid("bad_address", fmt::format("{} is no mail address; write NAME@HOST alone",
                                              target.to.substr(0, 64)));
  }
  const auto& domains = settings.mail_domains;
  if (!domains.empty() && std::ranges::find(domains, domain_of(target.to)) == domains.end()) {
    return invalid("domain_refused",
                   fmt::format("notices go to addresses of {} alone", fmt::join(domains, ", ")));
  }
  return {};
}

Result<void> check_url(const Settings& settings, const NoticeTarget& target) {
  if (!settings.webhooks) {
    return invalid("no_webhooks", "this cluster calls no webhooks; choose mail");
  }
  const Result<wire::OutsideUrl> url = wire::parse_outside_url(target.to);
  if (!url.ok()) return invalid("bad_url", url.error().message);
  if (!url->secure && !settings.http_webhooks) {
    return invalid("https_only",
                   "a webhook's URL has to begin with https://, because its messages, "
                   "and often the URL itself, are confidential");
  }
  // A name is looked up when it is called, an address is known now.
  const bool is_address =
      url->host.find(':') != std::string::npos ||
      std::ranges::all_of(url->host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  if (is_address && !settings.webhook_networks.permits(url->host)) {
    return invalid("address_refused",
                   fmt::format("{} is no public address; an administrator may allow its network "
                               "(webhook_networks of --notices)",
                               url->host));
  }
  return {};
}

}  // namespace

bool is_mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos || at == 0 || at > 64 || text.size() > 254) return false;
  const std::string_view name = text.substr(0, at);
  const std::string_view host = text.substr(at + 1);
  const auto in_name = [](char c) {
    return is_alphanumeric(c) ||
           std::string_view(".!#$%&'*+/=?^_`{|}~-").find(c) != std::string_view::npos;
  };
  const auto in_host = [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; };
  const bool dots = name.starts_with('.') || name.ends_with('.') || host.starts_with('.') ||
                    host.ends_with('.') || text.find("..") != std::string_view::npos ||
                    name.starts_with('-') || host.starts_with('-');
  return !host.empty() && !dots && std::ranges::all_of(name, in_name) &&
         std::ranges::all_of(host, in_host);
}

Result<void> check_targets(const Settings& settings, const std::vector<NoticeTarget>& targets) {
  if (targets.size() > kTargetsMax) {
    return invalid("too_many_targets", fmt::format("at most {} targets", kTargetsMax));
  }
  std::set<std::string> seen;
  for (const NoticeTarget& target : targets) {
    if (target.about.empty()) {
      return invalid("nothing_chosen",
                     "`about` says what this target hears of, as in [job_ended, job_failed]");
    }
    TRY(target.by == NoticeBy::kMail ? check_mail(settings, target) : check_url(settings, target));
    if (!seen.insert(target.to).second) {
      return invalid("same_target",
                     fmt::format("{} is there twice; join what it hears of", shown(target)));
    }
  }
  return {};
}

std::string shown(const NoticeTarget& target) {
  if (target.by == NoticeBy::kMail) return target.to;
  const Result<wire::OutsideUrl> url = wire::parse_outside_url(target.to);
  return fmt::format("{}{}{}", url.ok() ? url->origin : "https://?", kHidden,
                     wire::sha256_hex(target.to).substr(0, 8));
}

Result<NoticeTarget> unshown(const NoticeTarget& target,
                             const std::vector<NoticeTarget>& declared) {
  if (target.by == NoticeBy::kMail || target.to.find(kHidden) == std::string::npos) return target;
  for (const NoticeTarget& each : declared) {
    if (each.by != NoticeBy::kMail && shown(each) == target.to) {
      NoticeTarget out = target;
      out.to = each.to;
      return out;
    }
  }
  return invalid("unknown_target",
                 fmt::format("{} stands for no URL that is declared; write the whole URL",
                             target.to.substr(0, 128)));
}

std::string lane_of(const NoticeTarget& target) {
  if (target.by == NoticeBy::kMail) return "mail";
  const Result<wire::OutsideUrl> url = wire::parse_outside_url(target.to);
  return url.ok() ? url->origin : "?";
}

std::string target_id(const std::string& user, const NoticeTarget& target) {
  return wire::sha256_hex(fmt::format("{}\n{}\n{}", user, static_cast<int>(target.by), target.to))
      .substr(0, 16);
}

std::string notice_id(const std::string& cluster_id, const std::string& key,
                      const std::string& target_id) {
  return wire::sha256_hex(cluster_id + "\n" + key + "\n" + target_id).substr(0, 32);
}

}  // namespace dove::notices
