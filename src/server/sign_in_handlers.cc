// /v1/sign-in, /v1/sign-out, /v1/sign-in-codes, /v1/me: how a browser gets in as whom.
//
// A session is a key of 12 hours that its browser alone can show (listener/session_cookie.h). A
// code is a key of a minute that is good for one session: what `dove console` puts into a link.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "codec/words.h"
#include "listener/session_cookie.h"
#include "server/context.h"
#include "server/handlers.h"
#include "telemetry/clock.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr Span kSession = seconds(12 * 3600);
constexpr Span kCode = seconds(60);
constexpr std::size_t kIdBytes = 12;

struct NewKey {
  std::string secret;
  KeyIssued issued;
};

NewKey new_key(const Caller& caller, KeyKind kind, Span lasts) {
  NewKey made;
  made.secret = wire::random_token(32);
  made.issued.sha256 = wire::sha256_hex(made.secret);
  Key& key = made.issued.key;
  key.id = made.issued.sha256.substr(0, kIdBytes);
  key.user = caller.user;
  key.scope = caller.scope;
  key.expires_at = Instant{telemetry::now_us()} + lasts;
  key.kind = kind;
  return made;
}

Json roles_json(const core::Standing& standing) {
  Json out = Json::array();
  const auto add = [&](const core::Roles& roles, const char* level, const std::string& name) {
    for (std::size_t i = 0; i < codec::roles().size(); ++i) {
      if (!roles.has(static_cast<Role>(i))) continue;
      out.push_back({{"role", codec::roles()[i]}, {"level", level}, {"name", name}});
    }
  };
  add(standing.cluster, "cluster", "");
  for (const auto& [name, roles] : standing.domains) add(roles, "domain", name);
  for (const auto& [name, roles] : standing.projects) add(roles, "project", name);
  return out;
}

Json me_json(const core::State& state, const Caller& caller) {
  Json out{{"user", caller.user},
           {"admin", caller.admin},
           {"job", caller.job ? Json(caller.job.value) : Json(nullptr)},
           {"roles", roles_json(caller.standing)},
           {"key", nullptr}};
  const auto user = state.users.find(caller.user);
  out["domain"] = user == state.users.end() ? "" : user->second.domain;
  out["linux_user"] = user == state.users.end() ? "" : user->second.linux_user;
  if (const Key* key = accounts::find_key(state, caller.key);
      key != nullptr && !caller.key.empty()) {
    out["key"] = codec::key_json(*key);
  }
  return out;
}

}  // namespace

void sign_in(Context& context, CallPtr call) {
  std::string token;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("token", token, {256, codec::TextRule::Kind::kLine});
    if (token.empty()) fields.fail("token", "missing_field", "give your token, a key, or a code");
  });
  if (!read.ok()) return call->fail(read.error());
  listener::Desk& desk = context.desk;
  const Result<Caller> caller = desk.identity.signing_in(token, context.state());
  if (!caller.ok()) {
    const std::string_view host = listener::host_of_peer(call->request.peer_address);
    return call->fail(desk.throttle->failed(host, caller.error(), desk.loop.monotonic_us()));
  }
  NewKey made = new_key(*caller, KeyKind::kSession, kSession);
  Key& key = made.issued.key;
  key.name = fmt::format("from {}", listener::host_of_peer(call->request.peer_address));
  key.is_administrators = caller->is_root;
  call->caller = *caller;
  controller::Input input;
  if (const Key* shown = accounts::find_key(context.state(), caller->key);
      shown != nullptr && !caller->key.empty()) {
    if (shown->kind == KeyKind::kCode) {
      input.events.push_back({KeyRevoked{shown->id}, call->cause()});
    } else {
      key.expires_at = std::min(key.expires_at, shown->expires_at);
    }
  }
  Json answer = me_json(context.state(), *caller);
  answer["key"] = codec::key_json(key);
  const std::int64_t lasts_s = (key.expires_at.us - telemetry::now_us()) / 1'000'000;
  const std::string cookie = listener::set_session(made.secret, lasts_s);
  input.events.push_back({std::move(made.issued), call->cause()});
  desk.submit(std::move(input), [call, answer, cookie](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->reply(201, answer, {{"Set-Cookie", cookie}});
  });
}

void sign_out(Context& context, CallPtr call) {
  const auto answer = [call] {
    call->responder->send(wire::Response{204, {{"Set-Cookie", listener::end_session()}}, ""});
  };
  const Key* key = accounts::find_key(context.state(), call->caller.key);
  if (call->caller.key.empty() || key == nullptr || key->kind != KeyKind::kSession) {
    return answer();
  }
  const Call& asked = *call;
  context.desk.submit(asked, KeyRevoked{key->id},
                      [call, answer](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        answer();
                      });
}

void issue_sign_in_code(Context& context, CallPtr call) {
  NewKey made = new_key(call->caller, KeyKind::kCode, kCode);
  made.issued.key.is_administrators = call->caller.is_root;
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
