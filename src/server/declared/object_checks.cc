#include "server/declared/object_checks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/declared_patch.h"
#include "listener/call.h"
#include "ssh/keys/public_key.h"

namespace dove::server {

using listener::invalid;

Result<void> check_version(const nlohmann::json& version, const std::string& object,
                           const std::optional<Declared>& before, const char* verb) {
  if (version.is_null()) return {};
  if (!version.is_string()) return invalid("bad_value", "version is a text", "version");
  const auto& seen = version.get_ref<const std::string&>();
  if (before.has_value() && seen == codec::version_of(*before)) return {};
  return Error{
      ErrorKind::kConflict, "stale_version",
      fmt::format("{} was {} since version {}: read it again and repeat the change, or "
                  "leave out `version` to {} it regardless",
                  object, before.has_value() ? "changed" : "deleted", seen.substr(0, 64), verb),
      "version"};
}

Result<void> check_ssh_keys(const Declared& object) {
  const auto* user = std::get_if<UserDeclaration>(&object);
  for (std::size_t i = 0; user != nullptr && i < user->ssh_keys.size(); ++i) {
    Result<ssh::PublicKey> key = ssh::read_public_key(user->ssh_keys[i]);
    if (key.ok()) continue;
    Error error = key.error();
    error.field = fmt::format("ssh_keys[{}]", i);
    return error;
  }
  return {};
}

Result<void> check_no_secret(const Declared& object, const std::optional<Declared>& before) {
  if (const auto* user = std::get_if<UserDeclaration>(&object); user != nullptr) {
    const auto* former = before.has_value() ? std::get_if<UserDeclaration>(&*before) : nullptr;
    if (user->password_hash == (former == nullptr ? "" : former->password_hash)) return {};
    return invalid("not_declared",
                   fmt::format("passwords are set with `dove passwd {}`: leave it out", user->name),
                   "password_hash");
  }
  const auto* secret = std::get_if<Secret>(&object);
  if (secret == nullptr) return {};
  if (before.has_value()) {
    Secret labelled = std::get<Secret>(*before);
    labelled.labels = secret->labels;
    if (labelled == *secret) return {};
  }
  return invalid("not_declared",
                 "secrets are not declared in files, but for the `labels` of one that is set: "
                 "leave it out",
                 "kind");
}

}  // namespace dove::server
