// The SSH gateway's calls, and those that lead people to it: where it is, whom it lets in, and the
// keys of five minutes of `dove ssh`.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "accounts/access.h"
#include "codec/json.h"
#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "server/new_key.h"
#include "ssh/keys/public_key.h"
#include "telemetry/clock.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;
using controller::Committed;

constexpr Span kEntry = seconds(12 * 3600);
constexpr std::size_t kHostKeysMax = 8;
constexpr TextRule kKeyRule{16 << 10, TextRule::Kind::kAny};

Error no_gateway() {
  return Error{ErrorKind::kNotFound, "no_ssh_gateway",
               "no SSH gateway has said where it is; an administrator starts one with `dove "
               "ssh-gateway` (docs/operate/ssh.md)",
               ""};
}

Json gateway_json(const SshEntries::Gateway& gateway) {
  return Json{
      {"address", gateway.address}, {"port", gateway.port}, {"host_keys", gateway.host_keys}};
}

// Who a connection comes from, by the key that it has shown.
struct Knocker {
  std::string user;
  std::string by;  // as in listener::ssh_token_prefix()
  JobId job;       // none: any of the user's
};

struct Knock {
  ssh::PublicKey key;
  std::string job;
  std::string address;  // where the connection comes from
};

Result<Knock> read_knock(const Call& call) {
  Knock knock;
  std::string key;
  TRY(call.read_body([&](codec::JsonFields& fields) {
    fields.text("key", key, kKeyRule);
    fields.text("job", knock.job, kNameRule);
    fields.text("address", knock.address, {64, TextRule::Kind::kLine});
  }));
  TRY_ASSIGN(knock.key, ssh::read_public_key(key));
  return knock;
}

// Several may have the same key: the job's user comes before others.
Result<Knocker> whose(Context& context, const ssh::PublicKey& key, const core::Job* job) {
  const std::string digest = wire::sha256_hex(key.body);
  const auto* session = context.ssh.find(digest, telemetry::monotonic_us());
  // Nobody has proved that the key of a session is theirs, so it opens nothing but its own job.
  const bool is_its_job = session != nullptr && job != nullptr && session->job == job->id &&
                          session->user == job->spec->user;
  if (is_its_job) return Knocker{session->user, session->by, session->job};
  Knocker found;
  for (const auto& [name, user] : context.state().users) {
    const bool has = std::any_of(
        user.ssh_keys.begin(), user.ssh_keys.end(),
        [&](const std::string& line) { return accounts::ssh_key_body(line) == key.body; });
    if (!has) continue;
    found = {name, "k" + digest, JobId()};
    if (job != nullptr && job->spec->user == name) break;
  }
  if (!found.user.empty()) return found;
  return Error{
      ErrorKind::kUnauthenticated, "ssh_key_unknown",
      "no user here has this key; add it with `dove ssh-key add FILE.pub`, or use `dove ssh JOB`",
      "key"};
}

struct Entry {
  Knocker who;
  JobId job;
};

// Only the job's own user gets in: an administrator who needs to uses `dove exec`.
Result<Entry> let_in(Context& context, const Knock& knock) {
  const core::State& state = context.state();
  const Result<const core::Job*> job = find_job(state, knock.job);
  TRY_ASSIGN(const Knocker who, whose(context, knock.key, job.ok() ? *job : nullptr));
  const auto user = state.users.find(who.user);
  if (user != state.users.end() && user->second.disabled) {
    return Error{ErrorKind::kUnauthenticated, "user_disabled",
                 fmt::format("user {} is disabled here; ask an administrator", who.user), ""};
  }
  if (user == state.users.end() && who.by != SshEntries::kRoots) {
    return Error{ErrorKind::kUnauthenticated, "ssh_key_unknown",
                 fmt::format("user {} is not declared here", who.user), "key"};
  }
  TRY(job);
  if ((*job)->spec->user != who.user || (who.job && who.job != (*job)->id)) {
    return Error{
        ErrorKind::kDenied, "not_yours",
        fmt::format("you are {}, and job {} is not yours to enter by SSH", who.user, knock.job),
        "job"};
  }
  return Entry{who, (*job)->id};
}

void answer(const CallPtr& call, int status, const std::string& user, const std::string& token,
            Instant expires_at) {
  Json body{{"user", user}, {"token", token}};
  codec::put_instant(body, "expires_at", expires_at);
  call->reply(status, body);
}

// How the caller has proved who they are, for ssh_token_prefix().
std::string by_of(const core::State& state, const Caller& caller) {
  if (caller.key.empty()) return caller.is_root ? SshEntries::kRoots : "t";
  const Key* key = accounts::find_key(state, caller.key);
  return key != nullptr && accounts::is_rotated_token(*key) ? SshEntries::kRoots : "a" + caller.key;
}

}  // namespace

