#include "notices/settings.h"

#include <fmt/format.h>

#include "files/text_file.h"
#include "notices/target.h"
#include "yaml/fields.h"

namespace dove::notices {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;
constexpr std::size_t kListMax = 64;

Result<std::string> secret(const yaml::Fields& in, const std::string& file) {
  const Result<std::string> found = files::read_text(file, 4096);
  if (!found.ok()) return in.wrong("password_file", found.error().message);
  std::string out = *found;
  while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
  if (!out.empty()) return out;
  return in.wrong("password_file", file + " is empty; it holds the relay's password");
}

Result<void> read_smtp(const yaml::Value& map, Settings& out) {
  wire::SmtpRelay relay;
  std::string password_file;
  bool starttls = true;
  yaml::Fields in(map, "smtp");
  in.line("url", relay.url);
  in.line("from", out.from);
  in.line("user", relay.user);
  in.line("password_file", password_file);
  in.line("ca_file", relay.ca_file);
  in.flag("starttls", starttls);
  TRY(in.end());
  if (const auto host = wire::host_of_relay(relay.url); !host.ok()) {
    return in.wrong("smtp needs a `url:`, smtp://HOST:PORT or smtps://HOST:PORT");
  }
  if (!is_mail_address(out.from)) {
    return in.wrong("smtp needs a `from:`, the address that notices come from");
  }
  relay.plain = !starttls;
  if (relay.plain && !relay.user.empty()) {
    return in.wrong("a password is not sent without TLS: leave out `starttls: false`, or `user:`");
  }
  if (relay.user.empty() != password_file.empty()) {
    return in.wrong("`user:` and `password_file:` belong together");
  }
  if (!password_file.empty()) {
    TRY_ASSIGN(relay.password, secret(in, password_file));
  }
  out.smtp = std::move(relay);
  return {};
}

Result<Settings> read_all(const std::string& path) {
  TRY_ASSIGN(const std::string text, files::read_text(path, kFileBytesMax));
  TRY_ASSIGN(const yaml::ValueRef root, yaml::read(path, text));
  Settings out;
  std::int64_t soon_s = 900;
  yaml::Fields in(*root, "the file");
  const yaml::Value* const smtp = in.map("smtp");
  in.lines("mail_domains", out.mail_domains, kListMax);
  const std::vector<yaml::ValueRef>& networks = in.list("webhook_networks", kListMax);
  in.flag("webhooks", out.webhooks);
  in.flag("http_webhooks", out.http_webhooks);
  in.line("ca_file", out.ca_file);
  in.integer("per_hour", out.per_hour, 1, 10'000);
  in.integer("soon_s", soon_s, 60, 24 * 3600);
  TRY(in.end());
  out.soon = seconds(soon_s);
  if (smtp != nullptr) TRY(read_smtp(*smtp, out));
  for (const yaml::ValueRef& each : networks) {
    TRY_ASSIGN(const std::string network, yaml::line_of(*each, "a network"));
    const Result<void> allowed = out.webhook_networks.allow(network);
    if (!allowed.ok()) return yaml::wrong(*each, allowed.error().message);
  }
  return out;
}

}  // namespace

Result<Settings> read_settings(const std::string& path) {
  Result<Settings> read = read_all(path);
  if (read.ok() || read.error().kind != ErrorKind::kInvalid) return read;
  return yaml::coded(read.error(), "bad_notices_file");
}

}  // namespace dove::notices
