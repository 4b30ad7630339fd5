// /v1/users/{name}/password: a password that only this server knows. Nothing here gives one out, or
// the hash of one.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "passwords/kept.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/sign_in/local_password.h"
#include "wire/address.h"
#include "wire/tls/sealed_box.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr TextRule kPasswordRule{1024, TextRule::Kind::kLine};
constexpr Span kOnceLasts = seconds(std::int64_t{7} * 24 * 3600);

// The administrator's token is nobody's: what it sets is for somebody else.
bool is_own(const Call& call) {
  return call.caller.user == call.parameters[0] && !call.caller.is_root;
}

// The user that the call names, when its caller may set their password.
Result<UserDeclaration> user_of(const Context& context, const Call& call) {
  const std::string& name = call.parameters[0];
  if (!is_own(call) && !call.caller.admin) {
    return Error{ErrorKind::kDenied, "admin_only",
                 "people set their own passwords; only an administrator sets those of others", ""};
  }
  const auto found = context.state().users.find(name);
  if (found != context.state().users.end()) return found->second;
  return Error{ErrorKind::kNotFound, "no_such_user",
               fmt::format("no user {} is declared; an administrator does it with `dove apply`",
                           name.substr(0, 64)),
               "name"};
}

struct Asked {
  std::string former;
  std::string wanted;
};

Result<Asked> read_asked(const Call& call) {
  Asked asked;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    fields.text("former", asked.former, kPasswordRule);
    fields.text("password", asked.wanted, kPasswordRule);
    if (asked.wanted.empty()) {
      fields.fail("password", "missing_field", "give the password from now on");
    }
  }));
  return asked;
}

// What one's own change has to show: whoever finds a browser that is signed in is not to keep it.
Result<void> check_former(const UserDeclaration& user, const Asked& asked, Instant now) {
  if (user.password_hash.empty()) {
    return Error{ErrorKind::kDenied, "no_password_yet",
                 fmt::format("{0} has no password here: an administrator gives the first one, with "
                             "`dove passwd {0}`",
                             user.name),
                 "name"};
  }
  if (asked.former.empty()) {
    return invalid("missing_field", "give the former password, too", "former");
  }
  const Instant until = passwords::kept_of(user.password_hash).once_until;
  if (until.us == 0 || until > now) return {};
  return one_time_password_over(ErrorKind::kDenied);
}

// The hash is made. `before`: what was there when the former password was compared.
void keep_password(Context& context, const CallPtr& call, const std::string& before,
                   const std::string& hash) {
  Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  const bool own = is_own(*call);
  if (own && user->password_hash != before) {
    return call->fail(Error{ErrorKind::kConflict, "password_changed",
                            "the password has just been changed by somebody else; try again", ""});
  }
  Json answer{{"user", user->name}};
  std::vector<Event> events;
  if (own) {
    events = own_password_set(context.state(), *user, hash, call->caller.key);
  } else {
    const Instant until = context.desk.now() + kOnceLasts;
    codec::put_instant(answer, "once_until", until);
    user->password_hash = passwords::text_of({hash, until});
    events.emplace_back(ObjectApplied{Declared(*user)});
  }
  answer["sessions_ended"] = events.size() - 1;
  controller::Input input;
  for (Event& event : events) input.events.push_back({std::move(event), call->cause()});
  context.desk.submit(std::move(input), [call, answer](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->reply(200, answer);
  });
}

// A person who is known and signed in is refused, not signed out.
Error as_refusal(Error error) {
  if (error.kind != ErrorKind::kUnauthenticated) return error;
  return {ErrorKind::kDenied, error.code, "this is not your former password", "former"};
}

}  // namespace

void set_password(Context& context, CallPtr call) {
  if (!context.ways.local_passwords) return call->fail(no_local_passwords());
  const Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  if (const auto person = check_person(*user); !person.ok()) return call->fail(person.error());
  Result<Asked> asked = read_asked(*call);
  wire::wipe(call->request.body);
  if (!asked.ok()) return call->fail(asked.error());
  PasswordWork work{"", std::move(asked->former), std::move(asked->wanted)};
  std::shared_ptr<void> share;
  if (is_own(*call)) {
    const Result<void> may = check_former(*user, {work.former, work.wanted}, context.desk.now());
    if (!may.ok()) return call->fail(may.error());
    work.hash = passwords::kept_of(user->password_hash).hash;
    // A guess is a guess, whoever makes it.
    const std::string who = fmt::format("address {}", wire::network_of(call->request.peer_address));
    const auto taken = context.ways.password_tries.begin(who, context.desk.loop.monotonic_us());
    if (!taken.ok()) return call->fail(taken.error());
    share = *taken;
  }
  const auto checked = passwords::check_new(user->name, work.former, work.wanted);
  if (!checked.ok()) return call->fail(checked.error());
  const auto queued = context.ways.at_hashes.call(
      [work = std::move(work)]() mutable { return check_and_hash(std::move(work)); },
      [&context, call, share, before = user->password_hash](const Result<std::string>& hash) {
        if (!hash.ok()) return call->fail(as_refusal(hash.error()));
        context.declaring.wait([&context, call, before, made = *hash](Turns::Turn turn) {
          call->turn = std::move(turn);
          keep_password(context, call, before, made);
        });
      });
  if (!queued.ok()) call->fail(queued.error());
}

// Also where the server takes no passwords any more, so that none is left in the log's state.
void remove_password(Context& context, CallPtr call) {
  Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  if (user->password_hash.empty()) {
    return call->fail(Error{ErrorKind::kNotFound, "no_password",
                            fmt::format("{} has no password here", user->name), "name"});
  }
  user->password_hash.clear();
  const Call& asked = *call;
  context.desk.submit(asked, ObjectApplied{Declared(std::move(user).value())},
                      [call](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->responder->send(wire::Response{204, {}, ""});
                      });
}

}  // namespace dove::server
