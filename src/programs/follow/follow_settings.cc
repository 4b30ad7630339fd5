#include "programs/follow/follow_settings.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "wire/address.h"

namespace dove::programs {
namespace {

Error bad(std::string why, const char* option) {
  return Error{ErrorKind::kInvalid, "bad_setting", std::move(why), option};
}

}  // namespace

std::vector<cli::OptionSpec> follow_specs() {
  return {
      {"follow", 0, "URL", "decide nothing: keep a verified copy of that controller's log", false},
      {"follow-token", 0, "FILE", "a key of an administrator for it, mode 0600", false},
      {"follow-ca", 0, "FILE", "its authority, for https (its DATA/ca.pem)", false},
  };
}

Result<FollowSettings> follow_settings(const Settings& given) {
  FollowSettings settings{given.text("follow", ""), given.text("follow-token", ""),
                          given.text("follow-ca", "")};
  if (settings.url.empty()) {
    if (!given.has("follow-token") && !given.has("follow-ca")) return settings;
    return bad("--follow-token and --follow-ca have an effect with --follow only", "--follow");
  }
  TRY(wire::parse_server_url(settings.url));
  if (given.has("store")) {
    return bad("--follow keeps its copy in --data; it goes with no --store", "--follow");
  }
  if (settings.token_file.empty()) {
    return bad(
        "--follow needs --follow-token FILE, with a key of an administrator of that "
        "cluster (docs/operate/follow.md)",
        "--follow-token");
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
