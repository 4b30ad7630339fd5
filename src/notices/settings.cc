#include "notices/settings.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "files/text_file.h"
#include "notices/target.h"
#include "text/spelling.h"

namespace dove::notices {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;
constexpr std::size_t kListMax = 64;

using Read = std::function<Result<void>(const YAML::Node&)>;
using Fields = std::map<std::string, Read>;

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<Settings> all(const YAML::Node& root) {
    const Fields fields = {
        {"smtp", [&](const YAML::Node& at) { return smtp(at); }},
        {"mail_domains", list([&](const std::string& domain) -> Result<void> {
           settings_.mail_domains.push_back(domain);
           return {};
         })},
        {"webhook_networks", list([&](const std::string& network) {
           return settings_.webhook_networks.allow(network);
         })},
        {"webhooks", flag(settings_.webhooks)},
        {"http_webhooks", flag(settings_.http_webhooks)},
        {"ca_file", line(settings_.ca_file)},
        {"per_hour", number(settings_.per_hour, 1, 10'000)},
        {"soon_s", number(soon_s_, 60, 24 * 3600)},
    };
    TRY(read(root, "the file", fields));
    settings_.soon = seconds(soon_s_);
    return std::move(settings_);
  }

 private:
  Error wrong(const YAML::Node& at, const std::string& what) const {
    const YAML::Mark mark = at.Mark();
    return Error{ErrorKind::kInvalid, "bad_notices_file",
                 fmt::format("{}:{}:{}: {}", path_, mark.line + 1, mark.column + 1, what), path_};
  }

  Result<void> read(const YAML::Node& node, const char* what, const Fields& fields) const {
    std::vector<std::string> names;
    for (const auto& [name, unused] : fields) names.push_back(name);
    if (!node.IsMap()) {
      return wrong(node, fmt::format("{} has fields: {}", what, fmt::join(names, ", ")));
    }
    for (const auto& field : node) {
      const std::string key = field.first.as<std::string>("");
      const auto known = fields.find(key);
      if (known == fields.end()) {
        const std::string near(text::nearest(key, names));
        return wrong(field.first,
                     fmt::format("{} has no field `{}`{}", what, key,
                                 near.empty() ? "" : "; did you mean `" + near + "`?"));
      }
      TRY(known->second(field.second));
    }
    return {};
  }

  Result<std::string> text(const YAML::Node& at) const {
    if (!at.IsScalar()) return wrong(at, "this is a text");
    std::string out = at.as<std::string>();
    const bool is_line = std::ranges::all_of(out, [](unsigned char c) { return c >= 0x20; });
    if (out.size() > 1024 || !is_line) return wrong(at, "this is a line of at most 1 KiB");
    return out;
  }
  Read line(std::string& out) const {
    return [this, &out](const YAML::Node& at) -> Result<void> {
      TRY_ASSIGN(out, text(at));
      return {};
    };
  }
  Read flag(bool& out) const {
    return [this, &out](const YAML::Node& at) -> Result<void> {
      TRY_ASSIGN(const std::string word, text(at));
      if (word != "true" && word != "false") return wrong(at, "this is true or false");
      out = word == "true";
      return {};
    };
  }
  Read number(std::int64_t& out, std::int64_t least, std::int64_t most) const {
    return [this, &out, least, most](const YAML::Node& at) -> Result<void> {
      TRY_ASSIGN(const std::string word, text(at));
      const auto done = std::from_chars(word.data(), word.data() + word.size(), out);
      const bool whole = done.ec == std::errc() && done.ptr == word.data() + word.size();
      if (!whole || out < least || out > most) {
        return wrong(at, fmt::format("this is a whole number from {} to {}", least, most));
      }
      return {};
    };
  }
  Read list(std::function<Result<void>(const std::string&)> add) const {
    return [this, add = std::move(add)](const YAML::Node& at) -> Result<void> {
      if (!at.IsSequence() || at.size() > kListMax) {
        return wrong(at, fmt::format("this is a list of at most {}, as in [a, b]", kListMax));
      }
      for (const auto& each : at) {
        TRY_ASSIGN(const std::string word, text(each));
        const Result<void> added = add(word);
        if (!added.ok()) return wrong(each, added.error().message);
      }
      return {};
    };
  }

  Result<void> smtp(const YAML::Node& at) {
    wire::SmtpRelay relay;
    std::string password_file;
    bool starttls = true;
    const Fields fields = {{"url", line(relay.url)},         {"from", line(settings_.from)},
                           {"user", line(relay.user)},       {"password_file", line(password_file)},
                           {"ca_file", line(relay.ca_file)}, {"starttls", flag(starttls)}};
    TRY(read(at, "smtp", fields));
    if (const auto host = wire::host_of_relay(relay.url); !host.ok()) {
      return wrong(at, "smtp needs a `url:`, smtp://HOST:PORT or smtps://HOST:PORT");
    }
    if (!is_mail_address(settings_.from)) {
      return wrong(at, "smtp needs a `from:`, the address that notices come from");
    }
    relay.plain = !starttls;
    if (relay.plain && !relay.user.empty()) {
      return wrong(at,
                   "a password is not sent without TLS: leave out `starttls: false`, or `user:`");
    }
    if (relay.user.empty() != password_file.empty()) {
      return wrong(at, "`user:` and `password_file:` belong together");
    }
    if (!password_file.empty()) {
      TRY_ASSIGN(relay.password, secret(at["password_file"], password_file));
    }
    settings_.smtp = std::move(relay);
    return {};
  }

  Result<std::string> secret(const YAML::Node& at, const std::string& file) const {
    Result<std::string> found = files::read_text(file, 4096);
    if (!found.ok()) return wrong(at, found.error().message);
    std::string out = std::move(found).value();
    while (out.ends_with('\n') || out.ends_with('\r')) out.pop_back();
    if (out.empty()) return wrong(at, file + " is empty; it holds the relay's password");
    return out;
  }

  std::string path_;
  Settings settings_;
  std::int64_t soon_s_ = 900;
};

}  // namespace

Result<Settings> read_settings(const std::string& path) {
  TRY_ASSIGN(const std::string text, files::read_text(path, kFileBytesMax));
  try {
    return Reader(path).all(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return Error{ErrorKind::kInvalid, "bad_notices_file",
                 fmt::format("{}:{}: {}", path, error.mark.line + 1, error.msg), path};
  }
}

}  // namespace dove::notices
