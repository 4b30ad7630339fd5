#include "server/sign_in/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/words.h"
#include "listener/session_cookie.h"
#include "server/new_key.h"
#include "telemetry/log.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr Span kSession = seconds(12 * 3600);
constexpr std::int64_t kRefused_us = 4'000'000;  // after it was asked

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

}  // namespace

Json me_json(const core::State& state, const Caller& caller) {
  Json out{{"user", caller.user},
           {"admin", caller.admin},
           {"job", caller.job ? Json(caller.job.value) : Json(nullptr)},
           {"roles", roles_json(caller.standing)},
           {"key", nullptr}};
  const auto user = state.users.find(caller.user);
  out["domain"] = user == state.users.end() ? "" : user->second.domain;
  out["linux_user"] = user == state.users.end() ? "" : user->second.linux_user;
  const Key* key = accounts::find_key(state, caller.key);
  if (key != nullptr) out["key"] = codec::key_json(*key);
  return out;
}

void declare_person(Context& context, const CallPtr& call, const std::string& way,
                    std::vector<Event> changes, std::function<void()> done) {
  if (changes.empty()) return done();
  controller::Input input;
  for (Event& change : changes) {
    input.events.push_back({std::move(change), call->cause()});
    input.events.back().cause.principal = "sign-in:" + way;
  }
  context.desk.submit(std::move(input),
                      [call, done = std::move(done)](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        done();
                      });
}

void let_person_in(Context& context, const CallPtr& call, const std::string& way,
                   const OpenIdPerson& person, std::function<void()> done) {
  for (const std::string& group : person.groups_left_out) {
    telemetry::log(telemetry::Level::kWarning, "group_left_out",
                   {{"group", group}, {"provider", way}, {"user", person.user}});
  }
  Caller caller;
  caller.user = person.user;
  call->caller = caller;
  declare_person(context, call, way, person.changes, std::move(done));
}

void note_unanswered(const Call& call, const Error& error) {
  const bool is_one = error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout;
  if (!is_one || !call.refused) return;
  call.refused({ErrorKind::kUnauthenticated, error.code, error.message, error.field});
}

void refuse_sign_in(Context& context, const CallPtr& call, const Error& error) {
  note_unanswered(*call, error);
  const std::string_view host = listener::host_of_peer(call->request.peer_address);
  call->fail(context.desk.throttle->failed(host, error, context.desk.loop.monotonic_us()));
}

void refuse_password(Context& context, const CallPtr& call, const PasswordTry& tried,
                     const Error& error) {
  WaysIn& ways = context.ways;
  const bool elsewhere = ways.check_password != nullptr || ways.ask_hook != nullptr;
  const std::int64_t left_us = tried.began_us + kRefused_us - context.desk.loop.monotonic_us();
  if (!elsewhere || !ways.local_passwords || left_us <= 0) {
    return refuse_sign_in(context, call, error);
  }
  // In threads that are nobody's else: where there is a hook, PAM is not asked.
  SideThreads& idle = ways.ask_hook != nullptr ? ways.at_passwords : ways.at_hook;
  const auto queued = idle.call(
      [left_us] {
        std::this_thread::sleep_for(std::chrono::microseconds(left_us));
        return true;
      },
      [&context, call, share = tried.share, error](bool) { refuse_sign_in(context, call, error); });
  if (!queued.ok()) call->fail(queued.error());
}

void open_session(Context& context, const CallPtr& call, const Caller& caller,
                  std::function<void(const Key& key, const std::string& cookie)> opened) {
  const Result<void> may = may_make(context, caller.is_root);
  if (!may.ok()) return call->fail(may.error());
  Key key;
  key.user = caller.user;
  key.name = fmt::format("from {}", listener::host_of_peer(call->request.peer_address));
  key.scope = caller.scope;
  key.kind = KeyKind::kSession;
  key.is_administrators = caller.is_root;
  key.expires_at = context.desk.now() + kSession;
  controller::Input input;
  if (const Key* shown = accounts::find_key(context.state(), caller.key); shown != nullptr) {
    if (shown->kind == KeyKind::kCode) {
      input.events.push_back({KeyRevoked{shown->id}, call->cause()});
    } else {
      key.expires_at = std::min(key.expires_at, shown->expires_at);
    }
  }
  const std::int64_t lasts_s = (key.expires_at - context.desk.now()).us / 1'000'000;
  NewKey made = make_key(std::move(key));
  const std::string cookie = listener::set_session(made.secret, lasts_s);
  input.events.push_back({made.issued, call->cause()});
  context.desk.submit(std::move(input),
                      [call, key = made.issued.key, cookie,
                       opened = std::move(opened)](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        opened(key, cookie);
                      });
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

}  // namespace dove::server
