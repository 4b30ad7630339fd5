#include "server/sign_in/hook_person.h"

#include <nlohmann/json.hpp>

#include "listener/identity.h"
#include "server/sign_in/linux_person.h"

namespace dove::server {

Result<OpenIdPerson> hook_person(const core::State& state, const core::Policies& policies,
                                 const hook::Person& person) {
  if (!listener::is_name(person.user)) return hook_failed();
  if (is_reserved(person.user)) return bad_account(person.user);
  openid::Provider hook;
  hook.name = hook.issuer = "hook";
  hook.title = "the sign-in hook";
  hook.user_claim = "user";
  hook.links_users = true;
  nlohmann::json claims{{"sub", person.id.empty() ? person.user : person.id},
                        {"user", person.user}};
  if (!person.linux_user.empty()) {
    hook.linux_user_claim = "linux_user";
    claims["linux_user"] = person.linux_user;
  }
  if (person.groups.has_value()) {
    hook.groups_claim = "groups";
    hook.group_prefix = "hook.";
    claims["groups"] = *person.groups;
  }
  return open_id_person(state, policies, hook, claims);
}

Error hook_failed() {
  return {ErrorKind::kUnavailable, "hook_failed",
          "the password could not be checked: this site's sign-in hook has failed; try again, or "
          "sign in with a token; an administrator finds more in the server's log",
          ""};
}

}  // namespace dove::server
