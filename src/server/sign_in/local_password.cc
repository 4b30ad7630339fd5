#include "server/sign_in/local_password.h"

#include <fmt/format.h>

#include "passwords/hash.h"
#include "passwords/kept.h"
#include "server/sign_in/linux_person.h"
#include "wire/tls/sealed_box.h"

namespace dove::server {

Result<std::string> check_and_hash(PasswordWork work) {
  Result<std::string> out{std::string()};
  if (!work.hash.empty()) {
    const Result<bool> matches = passwords::matches(work.hash, work.former);
    if (!matches.ok()) {
      out = matches.error();
    } else if (!*matches) {
      out = wrong_password();
    }
  }
  if (out.ok() && !work.wanted.empty()) out = passwords::hash(work.wanted);
  if (out.ok() && work.renews) {
    if (Result<std::string> renewed = passwords::hash(work.former); renewed.ok()) out = renewed;
  }
  wire::wipe(work.former);
  wire::wipe(work.wanted);
  return out;
}

std::vector<Event> own_password_set(const core::State& state, UserDeclaration user,
                                    const std::string& hash, const std::string& but) {
  std::vector<Event> events;
  for (const auto& [sha256, key] : state.keys) {
    if (key.user != user.name || key.kind != KeyKind::kSession || key.id == but) continue;
    if (!key.is_administrators) events.emplace_back(KeyRevoked{key.id});
  }
  user.password_hash = passwords::text_of({hash, {}});
  events.emplace_back(ObjectApplied{Declared(std::move(user))});
  return events;
}

Result<void> check_person(const UserDeclaration& user) {
  const std::string& name = user.name;
  if (!is_reserved(name) && user.service_of.empty()) return {};
  return Error{ErrorKind::kConflict, "no_person",
               fmt::format("{} is not a person, and signs in with a token or a key", name), "name"};
}

Error wrong_password() {
  return {ErrorKind::kUnauthenticated, "wrong_password",
          "this is not the name and the password of an account here", "password"};
}

Error one_time_password_over(ErrorKind kind) {
  return {kind, "password_over",
          "this one-time password has expired after a week; ask an administrator for another one",
          "password"};
}

Error no_local_passwords() {
  return {ErrorKind::kConflict, "no_local_passwords",
          "this server keeps no passwords of its own: an administrator starts it with "
          "`--local-passwords` (docs/operate/sign_in.md)",
          ""};
}

}  // namespace dove::server
