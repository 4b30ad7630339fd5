#include "server/secrets/job_secrets.h"

#include <fmt/format.h>

#include "accounts/secrets.h"

namespace dove::server {

Result<void> check_secrets(const core::State& state, const JobSpec& spec, const ExecSpec& exec) {
  for (std::size_t i = 0; i < spec.secrets.size(); ++i) {
    const SecretUse& use = spec.secrets[i];
    const auto found = accounts::secret_of(state, spec, use.secret);
    if (!found.ok()) {
      Error error = found.error();
      error.field = fmt::format("secrets[{}].secret", i);
      return error;
    }
    if (use.variable.empty() || !exec.environment.contains(use.variable)) continue;
    return Error{ErrorKind::kInvalid, "given_twice",
                 fmt::format("{} is set by a secret and by the job's environment as well: take it "
                             "out of one of them (`unset {}`, or another name)",
                             use.variable, use.variable),
                 fmt::format("secrets[{}].variable", i)};
  }
  return {};
}

}  // namespace dove::server
