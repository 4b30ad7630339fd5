#include "backends/native/given_secrets.h"

#include <fmt/format.h>

#include <charconv>

#include "accounts/secrets.h"
#include "backends/native/sync_plan.h"
#include "protocol/session.h"
#include "wire/tls/sealed_box.h"

namespace dove::backends {
namespace {

template <class Number>
Number number_of(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : Number{0};
}

Result<const core::Job*> job_here(const Agents& agents, const listener::Call& call) {
  const JobId id(number_of<std::uint64_t>(call.parameters[1]));
  const auto attempt = number_of<AttemptNumber>(call.parameters[2]);
  const core::Job* job = agents.state().find_job(id);
  const core::PlacementRecord* record =
      job == nullptr ? nullptr : find_placement(agents.state(), id, attempt, call.caller.node);
  const bool is_here = record != nullptr && record->stage != core::PlacementStage::kEnded &&
                       job->phase == JobPhase::kActive && job->attempts.back().number == attempt;
  if (is_here) return job;
  return Error{ErrorKind::kConflict, "not_here",
               "this attempt has no placement on the node that is not over", ""};
}

Result<protocol::GivenSecret> given(const Agents& agents, const JobSpec& spec,
                                    const SecretUse& use) {
  TRY_ASSIGN(const Secret* secret, accounts::secret_of(agents.state(), spec, use.secret));
  Result<std::string> value = agents.desk.open_secret(*secret);
  if (!value.ok()) return value.error();
  protocol::GivenSecret out{use.variable, use.file, wire::base64(value.value())};
  const bool has_nul = value->find('\0') != std::string::npos;
  wire::wipe(*value);
  if (!has_nul || use.variable.empty()) return out;
  return Error{ErrorKind::kInvalid, "nul_byte",
               fmt::format("the secret {} has a zero byte, which no variable holds: give it to the "
                           "tasks as a file",
                           use.secret),
               "secrets"};
}

}  // namespace

void give_secrets(Agents& agents, CallPtr call) {
  const Result<const core::Job*> job = job_here(agents, *call);
  if (!job.ok()) return call->fail(job.error());
  protocol::GivenSecrets all;
  for (const SecretUse& use : (*job)->spec->secrets) {
    Result<protocol::GivenSecret> one = given(agents, *(*job)->spec, use);
    if (!one.ok()) return call->fail(one.error());
    all.secrets.push_back(std::move(one).value());
  }
  call->responder->send({200,
                         {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                         protocol::given_secrets_text(all)});
}

}  // namespace dove::backends
