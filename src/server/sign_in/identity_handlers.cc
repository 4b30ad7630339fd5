// Identity tokens of jobs: what a running job shows to others, who verify it with our public keys
// (OpenID Connect Discovery). Our own calls do not take them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json_fields.h"
#include "codec/json_parts.h"
#include "server/context.h"
#include "server/handlers.h"
#include "server/job_select.h"
#include "wire/secret.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kUsual_s = 600;
constexpr std::int64_t kLongest_s = 3600;

constexpr char kKeysPath[] = "/v1/identity-keys";

// Who this server is to others: the same whoever asks, so that what was signed stays good.
std::string issuer_of(const Context& context, const Call& call) {
  if (!context.ways.public_url.empty()) return context.ways.public_url;
  return fmt::format("{}://{}", context.desk.options.nodes == nullptr ? "http" : "https",
                     call.request.header("Host"));
}

// Others compare the whole subject, so it says no more than who the job works for.
std::string subject_of(const JobSpec& spec) {
  const std::string user = "user:" + spec.user;
  return spec.project.empty() ? user : fmt::format("project:{}:{}", spec.project, user);
}

}  // namespace

void get_identity_issuer(Context& context, CallPtr call) {
  const std::string issuer = issuer_of(context, *call);
  call->reply(200, {{"issuer", issuer},
                    {"jwks_uri", issuer + kKeysPath},
                    {"response_types_supported", {"id_token"}},
                    {"subject_types_supported", {"public"}},
                    {"id_token_signing_alg_values_supported", {"ES256"}}});
}

void get_identity_keys(Context& context, CallPtr call) {
  call->reply(200, context.ways.signer.public_keys());
}

void issue_identity_token(Context& context, CallPtr call) {
  std::string audience;
  std::int64_t ttl_s = kUsual_s;
  const Result<void> read = call->read_body([&](codec::JsonFields& fields) {
    fields.text("audience", audience, {256, TextRule::Kind::kName});
    if (audience.empty()) {
      fields.fail("audience", "missing_field", "say who the token is for, as they name themselves");
    }
    fields.integer("ttl_s", ttl_s, 1, kLongest_s);
  });
  if (!read.ok()) return call->fail(read.error());
  const auto found = find_job(context.state(), call->parameters[0]);
  if (!found.ok()) return call->fail(found.error());
  const core::Job& job = **found;
  // Not even its user's own token: then whoever may act on a job could be its user elsewhere.
  if (call->caller.job != job.id) {
    return call->fail(Error{ErrorKind::kDenied, "only_the_job",
                            "a job gets its identity token itself, while it runs: call `dove "
                            "identity-token` in it",
                            ""});
  }
  const std::int64_t now_s = context.desk.now().us / 1'000'000;
  const JobSpec& spec = *job.spec;
  const Json claims{{"iss", issuer_of(context, *call)},
                    {"sub", subject_of(spec)},
                    {"aud", audience},
                    {"iat", now_s},
                    {"nbf", now_s},
                    {"exp", now_s + ttl_s},
                    {"jti", wire::random_token(16)},
                    {"user", spec.user},
                    {"project", spec.project},
                    {"queue", spec.queue},
                    {"job", std::to_string(job.id.value)},
                    {"job_name", spec.name},
                    {"attempt", call->caller.attempt},
                    {"cluster", context.state().settings.name}};
  Json answer{{"token", context.ways.signer.sign(claims)}};
  codec::put_instant(answer, "expires_at", Instant{(now_s + ttl_s) * 1'000'000});
  call->reply(201, answer);
}

}  // namespace dove::server
