// /v1/users/{name}/ssh-keys: the SSH keys of a user, which they look after themselves.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json_fields.h"
#include "server/context.h"
#include "server/handlers.h"
#include "ssh/keys/public_key.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::size_t kKeysMax = 32;
constexpr std::size_t kIdBytes = 12;

std::string id_of(std::string_view line) {
  return wire::sha256_hex(accounts::ssh_key_body(line)).substr(0, kIdBytes);
}

Json key_json(const std::string& line) {
  Json out{{"id", id_of(line)}, {"key", line}, {"warnings", Json::array()}};
  const Result<ssh::PublicKey> key = ssh::read_public_key(line);
  if (!key.ok()) {  // an administrator declared it
    out["warnings"].push_back(key.error().message);
  } else {
    out["kind"] = key->kind;
    out["comment"] = key->comment;
    if (!key->warning.empty()) out["warnings"].push_back(key->warning);
  }
  return out;
}

// The user that the call names, when its caller may look after their keys.
Result<UserDeclaration> user_of(const Context& context, const Call& call) {
  const std::string& name = call.parameters[0];
  const auto found = context.state().users.find(name);
  if (!may_keep_keys(context.state(), call.caller, name)) {
    return Error{ErrorKind::kDenied, "admin_only",
                 "people manage their own SSH keys, administrators everybody's, and managers of a "
                 "project those of its service accounts",
                 ""};
  }
  if (found != context.state().users.end()) return found->second;
  return Error{ErrorKind::kNotFound, "no_such_user",
               fmt::format("no user {} is declared; an administrator does it with `dove apply` or "
                           "`dove token create --create {}`",
                           name, name),
               ""};
}

void change(Context& context, const CallPtr& call, UserDeclaration user,
            std::function<void()> done) {
  const Call& asked = *call;
  context.desk.submit(asked, ObjectApplied{Declared(std::move(user))},
                      [call, done = std::move(done)](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        done();
                      });
}

Result<ssh::PublicKey> read_key(const Call& call) {
  std::string text;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    fields.text("key", text, {16 << 10, TextRule::Kind::kAny});
    if (text.empty()) fields.fail("key", "missing_field", "give the line of the public key");
  }));
  return ssh::read_public_key(text);
}

}  // namespace

void list_ssh_keys(Context& context, CallPtr call) {
  const Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  Json keys = Json::array();
  for (const std::string& line : user->ssh_keys) keys.push_back(key_json(line));
  call->reply(200, Json{{"keys", std::move(keys)}});
}

void add_ssh_key(Context& context, CallPtr call) {
  Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  const Result<ssh::PublicKey> key = read_key(*call);
  if (!key.ok()) return call->fail(key.error());
  const Json answer = key_json(key->line());
  for (const std::string& line : user->ssh_keys) {
    if (accounts::ssh_key_body(line) == key->body) return call->reply(200, key_json(line));
  }
  if (user->ssh_keys.size() >= kKeysMax) {
    return call->fail(Error{ErrorKind::kConflict, "too_many_ssh_keys",
                            fmt::format("a user has at most {} SSH keys; remove one first with "
                                        "`dove ssh-key remove ID`",
                                        kKeysMax),
                            ""});
  }
  user->ssh_keys.push_back(key->line());
  change(context, call, std::move(user).value(), [call, answer] { call->reply(201, answer); });
}

void remove_ssh_key(Context& context, CallPtr call) {
  Result<UserDeclaration> user = user_of(context, *call);
  if (!user.ok()) return call->fail(user.error());
  const std::string& id = call->parameters[1];
  const auto gone =
      std::erase_if(user->ssh_keys, [&](const std::string& line) { return id_of(line) == id; });
  if (gone == 0) {
    return call->fail(Error{ErrorKind::kNotFound, "no_such_ssh_key",
                            fmt::format("there is no SSH key {}", id), "id"});
  }
  change(context, call, std::move(user).value(), [call] {
    call->responder->send(wire::Response{204, {}, ""});
  });
}

}  // namespace dove::server
