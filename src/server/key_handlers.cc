// /v1/keys: the keys that people and their programs call with.
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/words.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/lists/page_wanted.h"
#include "server/new_key.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr std::int64_t kLongest_s = 366 * 86'400;
constexpr std::int64_t kUsual_s = 90 * 86'400;

Result<Key> read_key(const Call& call, Instant now) {
  Key key;
  key.user = call.caller.user;
  key.scope = KeyScope::kJobs;
  std::int64_t ttl_s = kUsual_s;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    fields.text("name", key.name, {64, TextRule::Kind::kName});
    if (key.name.empty()) {
      fields.fail("name", "missing_field", "say what the key is for, as in \"ci\"");
    }
    fields.text("user", key.user, kNameRule);
    const int scope = fields.one_of("scope", codec::key_scopes());
    if (scope >= 0) key.scope = static_cast<KeyScope>(scope);
    fields.integer("ttl_s", ttl_s, 1, kLongest_s);
  }));
  key.expires_at = now + seconds(ttl_s);
  return key;
}

}  // namespace

void list_keys(Context& context, CallPtr call) {
  const Result<PageWanted> asked = read_page_wanted(*call);
  if (!asked.ok()) return call->fail(asked.error());
  const std::string user = call->query_text("user");
  Page<std::string> page(asked->after, asked->limit);
  for (const auto& entry : context.state().keys) {  // by SHA-256, and so by id
    const Key& key = entry.second;
    const bool wanted = (user.empty() || key.user == user) && asked->has(key.name);
    if (!wanted || !may_keep_keys(context.state(), call->caller, key.user)) continue;
    if (!page.offer(key.id, [&] { return codec::key_json(key); })) break;
  }
  call->reply(200, page.answer("keys", context.state().head));
}

void issue_key(Context& context, CallPtr call) {
  Result<Key> key = read_key(*call, context.desk.now());
  if (!key.ok()) return call->fail(key.error());
  if (!may_keep_keys(context.state(), call->caller, key->user)) {
    return call->fail(Error{ErrorKind::kDenied, "admin_only",
                            "only an administrator makes keys for other people, and a manager of "
                            "their project for service accounts; leave out `user`",
                            "user"});
  }
  NewKey made = make_key(std::move(key).value(), kKeyPrefix);
  Json answer = codec::key_json(made.issued.key);
  answer.erase("issued_at");
  answer.erase("issued_at_us");
  answer["key"] = made.secret;
  const Call& asked = *call;
  context.desk.submit(asked, std::move(made.issued),
                      [call, answer = std::move(answer)](const Result<Committed>& committed) {
                        if (!committed.ok()) return call->fail(committed.error());
                        call->reply(201, answer);
                      });
}

void revoke_key(Context& context, CallPtr call) {
  const std::string& id = call->parameters[0];
  const Key* key = accounts::find_key(context.state(), id);
  if (key == nullptr || !may_keep_keys(context.state(), call->caller, key->user)) {
    return call->fail(not_found("key", id));
  }
  if (accounts::is_administrators_token(*key)) {
    return call->fail(Error{ErrorKind::kConflict, "administrators_token",
                            "this is the administrator's token, without which there would be none: "
                            "`dove token rotate` replaces it",
                            "id"});
  }
  const Call& asked = *call;
  context.desk.submit(asked, KeyRevoked{id}, [call](const Result<Committed>& committed) {
    if (!committed.ok()) return call->fail(committed.error());
    call->responder->send(wire::Response{204, {}, ""});
  });
}

}  // namespace dove::server
