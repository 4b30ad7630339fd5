// The tokens that administrators give out: to users, and to nodes that are to join.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "server/context.h"
#include "server/handlers.h"
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
                        call->reply(201, std::move(answer));
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
