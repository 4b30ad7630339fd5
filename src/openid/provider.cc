#include "openid/provider.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "files/text_file.h"
#include "text/spelling.h"

namespace dove::openid {
namespace {

constexpr std::size_t kFileBytesMax = 256 << 10;
constexpr std::size_t kProvidersMax = 16;

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Error wrong(const YAML::Node& at, const std::string& what) const {
    const YAML::Mark mark = at.Mark();
    return Error{ErrorKind::kInvalid, "bad_sign_in_file",
                 fmt::format("{}:{}:{}: {}", path_, mark.line + 1, mark.column + 1, what), path_};
  }

  Result<Provider> provider(const YAML::Node& node) const {
    Provider out;
    std::string secret_file;
    const std::map<std::string, std::string*> texts = {{"name", &out.name},
                                                       {"title", &out.title},
                                                       {"issuer", &out.issuer},
                                                       {"client_id", &out.client_id},
                                                       {"client_secret_file", &secret_file},
                                                       {"user", &out.user_claim},
                                                       {"linux_user", &out.linux_user_claim},
                                                       {"groups", &out.groups_claim},
                                                       {"group_prefix", &out.group_prefix},
                                                       {"domain", &out.domain},
                                                       {"url", &out.url},
                                                       {"ca_file", &out.ca_file}};
    const std::map<std::string, bool*> flags = {{"creates_users", &out.creates_users},
                                                {"links_users", &out.links_users}};
    if (!node.IsMap()) return wrong(node, "a provider has `name:`, `issuer:` and `client_id:`");
    for (const auto& field : node) {
      const std::string key = field.first.as<std::string>("");
      if (const auto text = texts.find(key); text != texts.end()) {
        TRY_ASSIGN(*text->second, scalar(field.second, key));
      } else if (const auto flag = flags.find(key); flag != flags.end()) {
        TRY_ASSIGN(const std::string word, scalar(field.second, key));
        if (word != "true" && word != "false") {
          return wrong(field.second, key + " is true or false");
        }
        *flag->second = word == "true";
      } else if (key == "scopes") {
        TRY_ASSIGN(out.scopes, list(field.second));
      } else {
        return unknown(field.first, key, texts);
      }
    }
    TRY(check(node, out));
    if (!secret_file.empty()) {
      TRY_ASSIGN(out.client_secret, secret(node["client_secret_file"], secret_file));
    }
    return out;
  }

 private:
  Result<std::string> scalar(const YAML::Node& node, const std::string& key) const {
    if (!node.IsScalar()) return wrong(node, key + " is a text");
    std::string text = node.as<std::string>();
    const bool is_line = std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20; });
    if (text.size() > 1024 || !is_line) return wrong(node, key + " is a line of at most 1 KiB");
    return text;
  }

  Result<std::vector<std::string>> list(const YAML::Node& node) const {
    if (!node.IsSequence() || node.size() > 32) {
      return wrong(node, "scopes is a list of at most 32 words, as in [openid, profile]");
    }
    std::vector<std::string> out;
    for (const auto& each : node) {
      TRY_ASSIGN(std::string word, scalar(each, "a scope"));
      if (word.empty() || word.find(' ') != std::string::npos) return wrong(each, "not a scope");
      out.push_back(std::move(word));
    }
    if (std::ranges::find(out, "openid") == out.end()) out.insert(out.begin(), "openid");
    return out;
  }

  Error unknown(const YAML::Node& at, const std::string& key,
                const std::map<std::string, std::string*>& texts) const {
    std::vector<std::string> names = {"scopes", "creates_users", "links_users"};
    for (const auto& [name, unused] : texts) names.push_back(name);
    const std::string near(text::nearest(key, names));
    return wrong(at, near.empty() ? fmt::format("a provider has no field `{}`", key)
                                  : fmt::format("a provider has no field `{}`; did you mean `{}`?",
                                                key, near));
  }

  Result<void> check(const YAML::Node& at, Provider& one) const {
    const auto is_plain = [](unsigned char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    if (one.name.empty() || one.name.size() > 32 || !std::ranges::all_of(one.name, is_plain)) {
      return wrong(at, "a provider has a `name:` of at most 32 of a-z, 0-9 and -");
    }
    if (!is_safe_url(one.issuer)) {
      return wrong(at,
                   fmt::format("provider {} needs an `issuer:` that begins with https://, as its "
                               "service names itself",
                               one.name));
    }
    if (one.client_id.empty()) {
      return wrong(at, fmt::format("provider {} needs the `client_id:` that its service gave this "
                                   "cluster",
                                   one.name));
    }
    if (!one.url.empty() && !is_safe_url(one.url)) {
      return wrong(at, "`url:` is this server's own, as browsers reach it: https://...");
    }
    if (!one.group_prefix.empty() && one.groups_claim.empty()) {
      return wrong(at, "`group_prefix:` has no effect without `groups:`");
    }
    if (!one.groups_claim.empty() && one.group_prefix.empty()) one.group_prefix = one.name + ".";
    while (one.url.ends_with('/')) one.url.pop_back();
    if (one.title.empty()) one.title = one.name;
    return {};
  }

  Result<std::string> secret(const YAML::Node& at, const std::string& file) const {
    Result<std::string> read = files::read_text(file, 4096);
    if (!read.ok()) return wrong(at, read.error().message);
    std::string text = std::move(read).value();
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
    if (text.empty()) return wrong(at, file + " is empty; it holds the client's secret");
    return text;
  }

  std::string path_;
};

Result<std::vector<Provider>> read_all(const Reader& reader, const YAML::Node& root) {
  std::vector<Provider> out;
  if (!root.IsMap()) return reader.wrong(root, "the file holds `providers:`, a list");
  for (const auto& field : root) {
    const std::string key = field.first.as<std::string>("");
    if (key != "providers") {
      return reader.wrong(field.first,
                          fmt::format("there is no `{}:` here; it is `providers:`", key));
    }
    if (!field.second.IsSequence() || field.second.size() > kProvidersMax) {
      return reader.wrong(field.second,
                          fmt::format("providers is a list of at most {}", kProvidersMax));
    }
    for (const auto& each : field.second) {
      TRY_ASSIGN(Provider one, reader.provider(each));
      if (std::ranges::find(out, one.name, &Provider::name) != out.end()) {
        return reader.wrong(each, fmt::format("there are two providers {}", one.name));
      }
      out.push_back(std::move(one));
    }
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
  TRY_ASSIGN(const std::string text, files::read_text(path, kFileBytesMax));
  const Reader reader(path);
  try {
    return read_all(reader, YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return Error{ErrorKind::kInvalid, "bad_sign_in_file",
                 fmt::format("{}:{}: {}", path, error.mark.line + 1, error.msg), path};
  }
}

}  // namespace dove::openid
