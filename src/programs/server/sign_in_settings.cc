#include "programs/server/sign_in_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

namespace dove::programs {
namespace {

constexpr char kPamDirectory[] = "/etc/pam.d";
constexpr std::string_view kHookGroups = "hook.";

// "dove", or a path elsewhere. PAM takes a service that has no file for `other`, which refuses
// everybody without a word.
Result<pam::Service> pam_service(const std::string& text) {
  const std::filesystem::path path(text);
  pam::Service service{path.filename().string(), path.parent_path().string()};
  const std::filesystem::path file =
      std::filesystem::path(service.directory.empty() ? kPamDirectory : service.directory) /
      service.name;
  if (!service.name.empty() && ::access(file.c_str(), R_OK) == 0) return service;
  return Error{
      ErrorKind::kInvalid, "no_pam_service",
      fmt::format("--pam {}: {} cannot be read; docs/operate/sign_in.md has one to begin with",
                  text, file.string()),
      "--pam"};
}

// A password is shown to one of them, and what the hook makes of users and groups is its alone.
Result<void> read_hook(const Settings& given, SignInSettings& out) {
  const std::string place = given.text("sign-in-hook", "");
  const std::string ca_file = given.text("sign-in-hook-ca", "");
  const auto bad = [](const char* why, const char* option) {
    return Error{ErrorKind::kInvalid, "bad_setting", why, option};
  };
  if (place.empty() && ca_file.empty()) return {};
  if (place.empty()) {
    return bad("--sign-in-hook-ca has an effect with --sign-in-hook only", "--sign-in-hook-ca");
  }
  if (out.pam.has_value()) {
    return bad("--pam and --sign-in-hook exclude each other: the hook may ask PAM itself",
               "--sign-in-hook");
  }
  for (const openid::Provider& one : out.providers) {
    const std::string_view prefix = one.group_prefix;
    const bool shares_groups =
        !prefix.empty() && (prefix.starts_with(kHookGroups) || kHookGroups.starts_with(prefix));
    if (one.name != "hook" && !shares_groups) continue;
    return bad(
        "`hook` is the name of what --sign-in-hook says: the `name:` and `group_prefix:` of a "
        "sign-in service are to be others",
        "--sign-in");
  }
  Result<hook::Hook> hook = hook::hook_of(place, ca_file);
  if (!hook.ok()) {
    Error error = hook.error();
    error.message = fmt::format("--sign-in-hook: {} (docs/operate/sign_in_hook.md)", error.message);
    error.field = "--sign-in-hook";
    return error;
  }
  out.hook = std::move(hook).value();
  return {};
}

}  // namespace

std::vector<cli::OptionSpec> sign_in_specs() {
  return {
      {"sign-in", 0, "FILE", "YAML file of sign-in services (docs/operate/sign_in.md)", false},
      {"pam", 0, "SERVICE", "people sign in with their Linux passwords, by this PAM service",
       false},
      {"sign-in-hook", 0, "PATH|URL",
       "people sign in with passwords that this program or server checks", false},
      {"sign-in-hook-ca", 0, "FILE", "authorities of its certificate (the system's)", false},
      {"local-passwords", 0, "", "people sign in with passwords that only this server knows",
       false},
      {"public-url", 0, "URL",
       "the URL at which browsers and others reach this server (the one that they use)", false}};
}

Result<SignInSettings> sign_in_settings(const Settings& given) {
  SignInSettings out;
  if (const std::string path = given.text("sign-in", ""); !path.empty()) {
    TRY_ASSIGN(out.providers, openid::read_providers(path));
  }
  if (const std::string service = given.text("pam", ""); !service.empty()) {
    TRY_ASSIGN(out.pam, pam_service(service));
  }
  TRY(read_hook(given, out));
  TRY_ASSIGN(out.local_passwords, given.flag("local-passwords"));
  out.public_url = given.text("public-url", "");
  while (out.public_url.ends_with('/')) out.public_url.pop_back();
  if (!out.public_url.empty() && !openid::is_safe_url(out.public_url)) {
    return Error{ErrorKind::kInvalid, "bad_public_url",
                 fmt::format("--public-url {}: it begins with https://", out.public_url),
                 "--public-url"};
  }
  for (openid::Provider& one : out.providers) {
    if (one.url.empty()) one.url = out.public_url;
  }
  return out;
}

}  // namespace dove::programs
