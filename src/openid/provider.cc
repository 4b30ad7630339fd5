#include "openid/provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "files/text_file.h"
#include "yaml/fields.h"

namespace dove::openid {
namespace {

constexpr std::size_t kFileBytesMax = 256 << 10;
constexpr std::size_t kProvidersMax = 16;
constexpr std::size_t kScopesMax = 32;

Result<void> check_scopes(const yaml::Fields& in, std::vector<std::string>& scopes) {
  for (const std::string& scope : scopes) {
    if (scope.empty() || scope.find(' ') != std::string::npos) {
      return in.wrong("scopes", fmt::format("'{}' is not a scope, which is one word", scope));
    }
  }
  if (std::ranges::find(scopes, "openid") == scopes.end()) scopes.insert(scopes.begin(), "openid");
  return {};
}

Result<void> check(const yaml::Fields& in, Provider& one) {
  const auto is_plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (one.name.empty() || one.name.size() > 32 || !std::ranges::all_of(one.name, is_plain)) {
    return in.wrong("a provider has a `name:` of at most 32 of a-z, 0-9 and -");
  }
  if (!is_safe_url(one.issuer)) {
    return in.wrong(
        fmt::format("provider {} needs an `issuer:` that begins with https://, as its "
                    "service names itself",
                    one.name));
  }
  if (one.client_id.empty()) {
    return in.wrong(
        fmt::format("provider {} needs the `client_id:` that its service gave this "
                    "cluster",
                    one.name));
  }
  if (!one.url.empty() && !is_safe_url(one.url)) {
    return in.wrong("`url:` is this server's own, as browsers reach it: https://...");
  }
  if (!one.group_prefix.empty() && one.groups_claim.empty()) {
    return in.wrong("`group_prefix:` has no effect without `groups:`");
  }
  if (!one.groups_claim.empty() && one.group_prefix.empty()) one.group_prefix = one.name + ".";
  while (one.url.ends_with('/')) one.url.pop_back();
  if (one.title.empty()) one.title = one.name;
  return {};
}

Result<std::string> secret(const yaml::Fields& in, const std::string& file) {
  const Result<std::string> read = files::read_text(file, 4096);
  if (!read.ok()) return in.wrong("client_secret_file", read.error().message);
  std::string text = *read;
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (!text.empty()) return text;
  return in.wrong("client_secret_file", file + " is empty; it holds the client's secret");
}

Result<Provider> read_provider(const yaml::Value& value) {
  Provider out;
  std::string secret_file;
  yaml::Fields in(value, "a provider");
  in.line("name", out.name);
  in.line("title", out.title);
  in.line("issuer", out.issuer);
  in.line("client_id", out.client_id);
  in.line("client_secret_file", secret_file);
  in.lines("scopes", out.scopes, kScopesMax);
  in.line("user", out.user_claim);
  in.line("linux_user", out.linux_user_claim);
  in.line("groups", out.groups_claim);
  in.line("group_prefix", out.group_prefix);
  in.line("domain", out.domain);
  in.flag("creates_users", out.creates_users);
  in.flag("links_users", out.links_users);
  in.line("url", out.url);
  in.line("ca_file", out.ca_file);
  TRY(in.end());
  TRY(check_scopes(in, out.scopes));
  TRY(check(in, out));
  if (!secret_file.empty()) {
    TRY_ASSIGN(out.client_secret, secret(in, secret_file));
  }
  return out;
}

Result<std::vector<Provider>> read_all(const std::string& path) {
  TRY_ASSIGN(const std::string text, files::read_text(path, kFileBytesMax));
  TRY_ASSIGN(const yaml::ValueRef root, yaml::read(path, text));
  yaml::Fields in(*root, "the file");
  const std::vector<yaml::ValueRef>& list = in.list("providers", kProvidersMax);
  TRY(in.end());
  std::vector<Provider> out;
  for (const yaml::ValueRef& each : list) {
    TRY_ASSIGN(Provider one, read_provider(*each));
    if (std::ranges::find(out, one.name, &Provider::name) != out.end()) {
      return yaml::wrong(*each, fmt::format("there are two providers {}", one.name));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

bool is_safe_url(std::string_view url) {
  constexpr std::array kOwn = {"http://127.0.0.1", "http://localhost", "http://[::1]"};
  const std::string_view host = url.substr(0, url.find('/', url.find("://") + 3));
  if (host.find('@') != std::string_view::npos) return false;  // a name before the host's
  if (url.starts_with("https://")) return url.size() > 8;
  return std::ranges::any_of(kOwn, [&](std::string_view own) {
    if (!url.starts_with(own)) return false;
    const std::string_view rest = url.substr(own.size());
    return rest.empty() || rest.front() == ':' || rest.front() == '/';
  });
}

std::pair<std::string, std::string> split_url(const std::string& url) {
  const std::size_t path = url.find('/', url.find("://") + 3);
  if (path == std::string::npos) return {url, "/"};
  return {url.substr(0, path), url.substr(path)};
}

Result<std::vector<Provider>> read_providers(const std::string& path) {
  Result<std::vector<Provider>> read = read_all(path);
  if (read.ok() || read.error().kind != ErrorKind::kInvalid) return read;
  return yaml::coded(read.error(), "bad_sign_in_file");
}

}  // namespace dove::openid
