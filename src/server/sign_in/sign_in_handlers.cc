// /v1/sign-in, /v1/sign-out, /v1/sign-in-codes, /v1/me: how a browser gets in as whom.
//
// A session is a key of 12 hours that its browser alone can show (listener/session_cookie.h). A
// code is a key of a minute that is good for one session: what `dove console` puts into a link.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "listener/session_cookie.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/new_key.h"
#include "server/sign_in/linux_person.h"
#include "server/sign_in/session.h"
#include "telemetry/clock.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr Span kCode = seconds(60);

// What somebody shows to be let in: a token, or the name and the password of a Linux account.
struct Shown {
  std::string token;
  std::string user;
  std::string password;
};

Result<Shown> read_shown(const Call& call) {
  Shown shown;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    fields.text("token", shown.token, {256, codec::TextRule::Kind::kLine});
    fields.text("user", shown.user, codec::kNameRule);
    fields.text("password", shown.password, {1024, codec::TextRule::Kind::kLine});
    const bool has_password = !shown.user.empty() && !shown.password.empty();
    if (shown.token.empty() && !has_password) {
      fields.fail("token", "missing_field",
                  "give your token, a key, or a code; or `user` and `password`");
    } else if (!shown.token.empty() && (!shown.user.empty() || !shown.password.empty())) {
      fields.fail("token", "given_twice", "give a token, or `user` and `password`, not both");
    }
  }));
  return shown;
}

void refuse(Context& context, const CallPtr& call, const Error& error) {
  const std::string_view host = listener::host_of_peer(call->request.peer_address);
  call->fail(context.desk.throttle->failed(host, error, context.desk.loop.monotonic_us()));
}

void answer_session(Context& context, const CallPtr& call) {
  open_session(context, call, call->caller,
               [&context, call](const Key& key, const std::string& cookie) {
                 accounts::refresh(context.state(), call->caller);
                 Json answer = me_json(context.state(), call->caller);
                 answer["key"] = codec::key_json(key);
                 call->reply(201, answer, {{"Set-Cookie", cookie}});
               });
}

void let_account_in(Context& context, const CallPtr& call, const pam::Account& account) {
  const Result<LinuxPerson> person = linux_person(context.state(), account);
  if (!person.ok()) return refuse(context, call, person.error());
  Caller caller;
  caller.user = person->user;
  call->caller = caller;
  std::vector<Event> made;
  if (person->made.has_value()) made.push_back(ObjectApplied{*person->made});
  declare_person(context, call, "linux", std::move(made),
                 [&context, call] { answer_session(context, call); });
}

void sign_in_with_password(Context& context, const CallPtr& call, const Shown& shown) {
  if (context.ways.check_password == nullptr) {
    return call->fail(Error{ErrorKind::kInvalid, "no_passwords",
                            "nobody signs in with a password here; give a token, or use a sign-in "
                            "service that GET /v1/sign-in lists",
                            "password"});
  }
  const std::string who =
      fmt::format("address {}", listener::host_of_peer(call->request.peer_address));
  const auto share = context.ways.password_tries.begin(who, context.desk.loop.monotonic_us());
  if (!share.ok()) return call->fail(share.error());
  const auto queued = context.ways.at_passwords.call(
      [check = context.ways.check_password, shown] { return check(shown.user, shown.password); },
      [&context, call, share = *share](const Result<pam::Account>& account) {
        if (!account.ok()) return refuse(context, call, account.error());
        // Two first sign-ins at once must not both make the user.
        context.declaring.wait([&context, call, account = *account](Turns::Turn turn) {
          call->turn = std::move(turn);
          let_account_in(context, call, account);
        });
      });
  if (!queued.ok()) call->fail(queued.error());
}

}  // namespace

void list_sign_in_ways(Context& context, CallPtr call) {
  Json ways = Json::array();
  for (const auto& issuer : context.ways.issuers) {
    const openid::Provider& one = issuer->provider();
    ways.push_back({{"name", one.name}, {"title", one.title}});
  }
  call->reply(200, {{"ways", ways}, {"passwords", context.ways.check_password != nullptr}});
}

void sign_in(Context& context, CallPtr call) {
  // A page from elsewhere must not make its visitor somebody of its choice here.
  if (!call->request.header("Origin").empty()) {
    const Result<void> own = listener::check_origin(call->request);
    if (!own.ok()) return call->fail(own.error());
  }
  const Result<Shown> shown = read_shown(*call);
  if (!shown.ok()) return call->fail(shown.error());
  if (shown->token.empty()) return sign_in_with_password(context, call, *shown);
  const Result<Caller> caller = context.desk.identity.signing_in(shown->token, context.state());
  if (!caller.ok()) return refuse(context, call, caller.error());
  call->caller = *caller;
  answer_session(context, call);
}

void sign_out(Context& context, CallPtr call) {
  const auto answer = [call] {
    call->responder->send(wire::Response{204, {{"Set-Cookie", listener::end_session()}}, ""});
  };
  const Key* key = accounts::find_key(context.state(), call->caller.key);
  if (key == nullptr || key->kind != KeyKind::kSession) return answer();
  const Call& asked = *call;
  context.desk.submit(asked, KeyRevoked{key->id},
                      [call, answer](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        answer();
                      });
}

void issue_sign_in_code(Context& context, CallPtr call) {
  Key key;
  key.user = call->caller.user;
  key.scope = call->caller.scope;
  key.kind = KeyKind::kCode;
  key.is_administrators = call->caller.is_root;
  key.expires_at = Instant{telemetry::now_us()} + kCode;
  NewKey made = make_key(std::move(key));
  Json answer{{"code", made.secret}};
  codec::put_instant(answer, "expires_at", made.issued.key.expires_at);
  const Call& asked = *call;
  context.desk.submit(asked, std::move(made.issued),
                      [call, answer = std::move(answer)](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(201, answer);
                      });
}

void get_me(Context& context, CallPtr call) {
  call->reply(200, me_json(context.state(), call->caller));
}

}  // namespace dove::server
