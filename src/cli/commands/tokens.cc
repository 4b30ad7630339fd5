// dove token create, join-token create: who may call, which machine may join.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

Result<int> run_token(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const std::string& user = invocation.operands[0];
  const std::string target = "/v1/users/" + wire::percent_encode(user) + "/token" +
                             (invocation.has("create") ? "?create=1" : "");
  TRY_ASSIGN(const json answer, api.send("POST", target, json::object()));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  print(text_of(answer, "token") + "\n");
  say(
      fmt::format("this is the only time it is shown; {} keeps it in a file (mode 0600) named by "
                  "DOVE_TOKEN_FILE",
                  user));
  return kExitOk;
}

Result<int> run_join_token(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  json body = json::object();
  if (!invocation.operands.empty()) body["node"] = invocation.operands[0];
  if (invocation.has("valid-for")) {
    const auto span_us = parse_span_us(invocation.get("valid-for"));
    if (!span_us || *span_us == 0)
      return usage_error("--valid-for takes a time such as 30m or 24h");
    body["ttl_s"] = *span_us / 1'000'000;
  }
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", "/v1/join-tokens", body));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  print(text_of(answer, "token") + "\n");
  say(fmt::format("it works once; on the node: dove agent --url {} --join-token-file FILE",
                  api.endpoint().url));
  return kExitOk;
}

}  // namespace

std::vector<Command> token_commands() {
  CommandSpec token;
  token.name = "token create";
  token.summary = "Give a user a token to call with";
  token.group = "Declared state";
  token.operands = "USER";
  token.operands_min = token.operands_max = 1;
  token.description =
      "The former token is void. Users are declared by `dove apply` (kind: User) or --create.";
  token.options = {{"create", 0, "", "declare the user if there is none"}, output_option()};
  CommandSpec join;
  join.name = "join-token create";
  join.summary = "Give a machine a token to join with, once";
  join.group = "Nodes";
  join.operands = "[NODE]";
  join.operands_max = 1;
  join.options = {{"valid-for", 0, "TIME", "how long it may be used"}, output_option()};
  return {{token, guarded("token create", run_token)},
          {join, guarded("join-token create", run_join_token)}};
}

}  // namespace dove::cli
