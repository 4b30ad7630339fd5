// dove token create, token rotate, key create, key list, key revoke, join-token create: who may
// call, which machine may join.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/client/api.h"
#include "cli/client/endpoint.h"
#include "cli/client/pages.h"
#include "cli/client/views.h"
#include "cli/families.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/times.h"

namespace dove::cli {
namespace {

using nlohmann::json;

// Sets body[field] to the seconds that an option says, if it is given.
Result<void> put_span(const Invocation& invocation, const char* option, const char* example,
                      const char* field, json& body) {
  if (!invocation.has(option)) return {};
  const auto span_us = parse_span_us(invocation.get(option));
  if (!span_us || *span_us < 1'000'000) {
    return usage_error(fmt::format("--{} takes a time such as {}", option, example));
  }
  body[field] = *span_us / 1'000'000;
  return {};
}

Result<int> run_token(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  json body = json::object();
  TRY(put_span(invocation, "expires", "30d", "ttl_s", body));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const std::string& user = invocation.operands[0];
  const std::string target = "/v1/users/" + wire::percent_encode(user) + "/token" +
                             (invocation.has("create") ? "?create=1" : "");
  TRY_ASSIGN(const json answer, api.send("POST", target, body));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  print(text_of(answer, "token") + "\n");
  const std::int64_t ends_us = number_of(answer, "expires_at_us");
  say(
      fmt::format("it is good {}; this is the only time it is shown; {} keeps it in a file (mode "
                  "0600) named by DOVE_TOKEN_FILE",
                  ends_us == 0 ? "until there is another" : "until " + when_text(ends_us), user));
  return kExitOk;
}

Result<int> run_token_rotate(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  json body = json::object();
  TRY(put_span(invocation, "overlap", "1h", "overlap_s", body));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", "/v1/admin-token", body));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  print(text_of(answer, "token") + "\n");
  const std::int64_t ends_us = number_of(answer, "former_ends_at_us");
  say(fmt::format(
      "all controllers take it from now on, and it is in the file `token` of the one that was "
      "asked; the former token {}",
      ends_us == 0 ? "lets nobody in any more, and all sessions that it began have ended"
                   : "lets people in until " + when_text(ends_us)));
  return kExitOk;
}

Result<int> run_key_create(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  json body{{"name", invocation.operands[0]}};
  for (const char* name : {"scope", "user"}) {
    if (invocation.has(name)) body[name] = invocation.get(name);
  }
  TRY(put_span(invocation, "expires", "12h or 90d", "ttl_s", body));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", "/v1/keys", body));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  print(text_of(answer, "key") + "\n");
  say(
      fmt::format("key {} is good until {}; this is the only time it is shown: keep it in a file "
                  "(mode 0600) named by DOVE_TOKEN_FILE",
                  text_of(answer, "id"), when_text(number_of(answer, "expires_at_us"))));
  return kExitOk;
}

Result<int> run_key_list(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  const std::string target = invocation.has("user")
                                 ? "/v1/keys?user=" + wire::percent_encode(invocation.get("user"))
                                 : "/v1/keys";
  TRY_ASSIGN(const json answer, get_all(api, target, "keys"));
  if (format == Format::kJson || format == Format::kYaml) {
    print_value(answer, format);
    return kExitOk;
  }
  Table table({{"ID"}, {"USER"}, {"NAME"}, {"SCOPE"}, {"MADE"}, {"EXPIRES"}});
  for (const json& key : list_of(answer, "keys")) {
    if (format == Format::kName) print(text_of(key, "id") + "\n");
    table.add({{text_of(key, "id"), ""},
               {text_of(key, "user"), ""},
               {text_of(key, "name"), ""},
               {text_of(key, "scope"), ""},
               {when_text(number_of(key, "issued_at_us")), ""},
               {when_text(number_of(key, "expires_at_us")), ""}});
  }
  if (format == Format::kName) return kExitOk;
  if (table.empty()) {
    say("no keys: `dove key create NAME` makes one");
  } else {
    print(table.text(colours_on()));
  }
  return kExitOk;
}

Result<int> run_key_revoke(const Invocation& invocation) {
  TRY_ASSIGN(Api api, Api::connect(invocation));
  for (const std::string& id : invocation.operands) {
    TRY(api.send("DELETE", "/v1/keys/" + wire::percent_encode(id), json()));
    print(fmt::format("key {} is revoked\n", id));
  }
  return kExitOk;
}

Result<int> run_join_token(const Invocation& invocation) {
  TRY_ASSIGN(const Format format, output_format(invocation));
  json body = json::object();
  if (!invocation.operands.empty()) body["node"] = invocation.operands[0];
  TRY(put_span(invocation, "valid-for", "30m or 24h", "ttl_s", body));
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

// In a task: what it shows to others who are to let the job in.
Result<int> run_identity_token(const Invocation& invocation) {
  const std::string job = environment_value("DOVE_JOB_ID");
  if (job.empty()) {
    return usage_error("`dove identity-token` is called by a running job, in one of its tasks");
  }
  json body{{"audience", invocation.operands[0]}};
  TRY(put_span(invocation, "expires", "10m", "ttl_s", body));
  TRY_ASSIGN(Api api, Api::connect(invocation));
  TRY_ASSIGN(const json answer, api.send("POST", job_target(job, "/identity-token"), body));
  print(text_of(answer, "token") + "\n");
  return kExitOk;
}

}  // namespace

std::vector<Command> key_commands() {
  CommandSpec create;
  create.name = "key create";
  create.summary = "Make a key for a program that acts in your name";
  create.group = "People";
  create.operands = "NAME";
  create.operands_min = create.operands_max = 1;
  create.description =
      "NAME says what it is for. The key is shown once, expires, and can be revoked.";
  create.options = {
      {"scope", 0, "SCOPE",
       "read; jobs: your own jobs, too; all: whatever you may; log: copy the log (jobs)"},
      {"expires", 0, "TIME", "when it expires: 12h, 90d; at most 366d (90d)"},
      {"user", 0, "USER", "for somebody else; administrators only"},
      output_option()};
  CommandSpec list;
  list.name = "key list";
  list.summary = "List your keys; all of them for administrators";
  list.group = "People";
  list.options = {{"user", 0, "USER", "only of this user"}, output_option()};
  CommandSpec revoke;
  revoke.name = "key revoke";
  revoke.summary = "Revoke keys, which then let nobody in";
  revoke.group = "People";
  revoke.operands = "ID...";
  revoke.operands_min = 1;
  revoke.operands_max = -1;
  return {{create, guarded("key create", run_key_create)},
          {list, guarded("key list", run_key_list)},
          {revoke, guarded("key revoke", run_key_revoke)}};
}

std::vector<Command> token_commands() {
  CommandSpec token;
  token.name = "token create";
  token.summary = "Make a user's token for the API";
  token.group = "People";
  token.operands = "USER";
  token.operands_min = token.operands_max = 1;
  token.description =
      "The user's former token becomes invalid. Users are declared by `dove apply` (kind: User) or "
      "--create.";
  token.options = {{"create", 0, "", "declare the user if there is none"},
                   {"expires", 0, "TIME", "when it expires: 12h, 30d (never)"},
                   output_option()};
  CommandSpec rotate;
  rotate.name = "token rotate";
  rotate.summary = "Replace the administrator's token by another";
  rotate.group = "People";
  rotate.description =
      "It prints the new token and writes it into the file `token` of the server's data "
      "directory;\n"
      "nothing is restarted. Run it as root on the controller's machine, or with the present "
      "token.";
  rotate.options = {
      {"overlap", 0, "TIME", "how long the former token still works, as 1h; at most 30d (none)"},
      output_option()};
  CommandSpec join;
  join.name = "join-token create";
  join.summary = "Make a one-time token for a machine that is to join";
  join.group = "Nodes";
  join.operands = "[NODE]";
  join.operands_max = 1;
  join.options = {{"valid-for", 0, "TIME", "how long the token may be used (1h)"}, output_option()};
  CommandSpec identity;
  identity.name = "identity-token";
  identity.summary = "In a job: print a token that proves to others which job it is";
  identity.group = "People";
  identity.operands = "AUDIENCE";
  identity.operands_min = identity.operands_max = 1;
  identity.description =
      "A signed JWT for AUDIENCE alone, which verifies it with the keys that this server's\n"
      "/.well-known/openid-configuration names. docs/guide/identity.md has examples.";
  identity.options = {{"expires", 0, "TIME", "when it expires: at most 1h (10m)"}};
  return {{token, guarded("token create", run_token)},
          {rotate, guarded("token rotate", run_token_rotate)},
          {identity, guarded("identity-token", run_identity_token)},
          {join, guarded("join-token create", run_join_token)}};
}

}  // namespace dove::cli
