#include "server/sign_in/linux_person.h"

#include <fmt/format.h>

#include "listener/identity.h"

namespace dove::server {
namespace {

// The one that has the account, by its name if there are several; nullptr: none.
Result<const UserDeclaration*> owner_of(const core::State& state, const std::string& account) {
  const UserDeclaration* found = nullptr;
  bool several = false;
  for (const auto& [name, user] : state.users) {
    if (user.linux_user != account || !user.service_of.empty()) continue;
    if (name == account) return &user;
    several = found != nullptr;
    found = &user;
  }
  if (!several) return found;
  return Error{ErrorKind::kDenied, "user_ambiguous",
               fmt::format("several users here run their tasks as {}, so this account does not "
                           "identify one of them; sign in with a token",
                           account),
               "user"};
}

}  // namespace

bool is_reserved(const std::string& name) { return name == "admin" || name == "controller"; }

Error bad_account(const std::string& name) {
  return {ErrorKind::kUnauthenticated, "bad_account",
          fmt::format("the account {} cannot be used to sign in here; administrators use a token",
                      name.substr(0, 64)),
          "user"};
}

Result<LinuxPerson> linux_person(const core::State& state, const pam::Account& account) {
  const std::string& name = account.name;
  const bool is_plain = listener::is_name(name) && name.size() <= 32;
  if (account.uid == 0 || !is_plain || is_reserved(name)) return bad_account(name);
  TRY_ASSIGN(const UserDeclaration* owner, owner_of(state, name));
  if (owner == nullptr && state.users.contains(name)) {
    return Error{ErrorKind::kDenied, "name_taken",
                 fmt::format("user {} here is not linked to the Linux account of that name; an "
                             "administrator can set "
                             "its `linux_user`",
                             name),
                 "user"};
  }
  if (owner == nullptr) {
    UserDeclaration made;
    made.name = made.linux_user = name;
    return LinuxPerson{name, made};
  }
  if (owner->disabled) {
    return Error{ErrorKind::kUnauthenticated, "user_disabled",
                 fmt::format("user {} is disabled here; ask an administrator", owner->name),
                 "user"};
  }
  return LinuxPerson{owner->name, std::nullopt};
}

}  // namespace dove::server
