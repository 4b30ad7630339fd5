// ActiveAttempt's secrets: asked for before its tasks are started, gone when none is left.
#include <utility>

#include "agent/attempts/active_attempt.h"

namespace dove::agent {

void ActiveAttempt::with_secrets(std::function<void()> next) {
  if (secrets_ready_ || order_.secrets.empty() || !context_.keeps_records) {
    secrets_ready_ = true;
    return next();
  }
  // A former agent of this boot had them.
  if (has_secrets(secrets_directory(context_.facts->secrets_place, order_.key))) {
    secrets_ready_ = true;
    return next();
  }
  if (!context_.ask_secrets) {
    return fail(Error{ErrorKind::kInternal, "no_secrets", "nobody can be asked for secrets", ""});
  }
  context_.ask_secrets([this, next = std::move(next), alive = std::weak_ptr<bool>(alive_)](
                           Result<std::vector<TaskSecret>> secrets) {
    if (alive.expired() || stage_ == Stage::kEnded || stopping_ || leaving_) return;
    Result<void> taken =
        secrets.ok() ? take_secrets(std::move(secrets).value()) : Result<void>(secrets.error());
    if (!taken.ok()) return fail(taken.error());
    secrets_ready_ = true;
    next();
  });
}

Result<void> ActiveAttempt::take_secrets(std::vector<TaskSecret> secrets) {
  TRY_ASSIGN(const SecretsOwner owner, secrets_owner(order_, files_owner()));
  return write_secrets(secrets_directory(context_.facts->secrets_place, order_.key), secrets,
                       owner);
}

void ActiveAttempt::drop_secrets() {
  if (order_.secrets.empty() || !context_.keeps_records) return;
  remove_secrets(secrets_directory(context_.facts->secrets_place, order_.key));
}

}  // namespace dove::agent