void announce_ssh_gateway(Context& context, CallPtr call) {
  SshEntries::Gateway gateway;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("address", gateway.address, kNameRule);
    fields.integer("port", gateway.port, 1, 65'535);
    fields.texts("host_keys", gateway.host_keys, {4096, TextRule::Kind::kLine}, kHostKeysMax);
    if (gateway.address.empty() || gateway.port == 0 || gateway.host_keys.empty()) {
      fields.fail("", "missing_field", "say address, port and host_keys");
    }
  });
  if (!read.ok()) return call->fail(read.error());
  for (const std::string& line : gateway.host_keys) {
    if (const auto key = ssh::read_public_key(line); !key.ok()) return call->fail(key.error());
  }
  context.ssh.announce(std::move(gateway), telemetry::monotonic_us());
  call->responder->send(wire::Response{204, {}, ""});
}

void get_ssh_gateway(Context& context, CallPtr call) {
  const auto gateway = context.ssh.gateway(telemetry::monotonic_us());
  if (!gateway) return call->fail(no_gateway());
  call->reply(200, gateway_json(*gateway));
}

void issue_ssh_sign_in(Context& context, CallPtr call) {
  const Result<Knock> knock = read_knock(*call);
  if (!knock.ok()) return call->fail(knock.error());
  const Result<Entry> entry = let_in(context, *knock);
  if (!entry.ok()) {
    Error why = entry.error();
    // The refusal is the connection's, not the gateway's.
    call->refused = nullptr;
    context.desk.refusals->note({}, knock->address, "issueSshSignIn", why);
    if (why.kind == ErrorKind::kUnauthenticated) {
      why = context.desk.throttle->failed(knock->address, why, context.desk.loop.monotonic_us());
    }
    return call->fail(why);
  }
  const auto& [who, job] = *entry;
  const SshEntries::Same same{who.user, job.value, who.by, knock->address};
  const std::int64_t now_us = telemetry::monotonic_us();
  if (const auto* issued = context.ssh.issued(same, now_us);
      issued != nullptr && context.state().keys.contains(wire::sha256_hex(issued->token))) {
    return answer(call, 200, who.user, issued->token, issued->expires_at);
  }
  const Result<void> may = may_make(context, who.by == SshEntries::kRoots);
  if (!may.ok()) return call->fail(may.error());
  Key key;
  key.user = who.user;
  key.name = fmt::format("ssh into job {} from {}", job.value, knock->address);
  key.scope = KeyScope::kJobs;
  key.kind = KeyKind::kCode;  // not to be mistaken for a key that its user made
  key.is_administrators = who.by == SshEntries::kRoots;
  key.expires_at = context.desk.now() + kEntry;
  NewKey made = make_key(std::move(key), listener::ssh_token_prefix(job, who.by));
  const SshEntries::Issued issued{made.secret, made.issued.key.expires_at};
  const Call& asked = *call;
  context.desk.submit(
      asked, std::move(made.issued),
      [call, &context, same, issued, user = who.user](const Result<Committed>& committed) {
        if (!committed.ok()) return call->fail(committed.error());
        context.ssh.keep(same, issued, telemetry::monotonic_us());
        answer(call, 201, user, issued.token, issued.expires_at);
      });
}

void open_ssh_session(Context& context, CallPtr call) {
  const Caller& caller = call->caller;
  std::string text;
  std::string name;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("key", text, kKeyRule);
    fields.text("job", name, kNameRule);
  });
  if (!read.ok()) return call->fail(read.error());
  const Result<ssh::PublicKey> key = ssh::read_public_key(text);
  if (!key.ok()) return call->fail(key.error());
  const Result<const core::Job*> job = find_job(context.state(), name);
  if (!job.ok() || !may_see(context.state(), caller, **job)) {
    return call->fail(job.ok() ? not_found("job", name) : job.error());
  }
  if ((*job)->spec->user != caller.user) {
    return call->fail(Error{ErrorKind::kDenied, "not_yours",
                            fmt::format("only the user of job {} enters it by SSH; administrators "
                                        "use `dove exec`",
                                        name),
                            "job"});
  }
  const std::int64_t now_us = telemetry::monotonic_us();
  const auto gateway = context.ssh.gateway(now_us);
  if (!gateway) return call->fail(no_gateway());
  const Result<void> opened =
      context.ssh.open(wire::sha256_hex(key->body),
                       {caller.user, (*job)->id, by_of(context.state(), caller)}, now_us);
  if (!opened.ok()) return call->fail(opened.error());
  Json body{{"gateway", gateway_json(*gateway)}};
  codec::put_instant(body, "expires_at", Instant{context.desk.now().us + SshEntries::kSession_us});
  call->reply(201, body);
}

}  // namespace dove::server
