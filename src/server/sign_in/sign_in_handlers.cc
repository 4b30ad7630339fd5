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
#include "server/sign_in/password_sign_in.h"
#include "server/sign_in/session.h"
#include "wire/tls/sealed_box.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr Span kCode = seconds(60);
constexpr TextRule kPasswordRule{1024, TextRule::Kind::kLine};

// What somebody shows to be let in: a token, or a name and a password.
struct Shown {
  std::string token;
  ShownPassword password;
};

Result<Shown> read_shown(const Call& call) {
  Shown shown;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    fields.text("token", shown.token, {256, TextRule::Kind::kLine});
    fields.text("user", shown.password.user, kNameRule);
    fields.text("password", shown.password.password, kPasswordRule);
    fields.text("new_password", shown.password.wanted, kPasswordRule);
    const auto& [user, password, wanted] = shown.password;
    if (shown.token.empty() && (user.empty() || password.empty())) {
      fields.fail("token", "missing_field",
                  "give your token, a key, or a code; or `user` and `password`");
    } else if (!shown.token.empty() && !(user + password + wanted).empty()) {
      fields.fail("token", "given_twice", "give a token, or `user` and `password`, not both");
    }
  }));
  return shown;
}

}  // namespace

void list_sign_in_ways(Context& context, CallPtr call) {
  Json ways = Json::array();
  for (const auto& issuer : context.ways.issuers) {
    const openid::Provider& one = issuer->provider();
    ways.push_back({{"name", one.name}, {"title", one.title}});
  }
  const bool locally = context.ways.local_passwords;
  const bool by_pam = context.ways.check_password != nullptr;
  const bool by_hook = context.ways.ask_hook != nullptr;
  call->reply(200, {{"ways", ways},
                    {"passwords", locally || by_pam || by_hook},
                    {"local_passwords", locally},
                    {"site_passwords", by_hook}});
}

void sign_in(Context& context, CallPtr call) {
  // A page from elsewhere must not make its visitor somebody of its choice here.
  if (!call->request.header("Origin").empty()) {
    const Result<void> own = listener::check_origin(call->request);
    if (!own.ok()) return call->fail(own.error());
  }
  Result<Shown> shown = read_shown(*call);
  wire::wipe(call->request.body);
  if (!shown.ok()) return call->fail(shown.error());
  if (shown->token.empty()) {
    return sign_in_with_password(context, call, std::move(shown->password));
  }
  const Result<Caller> caller =
      context.desk.identity.signing_in(shown->token, context.state(), context.desk.now());
  if (!caller.ok()) return refuse_sign_in(context, call, caller.error());
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
  const Result<void> may = may_make(context, call->caller.is_root);
  if (!may.ok()) return call->fail(may.error());
  Key key;
  key.user = call->caller.user;
  key.scope = call->caller.scope;
  key.kind = KeyKind::kCode;
  key.is_administrators = call->caller.is_root;
  key.expires_at = context.desk.now() + kCode;
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
