#include "server/sign_in/password_sign_in.h"

#include <fmt/format.h>

#include "passwords/hash.h"
#include "passwords/kept.h"
#include "server/sign_in/hook_sign_in.h"
#include "server/sign_in/linux_person.h"
#include "server/sign_in/local_password.h"
#include "server/sign_in/session.h"
#include "wire/address.h"

namespace dove::server {
namespace {

void let_account_in(Context& context, const CallPtr& call, const pam::Account& account) {
  const Result<LinuxPerson> person = linux_person(context.state(), account);
  if (!person.ok()) return refuse_sign_in(context, call, person.error());
  Caller caller;
  caller.user = person->user;
  call->caller = caller;
  std::vector<Event> made;
  if (person->made.has_value()) made.push_back(ObjectApplied{*person->made});
  declare_person(context, call, "linux", std::move(made),
                 [&context, call] { answer_session(context, call); });
}

void sign_in_by_pam(Context& context, const CallPtr& call, ShownPassword shown, PasswordTry tried,
                    Result<void> may) {
  const auto queued = context.ways.at_passwords.call(
      [check = context.ways.check_password, shown] { return check(shown.user, shown.password); },
      [&context, call, tried = std::move(tried),
       may = std::move(may)](const Result<pam::Account>& account) {
        if (!account.ok()) return refuse_password(context, call, tried, account.error());
        if (!may.ok()) return call->fail(may.error());
        // Two first sign-ins at once must not both make the user.
        context.declaring.wait([&context, call, account = *account](Turns::Turn turn) {
          call->turn = std::move(turn);
          let_account_in(context, call, account);
        });
      });
  if (!queued.ok()) call->fail(queued.error());
}

// Whose password was right, by the hash that it was compared with; or why they stay outside.
Result<UserDeclaration> let_in(const core::State& state, Instant now, const std::string& name,
                               const std::string& kept_text) {
  const auto found = state.users.find(name);
  // It may have been changed while its hash was made.
  if (found == state.users.end() || found->second.password_hash != kept_text) {
    return wrong_password();
  }
  if (found->second.disabled) {
    return Error{ErrorKind::kUnauthenticated, "user_disabled",
                 fmt::format("user {} is disabled here; ask an administrator", name), "user"};
  }
  TRY(check_person(found->second));
  const Instant until = passwords::kept_of(kept_text).once_until;
  if (until.us != 0 && until <= now) {
    return one_time_password_over(ErrorKind::kUnauthenticated);
  }
  return found->second;
}

// `renews`: the new hash is of the same password.
void take_new_password(Context& context, const CallPtr& call, UserDeclaration user,
                       const std::string& new_hash, bool renews) {
  const bool is_once = passwords::kept_of(user.password_hash).once_until.us != 0;
  if (is_once && new_hash.empty()) {
    // They are who they say, so it is no wrong try of this address.
    return call->fail(Error{ErrorKind::kDenied, "new_password_needed",
                            "somebody else has set this password: choose one that only you know, "
                            "and give it as `new_password`",
                            "new_password"});
  }
  Caller caller;
  caller.user = user.name;
  call->caller = caller;
  std::vector<Event> changes;
  if (!new_hash.empty() && renews) {
    user.password_hash = passwords::text_of({new_hash, {}});
    changes.emplace_back(ObjectApplied{Declared(std::move(user))});
  } else if (!new_hash.empty()) {
    changes = own_password_set(context.state(), std::move(user), new_hash, "");
  }
  declare_person(context, call, "password", std::move(changes),
                 [&context, call] { answer_session(context, call); });
}

void sign_in_locally(Context& context, const CallPtr& call, ShownPassword shown,
                     const std::string& kept_text, PasswordTry tried) {
  // Somebody who is not there takes as long.
  const passwords::Kept kept = kept_text.empty() ? passwords::Kept{passwords::nobodys_hash()}
                                                 : passwords::kept_of(kept_text);
  const bool renews =
      shown.wanted.empty() && kept.once_until.us == 0 && passwords::is_weaker(kept.hash);
  const auto queued = context.ways.at_hashes.call(
      [work = PasswordWork{kept.hash, std::move(shown.password), std::move(shown.wanted),
                           renews}]() mutable { return check_and_hash(std::move(work)); },
      [&context, call, tried = std::move(tried), name = shown.user, kept_text,
       renews](const Result<std::string>& new_hash) {
        if (!new_hash.ok()) return refuse_password(context, call, tried, new_hash.error());
        context.declaring.wait(
            [&context, call, name, kept_text, renews, hash_now = *new_hash](Turns::Turn turn) {
              call->turn = std::move(turn);
              const Result<UserDeclaration> user =
                  let_in(context.state(), context.desk.now(), name, kept_text);
              if (!user.ok()) return refuse_sign_in(context, call, user.error());
              take_new_password(context, call, *user, hash_now, renews);
            });
      });
  if (!queued.ok()) call->fail(queued.error());
}

// With a password that is another one's to check: PAM's, or the hook's.
void sign_in_elsewhere(Context& context, const CallPtr& call, ShownPassword shown,
                       PasswordTry tried) {
  const bool by_hook = context.ways.ask_hook != nullptr;
  Result<void> may{};
  if (!shown.wanted.empty()) {
    // Said to who knows the password: to others it would say who has none here.
    may = invalid("not_a_local_password",
                  fmt::format("this password is not changed here: {}",
                              by_hook ? "change it where your site keeps it"
                                      : "use `passwd` on a login node"),
                  "new_password");
  }
  if (!by_hook) {
    return sign_in_by_pam(context, call, std::move(shown), std::move(tried), std::move(may));
  }
  const std::string_view host = listener::host_of_peer(call->request.peer_address);
  sign_in_by_hook(context, call,
                  {std::move(shown.user), std::move(shown.password), std::string(host)},
                  std::move(tried), std::move(may));
}

}  // namespace

void sign_in_with_password(Context& context, const CallPtr& call, ShownPassword shown) {
  const bool elsewhere = context.ways.check_password != nullptr || context.ways.ask_hook != nullptr;
  const bool locally = context.ways.local_passwords;
  if (!elsewhere && !locally) {
    return call->fail(Error{ErrorKind::kInvalid, "no_passwords",
                            "nobody signs in with a password here; give a token, or use a sign-in "
                            "service that GET /v1/sign-in lists",
                            "password"});
  }
  // For everybody: it must not show whose password is checked elsewhere.
  if (locally && !shown.wanted.empty()) {
    const auto checked = passwords::check_new(shown.user, shown.password, shown.wanted);
    if (!checked.ok()) {
      Error error = checked.error();
      error.field = "new_password";
      return call->fail(error);
    }
  }
  const std::string who = fmt::format("address {}", wire::network_of(call->request.peer_address));
  const std::int64_t now_us = context.desk.loop.monotonic_us();
  const auto share = context.ways.password_tries.begin(who, now_us);
  if (!share.ok()) return call->fail(share.error());
  PasswordTry tried{*share, now_us};
  const auto user = context.state().users.find(shown.user);
  const std::string kept_text =
      user == context.state().users.end() ? "" : user->second.password_hash;
  if (locally && (!elsewhere || !kept_text.empty())) {
    return sign_in_locally(context, call, std::move(shown), kept_text, std::move(tried));
  }
  sign_in_elsewhere(context, call, std::move(shown), std::move(tried));
}

}  // namespace dove::server
