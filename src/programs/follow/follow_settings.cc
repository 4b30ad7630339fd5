#include "programs/follow/follow_settings.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "wire/cluster/controllers.h"

namespace dove::programs {
namespace {

Error bad(std::string why, const char* option) {
  return Error{ErrorKind::kInvalid, "bad_setting", std::move(why), option};
}

// What has an effect on a follower, ascending.
constexpr std::array<std::string_view, 16> kHeeded{
    "config",  "data",     "follow",   "follow-ca",       "follow-token",
    "host",    "insecure", "log-days", "log-level",       "log-records",
    "port",    "tls",      "tls-1-2",  "tls-certificate", "tls-key",
    "tls-name"};

}  // namespace

std::vector<cli::OptionSpec> follow_specs() {
  return {
      {"follow", 0, "URL,...",
       "decide nothing: keep a verified copy of the log of these controllers", false},
      {"follow-token", 0, "FILE", "file with an administrator's key for it, mode 0600", false},
      {"follow-ca", 0, "FILE", "its authority, for https (its DATA/ca.pem)", false},
  };
}

Result<FollowSettings> follow_settings(const Settings& given) {
  FollowSettings settings;
  settings.urls = given.text("follow", "");
  settings.token_file = given.text("follow-token", "");
  settings.ca_file = given.text("follow-ca", "");
  if (settings.urls.empty()) {
    if (!given.has("follow-token") && !given.has("follow-ca")) return settings;
    return bad("--follow-token and --follow-ca have an effect with --follow only", "--follow");
  }
  TRY(wire::parse_server_urls(settings.urls));
  TRY(may_show_secrets(given, settings.urls));
  if (given.has("store")) {
    return bad("--follow keeps its copy in --data; it goes with no --store", "--follow");
  }
  if (settings.token_file.empty()) {
    return bad(
        "--follow needs --follow-token FILE, with a key of an administrator of that "
        "cluster (docs/operate/follow.md)",
        "--follow-token");
  }
  for (std::string& name : given.names()) {
    if (!std::ranges::binary_search(kHeeded, name)) {
      settings.without_effect.push_back(std::move(name));
    }
  }
  return settings;
}

Result<std::string> follow_token(const FollowSettings& settings) {
  struct stat facts {};
  const std::string& path = settings.token_file;
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & 077) != 0) {
    return Error{ErrorKind::kInvalid, "token_file",
                 fmt::format("others may read {0}: chmod 600 {0}", path), path};
  }
  TRY_ASSIGN(std::string token, read_small_file(path));
  if (!token.empty()) return token;
  return Error{ErrorKind::kInvalid, "token_file", path + " is empty: put a key into it", path};
}

}  // namespace dove::programs
