#include "programs/server/sign_in_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace dove::programs {
namespace {

constexpr char kPamDirectory[] = "/etc/pam.d";

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

}  // namespace

std::vector<cli::OptionSpec> sign_in_specs() {
  return {{"sign-in", 0, "FILE", "YAML file of sign-in services (docs/operate/sign_in.md)", false},
          {"pam", 0, "SERVICE", "people sign in with their Linux passwords, by this PAM service",
           false},
          {"local-passwords", 0, "", "people sign in with passwords that only this server knows",
           false},
          {"public-url", 0, "URL",
           "by which browsers and others know this server (as they name it)", false}};
}

Result<SignInSettings> sign_in_settings(const Settings& given) {
  SignInSettings out;
  if (const std::string path = given.text("sign-in", ""); !path.empty()) {
    TRY_ASSIGN(out.providers, openid::read_providers(path));
  }
  if (const std::string service = given.text("pam", ""); !service.empty()) {
    TRY_ASSIGN(out.pam, pam_service(service));
  }
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
