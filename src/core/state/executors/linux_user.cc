#include "core/state/executors/linux_user.h"

namespace dove::core {

std::string linux_user_of(const State& state, const std::string& submitter, RunAs run_as) {
  const std::string own_name = run_as == RunAs::kSubmitter ? submitter : "";
  const auto user = state.users.find(submitter);
  if (user == state.users.end()) return own_name;
  const UserDeclaration& declared = user->second;
  if (!declared.linux_user.empty()) return declared.linux_user;
  // A name that somebody else may choose must not become a Linux user's by being equal to it.
  const bool is_ours =
      declared.service_of.empty() && declared.domain.empty() && declared.identity.empty();
  return is_ours ? own_name : "";
}

}  // namespace dove::core
