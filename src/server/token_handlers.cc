// The tokens that administrators give out: to users, and to nodes that are to join.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/new_key.h"
#include "wire/secret.h"

namespace dove::server {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::int64_t kTokenLongest_s = std::int64_t{10} * 366 * 24 * 3600;

void issue_user_token(Context& context, CallPtr call) {
  const std::string& name = call->parameters[0];
  if (!listener::is_name(name)) {
    return call->fail(
        invalid("bad_name", "a user's name is letters, digits and _.-@, at most 64", "name"));
  }
  UserDeclaration user;
  const auto known = context.state().users.find(name);
  if (known != context.state().users.end()) {
    user = known->second;
  } else if (!call->query_flag("create")) {
    return call->fail(Error{ErrorKind::kNotFound, "no_such_user",
                            fmt::format("no user {} is declared; `dove token create --create {}` "
                                        "declares one",
                                        name, name),
                            "name"});
  }
  std::int64_t ttl_s = 0;
  Result<void> read;
  if (!call->request.body.empty()) {
    read = call->read_body(
        [&](codec::JsonFields& fields) { fields.integer("ttl_s", ttl_s, 1, kTokenLongest_s); });
  }
  if (!read.ok()) return call->fail(read.error());
  user.name = name;
  const Instant expires_at = ttl_s == 0 ? Instant{} : context.desk.now() + seconds(ttl_s);
  user.token_expires_at = expires_at;
  const std::string token = wire::random_token(32);
  user.token_sha256 = wire::sha256_hex(token);
  const Call& asked = *call;
  context.desk.submit(asked, ObjectApplied{Declared(user)},
                      [call, name, token, expires_at](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        Json answer{{"user", name}, {"token", token}};
                        if (expires_at.us != 0) answer["expires_at_us"] = expires_at.us;
                        call->reply(201, answer);
                      });
}

Result<void> may_make(const Context& context, bool is_administrators) {
  if (!is_administrators || !context.is_token_replaced) return {};
  return Error{ErrorKind::kUnavailable, "token_replaced",
               "the administrator's token is being replaced; try again with the new one", ""};
}

namespace {

constexpr std::int64_t kOverlapMost_s = 30 * 86'400;

// What ends with the former token when nothing overlaps: it, and sessions that it began.
controller::Input end_all_of_administrator(const core::State& state, const Call& call,
                                           const std::string& but = "") {
  controller::Input input;
  for (const auto& [digest, key] : state.keys) {
    if (!key.is_administrators || key.id == but) continue;
    input.events.push_back({KeyRevoked{key.id}, call.cause()});
  }
  return input;
}

// It has no user, as accounts::is_rotated_token() expects.
Key admin_key(const char* name, Instant expires_at) {
  Key key;
  key.name = name;
  key.scope = KeyScope::kAll;
  key.expires_at = expires_at;
  key.is_administrators = true;
  return key;
}

KeyIssued former_token(const core::State& state, const std::string& in_file, Instant ends) {
  const auto found = std::find_if(state.keys.begin(), state.keys.end(), [](const auto& entry) {
    return accounts::is_administrators_token(entry.second);
  });
  KeyIssued former;
  former.sha256 = found == state.keys.end() ? wire::sha256_hex(in_file) : found->first;
  former.key = admin_key("former-admin-token", ends);
  former.key.id = former.sha256.substr(0, kKeyIdChars);
  return former;
}

// A controller of the former version knows its file alone, which has the former token.
Result<void> check_level(std::int32_t level) {
  constexpr std::int32_t kRotationLevel = 2;
  if (level >= kRotationLevel) return {};
  return Error{
      ErrorKind::kConflict, "level_needed",
      fmt::format("controllers of the former version know the file `token` of their data "
                  "directory alone: the cluster is at level {} until an administrator runs "
                  "`dove upgrade finish`, and this needs level {}",
                  level, kRotationLevel),
      ""};
}

// The file goes back to the former token only where the log certainly has no other one.
Error not_rotated(listener::Identity& identity, const std::string& directory, Error error) {
  if (error.code == "commit_unknown") {
    error.message += fmt::format(
        "; {}/token holds the new token, which lets people in if it was written: try it, and the "
        "former one if it does not",
        directory);
    return error;
  }
  const Result<void> back = identity.write_admin_token(identity.admin_token());
  if (back.ok()) return error;
  error.message += fmt::format("; and {}/token holds a token that is not in force: {}", directory,
                               back.error().message);
  return error;
}

// The new one is in force. Keys that were on their way to the log before it are in the state now.
void token_is_replaced(Context& context, const CallPtr& call, const Json& answer, bool overlaps) {
  context.is_token_replaced = false;
  context.desk.identity.take_admin_token(answer.at("token").get<std::string>());
  if (overlaps) return call->reply(201, answer);
  context.ssh.drop(SshEntries::kRoots);
  controller::Input late =
      end_all_of_administrator(context.state(), *call, answer.at("id").get<std::string>());
  if (late.events.empty()) return call->reply(201, answer);
  context.desk.submit(std::move(late), [call, answer](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->reply(201, answer);
  });
}

}  // namespace

// The log says which token it is: all controllers know the new one at once, and the record of it
// has its digest alone. The file comes first: what cannot be kept there changes nothing.
void rotate_admin_token(Context& context, CallPtr call) {
  if (!call->caller.is_root) {
    return call->fail(Error{ErrorKind::kDenied, "administrators_token_needed",
                            "only who shows the administrator's token, or is root or the server's "
                            "user on the controller's machine, may change it",
                            "Authorization"});
  }
  std::int64_t overlap_s = 0;
  Result<void> read = check_level(context.state().level);
  if (read.ok() && !call->request.body.empty()) {
    read = call->read_body([&](codec::JsonFields& fields) {
      fields.integer("overlap_s", overlap_s, 0, kOverlapMost_s);
    });
  }
  if (!read.ok()) return call->fail(read.error());
  const Instant ends = context.desk.now() + seconds(overlap_s);
  listener::Identity& identity = context.desk.identity;
  controller::Input input;
  if (overlap_s == 0) {
    input = end_all_of_administrator(context.state(), *call);
  } else {
    input.events.push_back(
        {former_token(context.state(), identity.admin_token(), ends), call->cause()});
  }
  NewKey made = make_key(admin_key("admin-token", kNever), kKeyPrefix);
  input.events.push_back({made.issued, call->cause()});
  const Result<void> kept = identity.write_admin_token(made.secret);
  if (!kept.ok()) return call->fail(kept.error());
  Json answer{{"token", made.secret}, {"id", made.issued.key.id}};
  codec::put_instant(answer, "former_ends_at", overlap_s == 0 ? Instant{} : ends);
  const bool overlaps = overlap_s != 0;
  context.is_token_replaced = true;
  context.desk.submit(
      std::move(input), [&context, &identity, call, overlaps,
                         answer = std::move(answer)](const Result<Committed>& committed) {
        if (committed.ok()) return token_is_replaced(context, call, answer, overlaps);
        context.is_token_replaced = false;
        call->fail(not_rotated(identity, context.desk.options.data_dir, committed.error()));
      });
}

void issue_join_token(Context& context, CallPtr call) {
  constexpr std::int64_t kLongest_s = 30 * 24 * 3600;
  std::string node;
  std::int64_t ttl_s = 3600;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("node", node);
    if (!node.empty() && !listener::is_name(node)) {
      fields.fail("node", "bad_name", "a node's name is letters, digits and _.-@, at most 64");
    }
    fields.integer("ttl_s", ttl_s, 1, kLongest_s);
  });
  if (!read.ok()) return call->fail(read.error());
  const std::string token = wire::random_token(32);
  const Instant expires_at = context.desk.now() + seconds(ttl_s);
  JoinTokenIssued issued{wire::sha256_hex(token), node, expires_at};
  const Call& asked = *call;
  context.desk.submit(
      asked, std::move(issued),
      [call, node, token, expires_at,
       nodes = context.desk.options.nodes](const Result<Committed>& committed) {
        if (!committed.ok()) return call->fail(committed.error());
        call->reply(201, Json{{"token", nodes == nullptr ? token : nodes->join_token(token)},
                              {"node", node},
                              {"expires_at_us", expires_at.us}});
      });
}

}  // namespace dove::server
